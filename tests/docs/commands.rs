//! The command line as documented is the command line as built.

use std::collections::BTreeSet;
use std::process::Command;

use crate::page::{self, Page};

const CREEL: &str = env!("CARGO_BIN_EXE_creel");

/// `creel WORDS --help`; `None` where creel refuses the words.
#[expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]
fn help(words: &[&str]) -> Option<String> {
    let done = Command::new(CREEL).args(words).arg("--help").env("COLUMNS", "100").output().unwrap();
    done.status.success().then(|| String::from_utf8(done.stdout).unwrap())
}

/// Subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let list = list.split("\n\n").next().unwrap_or_default();
    let rows = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    rows.filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every path of subcommands, the root first.
fn paths() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while next < all.len() {
        let path = all[next].clone();
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let text = help(&words).unwrap_or_else(|| panic!("creel {words:?} --help fails"));
        all.extend(subcommands(&text).into_iter().map(|name| [path.as_slice(), &[name]].concat()));
        next += 1;
    }
    all
}

/// Long flags in a text.
fn flags(text: &str) -> BTreeSet<String> {
    let starts = text
        .match_indices("--")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '-'));
    let name = |(at, _): (usize, &str)| {
        let name: String =
            text[at + 2..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        (!name.is_empty() && !name.starts_with('-')).then(|| format!("--{name}"))
    };
    starts.filter_map(name).collect()
}

/// The words of each `creel …` in a console block, up to a pipe.
fn calls(page: &Page) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for fence in page.fences().into_iter().filter(|fence| fence.language == "console") {
        for (offset, line) in fence.text.lines().enumerate() {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            for part in command.split(" | ").filter_map(|part| part.trim().strip_prefix("creel ")) {
                // What comes after `--` is the sandbox's business.
                let own = part.split(" -- ").next().unwrap_or_default();
                found.push((fence.line + offset + 1, own.split_whitespace().map(str::to_owned).collect()));
            }
        }
    }
    found
}

#[test]
fn commands_in_the_documentation_exist() {
    let paths = paths();
    let mut seen = 0;
    for page in page::all() {
        for (line, words) in calls(&page) {
            let place = format!("{} line {line}: creel {}", page.path.display(), words.join(" "));
            let path =
                paths.iter().filter(|path| words.starts_with(path)).max_by_key(|path| path.len()).unwrap();
            assert!(!path.is_empty(), "{place}: no such subcommand");
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let known = flags(&help(&path).unwrap());
            for flag in flags(&words.join(" ")) {
                assert!(known.contains(&flag), "{place}: no flag {flag}");
            }
            assert!(subcommands(&help(&path).unwrap()).is_empty(), "{place}: a subcommand is missing");
            seen += 1;
        }
    }
    assert!(seen >= 15, "only {seen} commands found");
}

/// Every subcommand and flag has its place on the page, and the page names no others.
#[test]
fn the_page_is_complete() {
    let page = page::read("docs/cli.md");
    let mut known = BTreeSet::new();
    for path in paths().into_iter().skip(1) {
        let section = page.section(&format!("## creel {}", path[0]));
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(name) = path.get(1) {
            assert!(section.contains(name.as_str()), "docs/cli.md does not name {path:?}");
        }
        for flag in flags(&help(&words).unwrap()).into_iter().filter(|flag| flag != "--help") {
            assert!(section.contains(&flag), "docs/cli.md does not name {flag} of {path:?}");
            known.insert(flag);
        }
    }
    known.extend(["--help".to_owned(), "--version".to_owned()]);
    let unknown: Vec<String> = flags(&page.text).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "docs/cli.md names {unknown:?}");
}

/// The text that people see; a change here is a change of the interface.
#[test]
fn help_texts_are_pinned() {
    let mut text = String::new();
    for path in paths() {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        text.push_str(&format!("$ creel {} --help\n", words.join(" ")).replace("  ", " "));
        text.push_str(help(&words).unwrap().trim_end());
        text.push_str("\n\n");
    }
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("help", text);
    });
}

/// Remedies name commands: a remedy that does not exist is worse than none.
#[test]
fn remedies_name_existing_commands() {
    let roots: BTreeSet<String> = paths().into_iter().skip(1).map(|path| path.join(" ")).collect();
    let mut open = vec![page::root().join("src")];
    let mut wrong = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for rest in line.split("`creel ").skip(1).filter_map(|rest| rest.split('`').next()) {
                    let words: Vec<&str> = rest.split_whitespace().take(2).collect();
                    let known = (1..=words.len()).any(|count| roots.contains(&words[..count].join(" ")));
                    let leaf = words.len() < 2
                        || roots.contains(&words.join(" "))
                        || words[1].starts_with(['-', '<']);
                    if !known || !leaf {
                        wrong.push(format!("{}: creel {rest}", path.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
