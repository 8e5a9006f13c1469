//! Samples of configuration are read; the library's example is the one that is compiled.

use std::path::Path;

use creel::approvals::document::Document;
use creel::config::Config;

use crate::page;

#[test]
fn samples_of_configuration_are_sound() {
    let var = |name: &str| (name == "HOME").then(|| "/home/user".to_owned());
    let mut seen = 0;
    for page in page::all() {
        for fence in page.fences().into_iter().filter(|fence| fence.language == "json5") {
            let config = Config::parse(&fence.text, Path::new("/openclaw.json"), &var);
            let config =
                config.unwrap_or_else(|error| panic!("{} line {}: {error}", page.path.display(), fence.line));
            let places = creel::config::Places { home: Some("/home/user".into()), state: "/state".into() };
            for agent in config.agents() {
                config
                    .sandbox(&agent.id, &places)
                    .unwrap_or_else(|error| panic!("{}: {error}", page.path.display()));
            }
            config.sandbox(&config.default_agent(), &places).unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} samples found");
}

/// The sample of the approvals document is one, and every key that creel writes has a row.
#[test]
fn the_sample_of_the_approvals_document_is_sound() {
    let page = page::read("docs/approvals.md");
    let fence = page.fences().into_iter().find(|fence| fence.language == "json").expect("a sample");
    let document =
        Document::parse(&fence.text, Path::new("sample")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(document.agents.len(), 2);
    let names = page::quoted(&page.section("## The document"));
    for key in KEYS {
        let known =
            names.iter().any(|name| name.split(['.', '[', ':']).any(|part| part.trim_matches(']') == *key));
        assert!(known, "{key} is not documented");
    }
}

const KEYS: &[&str] = &[
    "version",
    "socket",
    "path",
    "token",
    "defaults",
    "agents",
    "security",
    "ask",
    "askFallback",
    "autoAllowSkills",
    "allowlist",
    "mcpTools",
    "id",
    "pattern",
    "argPattern",
    "source",
    "commandText",
    "lastUsedAt",
    "lastUsedCommand",
    "lastResolvedPath",
    "server",
    "tool",
    "addedAt",
];

/// `cargo test --doc` compiles the example in `src/client/mod.rs`; the README shows the same.
#[test]
fn the_library_example_is_the_one_of_the_doc_test() {
    let source = std::fs::read_to_string(page::root().join("src/client/mod.rs")).unwrap();
    let doc: Vec<&str> = source.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let inside = doc.iter().skip_while(|line| !line.trim().starts_with("```")).skip(1);
    let inside = inside.take_while(|line| !line.trim().starts_with("```"));
    let lines =
        inside.map(|line| line.strip_prefix(' ').unwrap_or(line)).filter(|line| !line.starts_with("# "));
    let example = lines.collect::<Vec<_>>().join("\n");
    let readme = page::read("README.md");
    let shown = readme.fences().into_iter().find(|fence| fence.language == "rust").expect("a Rust example");
    pretty_assertions::assert_eq!(shown.text.trim(), example.trim());
}
