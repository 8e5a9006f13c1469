//! Lists in the documentation are complete: dependencies, configuration keys, exit codes.

use std::collections::BTreeSet;

use creel::error::{EXIT_CREEL, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, EXIT_TIMEOUT};

use crate::page;

fn source(path: &str) -> String {
    std::fs::read_to_string(page::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Names in `[dependencies]` and `[dev-dependencies]` of the manifest.
fn dependencies() -> BTreeSet<String> {
    let mut within = false;
    let mut names = BTreeSet::new();
    for line in source("Cargo.toml").lines() {
        if line.starts_with('[') {
            within = line == "[dependencies]" || line == "[dev-dependencies]";
        } else if within && let Some((name, _)) = line.split_once(" = ") {
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn every_dependency_has_its_reason() {
    let page = page::read("docs/decisions.md");
    let listed: BTreeSet<String> = page::first_cells(&page.section("## Dependencies")).into_iter().collect();
    pretty_assertions::assert_eq!(listed, dependencies());
}

/// The constant list of names after `const NAME`, read from the source: the reader accepts exactly these keys.
fn keys(file: &str, constant: &str) -> Vec<String> {
    let text = source(file);
    let (_, rest) = text.split_once(&format!("const {constant}: &[&str] = &[")).unwrap();
    let (list, _) = rest.split_once("];").unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_configuration_key_is_documented() {
    let page = page::read("docs/configuration.md");
    for (file, section) in [
        ("src/config/docker.rs", "## sandbox.docker"),
        ("src/config/sandbox.rs", "## sandbox"),
        ("src/config/tools.rs", "## tools"),
        ("src/config/exec.rs", "## tools.exec"),
    ] {
        let names = page::quoted(&page.section(section));
        for key in keys(file, "KEYS") {
            let known = names.iter().any(|name| *name == key || name.starts_with(&format!("{key}.")));
            assert!(known, "{section} of docs/configuration.md does not name {key}");
        }
    }
}

#[test]
fn every_rule_of_the_boundary_is_documented() {
    let page = page::read("docs/configuration.md");
    let names = page::quoted(&page.section("## sandbox.docker"));
    for rule in creel::sandbox::Rule::ALL {
        assert!(names.iter().any(|name| name == rule.as_str()), "{} is not documented", rule.as_str());
    }
}

#[test]
fn the_exit_codes_are_those_of_the_source() {
    let section = page::read("docs/cli.md").section("## Exit codes");
    for (code, word) in [
        (EXIT_TIMEOUT, "a limit on time"),
        (EXIT_CREEL, "creel, the sandbox or the engine failed"),
        (EXIT_NOT_EXECUTABLE, "cannot be executed"),
        (EXIT_NOT_FOUND, "not found"),
    ] {
        let row = section.lines().find(|line| line.starts_with(&format!("| {code} |")));
        assert!(row.is_some_and(|row| row.contains(word)), "{code}: {row:?}");
    }
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("exit-codes", section);
    });
}
