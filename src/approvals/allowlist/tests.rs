use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::approvals::document::Source;

/// Links of a made-up machine; everything else leads to itself.
struct Links(&'static [(&'static str, &'static str)]);

impl Links {
    fn real(&self, path: &str) -> String {
        self.0.iter().find(|(link, _)| *link == path).map_or(path, |(_, to)| *to).to_owned()
    }
}

impl Lookup for Links {
    fn program(&self, word: &str, _: Option<&Path>) -> Option<Program> {
        let path = if word.contains('/') { word.to_owned() } else { format!("/usr/bin/{word}") };
        Some(Program { real: self.real(&path).into(), invoked: path.into() })
    }

    fn file(&self, operand: &str, _: Option<&Path>) -> Option<PathBuf> {
        operand.starts_with('/').then(|| self.real(operand).into())
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        Some(Path::new("/home/u"))
    }
}

const MACHINE: Links = Links(&[
    ("/usr/bin/python3", "/usr/bin/python3.11"),
    ("/bin/ls", "/usr/bin/ls"),
    ("/bb/ls", "/bb/busybox"),
    ("/bb/sh", "/bb/busybox"),
]);

fn entry(pattern: &str, arguments: Option<&str>) -> Entry {
    Entry { arg_pattern: arguments.map(str::to_owned), ..Entry::of(pattern) }
}

fn always(pattern: &str, bound: &str) -> Entry {
    Entry { source: Source::AllowAlways, ..entry(pattern, Some(bound)) }
}

fn list(entries: &[Entry]) -> Allowlist {
    Allowlist::compile(&entries.iter().collect::<Vec<_>>(), &MACHINE)
}

/// Which entry covers a line that runs in `/srv`.
fn found(entries: &[Entry], line: &str) -> Option<usize> {
    asked(entries, line, false)
}

fn asked(entries: &[Entry], line: &str, shell: bool) -> Option<usize> {
    let mut words = line.split(' ').map(str::to_owned);
    let word = words.next().unwrap();
    let program = MACHINE.program(&word, None);
    let arguments: Vec<String> = words.collect();
    let dir = Some(Path::new("/srv"));
    list(entries).find(&Subject { word: &word, program: program.as_ref(), arguments: &arguments, dir, shell })
}

fn denied(entries: &[Entry], line: &str) -> bool {
    let mut words = line.split(' ').map(str::to_owned);
    let word = words.next().unwrap();
    let program = MACHINE.program(&word, None);
    let arguments: Vec<String> = words.collect();
    let subject =
        Subject { word: &word, program: program.as_ref(), arguments: &arguments, dir: None, shell: false };
    list(entries).denies(&subject).is_some()
}

#[test]
fn bare_names_and_paths() {
    for (pattern, line, covers) in [
        ("rg", "rg x", true),
        ("rg", "./rg x", false),
        ("rg", "/tmp/rg x", false),
        ("git*", "github-evil", true),
        ("git", "github-evil", false),
        ("/usr/bin/*", "rg", true),
        ("/usr/bin/rg", "rg", true),
        ("/usr/bin/rg", "/usr/bin/rg", true),
        ("/usr/bin/RG", "rg", false),
        ("~/bin/*", "/home/u/bin/x", true),
        ("~u/bin/*", "/home/u/bin/x", false),
        ("*", "rg", true),
        ("**", "rg", true),
        ("**", "/usr/bin/rg", false),
    ] {
        assert_eq!(found(&[entry(pattern, None)], line).is_some(), covers, "{pattern} {line}");
    }
}

#[test]
fn a_literal_path_means_its_file() {
    let covers = |pattern: &str, line: &str| found(&[entry(pattern, None)], line).is_some();
    assert!(covers("/usr/bin/python3", "python3 x"), "the link that is called");
    assert!(covers("/usr/bin/python3.11", "python3 x"), "the file");
    assert!(covers("/usr/bin/python3", "python3.11 x"), "another name of the file");
    assert!(covers("/bin/ls", "ls"));
    assert!(!covers("/usr/bin/pytho?3", "python3 x"), "a glob is for the file's own path");
    // One file, many programs.
    assert!(covers("/bb/ls", "/bb/ls"));
    assert!(!covers("/bb/ls", "/bb/sh"));
    assert!(!covers("/bb/busybox", "/bb/sh"));
    assert!(covers("/bb/*", "/bb/sh"));
    assert!(!covers("/**/busybox", "/bb/sh"));
}

#[test]
fn arguments_come_first() {
    let git = "/usr/bin/git";
    let status = entry(git, Some("^status$"));
    assert_eq!(found(std::slice::from_ref(&status), "git status"), Some(0));
    assert_eq!(found(std::slice::from_ref(&status), "git log"), None);
    assert_eq!(found(&[entry(git, None), status.clone()], "git status"), Some(1));
    assert_eq!(found(&[entry(git, None), status], "git log"), Some(0));
    assert_eq!(found(&[entry(git, Some("("))], "git x"), None, "no expression restricts nothing");
    assert_eq!(list(&[entry(git, Some("("))]).problems(), [(0, Unusable::Syntax)]);
    assert_eq!(found(&[entry(git, Some("^a\0b\0$"))], "git a b"), Some(0));
    assert_eq!(found(&[entry("*", Some(".*"))], "git a"), None);
}

#[test]
fn shells_need_arguments() {
    let bash = "/usr/bin/bash";
    assert_eq!(asked(&[entry(bash, None)], "bash -c x", true), None);
    assert_eq!(asked(&[entry(bash, Some("^-c x$"))], "bash -c x", true), Some(0));
    assert_eq!(asked(&[entry("*", None)], "bash -c x", true), Some(0));
    assert_eq!(asked(&[entry("bas?", None)], "bash -c x", true), None);
}

#[test]
fn one_argument_list_in_one_directory() {
    let bound = bound_pattern("/srv", &["status".to_owned()]);
    assert_eq!(found(&[always("/usr/bin/git", &bound)], "git status"), Some(0));
    assert_eq!(found(&[always("/usr/bin/git", &bound)], "git log"), None);
    let elsewhere = bound_pattern("/tmp", &["status".to_owned()]);
    assert_eq!(found(&[always("/usr/bin/git", &elsewhere)], "git status"), None);
    assert_eq!(found(&[always("/usr/bin/git", "^status$")], "git status"), None, "inactive");
    let old = entry("/usr/bin/git", Some("sha256:argv:v1:00"));
    assert_eq!(found(&[old], "git status"), None);
    // Recorded: `git status` in `/srv/app`.
    let recorded = "sha256:cwd-argv:v1:671bf94ea1c5fc3b7825ddaf9e3bbb12929476accce85389a179a7d7ea610391";
    assert_eq!(bound_pattern("/srv/./x/../app", &["status".to_owned()]), recorded);
    assert_ne!(bound_pattern("/srv/app/", &["status".to_owned()]), recorded);
}

#[test]
fn an_approval_is_for_the_file_that_was_approved() {
    let bound = bound_pattern("/srv", &[]);
    assert_eq!(
        found(&[always("/usr/bin/python3", &bound)], "python3"),
        None,
        "the link may lead elsewhere tomorrow"
    );
    let mut link = always("/bb/ls", &bound);
    link.unknown.insert(REAL_PATH.to_owned(), json!("/bb/busybox"));
    assert_eq!(found(std::slice::from_ref(&link), "/bb/ls"), Some(0));
    assert_eq!(found(std::slice::from_ref(&link), "/bb/sh"), None);
    link.unknown.insert(REAL_PATH.to_owned(), json!("/bb/other"));
    assert_eq!(found(&[link], "/bb/ls"), None);
    assert_eq!(found(&[always("/bb/busybox", &bound)], "/bb/ls"), None);
}

#[test]
fn markers_are_the_text() {
    let marker = Entry { source: Source::AllowAlways, ..Entry::of("=command:e62b04aadf39df1a") };
    let written = list(&[Entry::of("x"), marker]);
    assert_eq!(written.marker(" git status\n"), Some(1));
    assert_eq!(written.marker("git  status"), None);
    assert_eq!(
        list(&[Entry::of("=command:e62b04aadf39df1a")]).marker("git status"),
        None,
        "nobody approved it"
    );
}

#[test]
fn what_is_denied_is_denied_by_every_name() {
    for (pattern, line) in [
        ("rm", "rm x"),
        ("rm", "/bin/rm x"),
        ("rm", "./rm x"),
        ("python3.11", "python3 x"),
        ("python3", "python3 x"),
        ("/usr/bin/python3.11", "python3"),
        ("/usr/bin/python3", "python3.11"),
        ("r?", "/opt/rm"),
        ("/opt/**", "/opt/a/rm"),
        ("*", "anything"),
        ("/bb/ls", "/bb/ls"),
        ("busybox", "/bb/ls"),
    ] {
        assert!(denied(&[entry(pattern, None)], line), "{pattern} {line}");
    }
    assert!(!denied(&[entry("rm", None)], "rmdir x"));
    assert!(!denied(&[entry("/bb/ls", None)], "/bb/sh"));
    let push = entry("git", Some("^push"));
    assert!(denied(std::slice::from_ref(&push), "git push -f") && !denied(&[push], "git status"));
    assert!(denied(&[entry("git", Some("("))], "git status"), "what cannot be compared is denied");
}

#[test]
fn a_pattern_that_does_not_end() {
    let slow = entry("/usr/bin/git", Some("^(a+)+$"));
    let line = format!("git {}b", "a".repeat(60));
    assert_eq!(found(std::slice::from_ref(&slow), &line), None);
    assert!(denied(&[slow], &line));
    let long = entry("/usr/bin/git", Some(&"x".repeat(MAX_PATTERN + 1)));
    assert_eq!(list(&[long]).problems(), [(0, Unusable::TooLong)]);
}

/// As by asking each entry alone, the index left aside.
#[test]
fn the_index_forgets_nothing() {
    let patterns = [
        "rg",
        "r*",
        "/usr/bin/rg",
        "/usr/**",
        "/usr/bin/r?",
        "/**/rg",
        "~/x",
        "/bin/*",
        "*g",
        "/usr/bin/python3",
        "**",
        "/usr/bin/python3*",
        "*",
        "?g",
    ];
    for line in ["rg", "/usr/bin/rg", "python3", "/home/u/x", "/bin/ls", "ls"] {
        for first in patterns {
            for second in patterns {
                let both = [entry(first, None), entry(second, None)];
                let alone = both.iter().position(|entry| found(std::slice::from_ref(entry), line).is_some());
                assert_eq!(found(&both, line), alone, "{first} {second} {line}");
            }
        }
    }
}
