use std::path::{Path, PathBuf};

use super::*;
use crate::config::SafeBinProfile;
use crate::config::reader::Set;

/// Programs of two directories: those of the system, and one link from there.
struct Files;

impl Lookup for Files {
    fn program(&self, word: &str, _: Option<&Path>) -> Option<Program> {
        let real = if word == "/usr/bin/wc" { "/opt/coreutils/bin/wc" } else { word };
        ["/usr/bin/", "/opt/t/"]
            .iter()
            .any(|dir| word.starts_with(dir))
            .then(|| Program { invoked: word.into(), real: real.into() })
    }

    fn file(&self, _: &str, _: Option<&Path>) -> Option<PathBuf> {
        None
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        Some(Path::new("/home/u"))
    }
}

fn named(names: &[&str]) -> SafeBinSettings {
    let value = names.iter().map(|name| (*name).to_owned()).collect();
    SafeBinSettings { bins: Some(Set { value, key: String::new() }), ..SafeBinSettings::default() }
}

fn covers(bins: &SafeBins, real: &str, line: &str) -> bool {
    let mut words = line.split(' ').map(str::to_owned);
    let name = words.next().unwrap();
    let invoked = Path::new("/usr/bin").join(name);
    bins.covers(&Program { invoked, real: real.into() }, &words.collect::<Vec<_>>())
}

fn usual(line: &str) -> bool {
    let bins = SafeBins::new(&named(&["cut", "uniq", "head", "tail", "tr", "wc", "grep", "sort"]), &Files);
    let called = format!("/usr/bin/{}", line.split(' ').next().unwrap());
    covers(&bins, Files.program(&called, None).unwrap().real.to_str().unwrap(), line)
}

#[test]
fn arguments_that_are_known() {
    for line in [
        "head -n 5",
        "head -n5",
        "head",
        "head --lines=5",
        "head --lin 5",
        "wc -l",
        "wc -lw",
        "tr -d x",
        "tr a b",
        "uniq -c",
        "cut -d, -f1",
        "cut -f 1 --output-delimiter=;",
        "grep -e x",
        "grep -e x -m 3",
        "sort -k1",
        "tail -n +3",
        "head -",
        "sort -t ,",
    ] {
        assert!(usual(line), "{line}");
    }
}

#[test]
fn everything_else_is_refused() {
    for line in [
        "head -5",
        "head file",
        "head -n",
        "head -n 5 file",
        "head -n ../x",
        "head --lines",
        "head --zzz",
        "head -n *",
        "head -n $HOME",
        "head -n ~/x",
        "head --quiet=1",
        "head --verb=1",
        "cut -d /",
        "cut -z -Q",
        "tr [a-z] [A-Z]",
        "tr",
        "tr a b c",
        "tr -dZ x",
        "sort -o out",
        "sort -oOUT",
        "sort -k1 -oOUT",
        "sort --compress-program=./x",
        "sort --comp x",
        "sort --o x",
        "grep x",
        "grep -r x",
        "grep -e x .env",
        "grep -rex",
        "grep -f x",
        "tail -f",
        "tail --follow",
        "wc --files0-from=x",
        "uniq -x",
        "head -n C:\\x",
    ] {
        assert!(!usual(line), "{line}");
    }
}

#[test]
fn the_file_must_lie_where_it_is_trusted() {
    let bins = SafeBins::new(&SafeBinSettings::default(), &Files);
    assert!(covers(&bins, "/usr/bin/head", "head -n 1"));
    assert!(!covers(&bins, "/home/u/bin/head", "head -n 1"));
    assert!(!covers(&bins, "/usr/bin/sub/head", "head -n 1"), "exactly that directory");
    assert!(covers(&bins, "/opt/coreutils/bin/wc", "wc -l"), "a link of the system leads there");
    assert!(!covers(&bins, "/opt/coreutils/bin/head", "head -n 1"), "only that file is the system's");
}

#[test]
fn a_name_must_be_that_of_the_file() {
    let bins = SafeBins::new(&SafeBinSettings::default(), &Files);
    let called = |invoked: &str, real: &str, arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        bins.covers(&Program { invoked: invoked.into(), real: real.into() }, &arguments)
    };
    // Links in a workspace that are called like a filter.
    for other in ["/usr/bin/env", "/usr/bin/rm", "/usr/bin/head", "/opt/coreutils/bin/wc"] {
        assert!(!called("/home/u/w/tr", other, &["a", "b"]), "{other}");
    }
    assert!(called("/home/u/w/tr", "/usr/bin/tr", &["a", "b"]), "it is that file");
    assert!(!called("/home/u/w/TR", "/usr/bin/env", &["a", "b"]));
    assert!(!called("/home/u/w/rm", "/usr/bin/tr", &["a", "b"]), "another name is no filter's");
    // Shells and wrappers of the system likewise.
    let system = |invoked: &str, real: &str| {
        bins.system(&Program { invoked: invoked.into(), real: real.into() }, &Files)
    };
    assert!(system("/usr/bin/timeout", "/usr/bin/timeout") && system("/usr/bin/sh", "/usr/bin/dash"));
    assert!(system("/home/u/w/timeout", "/usr/bin/timeout"));
    assert!(!system("/home/u/w/timeout", "/usr/bin/env") && !system("/home/u/w/bash", "/usr/bin/rm"));
}

#[test]
fn profiles_of_ones_own() {
    let mut settings = named(&["mytool", "head"]);
    let profile = SafeBinProfile {
        max_positional: Some(1),
        value_flags: vec!["--out".to_owned(), "-o".to_owned()],
        denied_flags: vec!["--exec".to_owned()],
        ..SafeBinProfile::default()
    };
    settings.profiles.insert("mytool".to_owned(), profile);
    settings
        .profiles
        .insert("head".to_owned(), SafeBinProfile { max_positional: Some(0), ..SafeBinProfile::default() });
    settings.trusted_dirs = vec![Set { value: "/opt/t".to_owned(), key: String::new() }];
    let bins = SafeBins::new(&settings, &Files);
    let tool = |line: &str| covers(&bins, "/opt/t/mytool", line);
    for line in ["mytool", "mytool a", "mytool -o x a", "mytool --out=1.2"] {
        assert!(tool(line), "{line}");
    }
    for line in [
        "mytool a b",
        "mytool -v",
        "mytool --exec",
        "mytool --ex",
        "mytool ..",
        "mytool sub/../x",
        "mytool data.txt",
        "mytool .env",
        "mytool \\\\server",
        "mytool -o a/b",
    ] {
        assert!(!tool(line), "{line}");
    }
    assert!(!covers(&bins, "/usr/bin/head", "head -n 1"), "it replaces the built-in one");
    assert!(bins.problems().is_empty());
}

#[test]
fn languages_and_names_without_profile() {
    let mut settings = named(&["jq", "awk", "sed", "python3", "bash", "cat", "gawk"]);
    settings.profiles.insert("jq".to_owned(), SafeBinProfile::default());
    let bins = SafeBins::new(&settings, &Files);
    for line in ["jq .", "awk 1", "sed p", "python3 x", "bash x", "cat"] {
        assert!(!covers(&bins, &format!("/usr/bin/{}", line.split(' ').next().unwrap()), line), "{line}");
    }
    assert_eq!(bins.problems().len(), 7);
    assert_eq!(bins.problems().last(), Some(&Problem::Language("gawk".to_owned())));
    assert!(bins.problems().contains(&Problem::NoProfile("cat".to_owned())));
    assert!(bins.problems().iter().all(|problem| !problem.fix().is_empty()));
    // A name that is harmless leads to a language.
    let bins = SafeBins::new(&SafeBinSettings::default(), &Files);
    assert!(!covers(&bins, "/usr/bin/mawk", "head -n 1"));
}

#[test]
fn directories_into_which_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let at = |mode: u32| {
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        writable([dir.path()])
    };
    assert_eq!(at(0o777), vec![dir.path().to_owned()]);
    assert_eq!(at(0o775), vec![dir.path().to_owned()]);
    assert!(at(0o755).is_empty());
    assert!(writable([Path::new("/nonexistent")]).is_empty());
}
