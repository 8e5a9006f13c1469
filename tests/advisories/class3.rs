//! Class 3: allowlist matching: paths, globs, case, links, arguments.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use creel::approvals::allowlist::Allowlist;
use creel::approvals::assess::{Assessed, Rules, assess};
use creel::approvals::document::{Document, Entry};
use creel::approvals::policy::{ModePolicy, judge};
use creel::approvals::programs::{HostPrograms, Lookup as _, Program};
use creel::approvals::remember::{Remembered, remember};
use creel::approvals::safe_bins::SafeBins;
use creel::config::exec::{Ask, Security};
use creel::policy::Verdict;

use crate::machine::{judged, misses, passes};

/// Real files in a directory of their own.
pub(crate) struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[&str]) -> Self {
        let tree = Self { dir: tempfile::tempdir_in("/tmp").unwrap() };
        for file in files {
            let path = tree.at(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        tree
    }

    pub(crate) fn root(&self) -> PathBuf {
        creel::paths::resolve::resolve(self.dir.path()).unwrap()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Programs of these directories.
    pub(crate) fn programs(&self, path: &[&str]) -> HostPrograms {
        let path: Vec<String> = path.iter().map(|dir| self.at(dir).display().to_string()).collect();
        HostPrograms::new(&path.join(":"), Some(self.root()))
    }

    fn assess(&self, entries: &[Entry], path: &[&str], skills: &[Program], text: &str) -> Assessed {
        let lookup = self.programs(path);
        let allow = Allowlist::compile(&entries.iter().collect::<Vec<_>>(), &lookup);
        let (deny, safe) = (Allowlist::default(), SafeBins::default());
        let rules = Rules { allow: &allow, deny: &deny, safe: &safe, skills, strict_inline: false };
        assess(text, &self.root(), &rules, &lookup)
    }

    fn covers(&self, pattern: &str, text: &str) -> bool {
        self.assess(&[Entry::of(pattern)], &["bin"], &[], text).satisfied
    }
}

#[test]
fn a049_case_and_separators() {
    let tree = Tree::new(&["tools/run", "tools/ru/x"]);
    let pattern = |text: &str| tree.at(text).display().to_string();
    for (entry, command) in
        [("Tools/ru?", "tools/run"), ("tools/ru?", "tools/ru/x"), ("tools/*", "tools/ru/x")]
    {
        assert!(!tree.covers(&pattern(entry), &pattern(command)), "{entry} {command}");
    }
    assert!(tree.covers(&pattern("tools/ru?"), &pattern("tools/run")));
    assert!(tree.covers(&pattern("tools/**"), &pattern("tools/ru/x")));
}

#[test]
fn a050_dots_in_a_command() {
    let tree = Tree::new(&["usr/bin/ok", "bin/evil"]);
    let within = tree.at("usr/bin/**").display().to_string();
    assert!(!tree.covers(&within, &tree.at("usr/bin/../../bin/evil").display().to_string()));
    assert!(tree.covers(&within, &tree.at("usr/bin/../bin/ok").display().to_string()));
}

#[test]
fn a051_a_link_that_leads_elsewhere_later() {
    let tree = Tree::new(&["a", "b", "bb/busybox", "bb/evil"]);
    let again = |link: &str, text: &str, to: &str| {
        let Remembered::Entries(entries) = remember(&tree.assess(&[], &["bin"], &[], text)) else {
            panic!("{text} is not remembered")
        };
        let same = tree.assess(&entries, &["bin"], &[], text).satisfied;
        std::fs::remove_file(tree.at(link)).unwrap();
        symlink(tree.at(to), tree.at(link)).unwrap();
        (same, tree.assess(&entries, &["bin"], &[], text).satisfied)
    };
    symlink(tree.at("a"), tree.at("tool")).unwrap();
    assert_eq!(again("tool", "./tool x", "b"), (true, false));
    // The link of a multi-call binary is what is written; the file that it led to is written beside it.
    symlink(tree.at("bb/busybox"), tree.at("bb/ls")).unwrap();
    assert_eq!(again("bb/ls", "bb/ls x", "bb/evil"), (true, false));
}

#[test]
fn a053_bare_names() {
    passes(&["rg"], &["rg x"]);
    misses(&["rg"], &["./rg x", "/tmp/rg x", "~/rg x"]);
}

#[test]
fn a054_programs_of_skills() {
    let tree = Tree::new(&["skills/foo", "other/foo"]);
    let skill = tree.programs(&["skills"]).program("foo", None).unwrap();
    let covers =
        |path: &[&str], text: &str| tree.assess(&[], path, std::slice::from_ref(&skill), text).satisfied;
    assert!(covers(&["skills", "other"], "foo x"));
    assert!(!covers(&["other", "skills"], "foo x"), "another foo stands in front");
    assert!(!covers(&["skills"], "skills/foo x"), "a path is no name");
}

#[test]
fn a055_arguments_are_looked_at() {
    let tree = Tree::new(&["bin/python3"]);
    let of = |arguments: &str, text: &str| {
        let entry = Entry { arg_pattern: Some(arguments.to_owned()), ..Entry::of("python3") };
        tree.assess(&[entry], &["bin"], &[], text).satisfied
    };
    assert!(of("^safe\\.py$", "python3 safe.py"));
    for text in ["python3 other.py", "python3 safe.py x", "python3"] {
        assert!(!of("^safe\\.py$", text), "{text}");
    }
    assert!(!of("^(safe", "python3 safe.py"), "what is no expression covers nothing");
}

#[test]
fn a057_globs_are_anchored() {
    misses(&["git", "git-*"], &["github-evil", "git/evil", "evil-git"]);
    passes(&["git*"], &["git status", "git-lfs x"]);
}

#[test]
fn a058_asking_nobody_is_not_allowing() {
    let policy = ModePolicy::pair(Security::Allowlist, Ask::Off);
    let verdict = |text: &str| judge(policy, &judged(&["ls"], &[], text).facts(false)).verdict;
    assert_eq!(verdict("rm x"), Verdict::Deny);
    assert_eq!(verdict("ls x"), Verdict::Allow);
}

#[test]
fn a059_a_list_at_the_wrong_place() {
    let parse = |text: &str| Document::parse(text, Path::new("/state/exec-approvals.json"));
    assert!(
        parse(r#"{"version": 1, "agents": {"main": {"secruity": "allowlist", "allowlist": ["ls"]}}}"#)
            .is_err()
    );
    assert!(parse(r#"{"version": 1, "agents": {"main": ["ls"]}}"#).is_err());
    assert!(parse(r#"{"version": 1, "agents": ["ls"]}"#).is_err());
    assert!(parse(r#"{"version": 1, "agents": {"main": {"allowlist": {"ls": true}}}}"#).is_err());
    assert!(parse(r#"{"version": 1, "agents": {"main": {"allowlist": ["ls"]}}}"#).is_ok());
}
