use std::path::{Path, PathBuf};

use super::*;
use crate::approvals::document::Entry;

/// Programs of `/usr/bin`, some of them behind links of other names.
struct Links;

const LINKS: &[(&str, &str)] = &[
    ("l/b", "/usr/bin/bash"),
    ("l/e", "/usr/bin/env"),
    ("l/f", "/usr/bin/find"),
    ("l/p", "/usr/bin/perl"),
    ("l/t", "/usr/bin/timeout"),
    ("l/y", "/usr/bin/python3.11"),
    ("l/x", "/usr/bin/xargs"),
    ("l/busybox1", "/usr/bin/busybox"),
    ("nice", "/usr/bin/env"),
    ("sh", "/usr/bin/dash"),
    ("ash", "/usr/bin/perl"),
    ("awk", "/usr/bin/mawk"),
    ("python3", "/usr/bin/python3.11"),
    ("vi", "/usr/bin/vim.basic"),
    ("ls", "/usr/bin/busybox"),
    ("env", "/usr/bin/coreutils"),
    ("gtimeout", "/usr/bin/timeout"),
];

impl Lookup for Links {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        let linked = LINKS.iter().find(|(name, _)| *name == word).map(|(_, real)| PathBuf::from(real));
        let invoked = if word.contains('/') { dir?.join(word) } else { Path::new("/usr/bin").join(word) };
        Some(Program { real: linked.unwrap_or_else(|| invoked.clone()), invoked })
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        Some(dir?.join(operand))
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        None
    }
}

fn judged(allow: &[&str], text: &str) -> Assessed {
    let entries: Vec<Entry> = allow.iter().map(|pattern| Entry::of((*pattern).to_owned())).collect();
    let allow = Allowlist::compile(&entries.iter().collect::<Vec<_>>(), &Links);
    let safe = SafeBins::default().with_system(&[Path::new("/usr/bin")]);
    let rules =
        Rules { allow: &allow, deny: &Allowlist::default(), safe: &safe, skills: &[], strict_inline: true };
    assess(text, Path::new("/w"), &rules, &Links)
}

#[test]
fn links_of_another_name_hide_nothing() {
    for text in [
        "l/b -c 'touch /tmp/x'",
        "l/b run.sh",
        "l/b",
        "l/e touch /tmp/x",
        r"l/f . -exec touch x \;",
        "l/t 5 ls",
        "l/x touch",
        "timeout 5 l/b -c x",
        "l/busybox1 sh -c x",
        "nice ls",
        "ash -c ls",
        "ash run.sh",
        "gtimeout 5 ls",
    ] {
        let all = ["/usr/bin/*", "/w/**", "*sh"];
        assert!(!judged(&all, text).satisfied, "{text}");
    }
    for text in [
        "l/p -e 'x'",
        "l/y -c x",
        "timeout 3 l/p -e x",
        "env A=1 l/p -e x",
        "A=1 l/p -e x",
        "xargs l/p -e x",
        "echo $X; l/p -e x",
    ] {
        assert!(judged(&["*"], text).inline.is_some(), "{text}");
    }
}

#[test]
fn links_of_the_same_kind_work() {
    for text in [
        "sh run.sh",
        "sh -c 'ls x'",
        "awk -f a b",
        "python3 a.py",
        "vi x",
        "ls x",
        "env ls x",
        "l/p a.pl",
        "l/f . -name x",
        "timeout 5 ls",
    ] {
        let judged = judged(&["/usr/bin/*", "/w/*"], text);
        assert!(judged.satisfied, "{text}: {:?}", judged.parts);
        assert_eq!(judged.inline, None, "{text}");
    }
}

/// What a lone shell runs is what it is fed.
#[test]
fn a_lone_shell_is_covered_by_everything_only() {
    for text in ["bash", "sh", "timeout 5 dash", "nice sh"] {
        assert!(!judged(&["/usr/bin/*", "bash", "sh", "dash", "timeout"], text).satisfied, "{text}");
    }
    assert!(judged(&["*"], "sh").satisfied);
    assert!(!judged(&["/usr/bin/*"], "echo x | bash").satisfied);
}
