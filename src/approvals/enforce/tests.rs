use std::path::{Path, PathBuf};

use super::*;
use crate::approvals::allowlist::Allowlist;
use crate::approvals::assess::{Rules, assess};
use crate::approvals::programs::Lookup;
use crate::approvals::safe_bins::SafeBins;
use crate::shell::analyse::{self, Argument, Group, Runs};

/// Every word but `missing` is a program of `/b`; paths are what they say.
struct Everything;

impl Lookup for Everything {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        let own = ["command", "exec", "cd", "missing"];
        let invoked = match word {
            word if own.contains(&word) => return None,
            word if word.contains('/') => dir?.join(word.trim_start_matches("./")),
            word => Path::new("/b").join(word),
        };
        Some(Program { real: invoked.clone(), invoked })
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        Some(dir?.join(operand))
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        Some(Path::new("/h"))
    }
}

fn assessed(text: &str) -> Assessed {
    let (list, safe) = (Allowlist::default(), SafeBins::default());
    let rules = Rules { allow: &list, deny: &list, safe: &safe, skills: &[], strict_inline: false };
    assess(text, Path::new("/w"), &rules, &Everything)
}

#[track_caller]
fn text(from: &str) -> String {
    match enforce(&assessed(from), true).unwrap_or_else(|error| panic!("{from}: {error}")).command {
        Command::Shell(text) => text,
        argv @ Command::Argv(_) => panic!("{from}: {argv:?}"),
    }
}

#[test]
fn one_literal_command_becomes_words() {
    for (from, expected, arg0) in [
        ("git status", &["/b/git", "status"][..], Some("git")),
        (" 'git'  \"a  b\" ;\n", &["/b/git", "a  b"], Some("git")),
        ("/x/git '*'", &["/x/git", "*"], None),
        ("~/bin/x y", &["/h/bin/x", "y"], None),
        ("./x", &["/w/x"], Some("./x")),
        ("timeout 5 git log", &["/b/timeout", "5", "/b/git", "log"], Some("timeout")),
        ("nice nohup env a", &["/b/nice", "/b/nohup", "/b/env", "/b/a"], Some("nice")),
        ("echo 'it'\\''s'", &["/b/echo", "it's"], Some("echo")),
        ("a 'a' a", &["/b/a", "a", "a"], Some("a")),
    ] {
        let enforced = enforce(&assessed(from), false).unwrap();
        let words = expected.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(enforced.command, Command::Argv(words), "{from}");
        assert_eq!(enforced.arg0.as_deref(), arg0, "{from}");
    }
}

#[test]
fn anything_else_keeps_its_shape() {
    for (from, expected) in [
        ("git status 2>&1", "'/b/git' status 2>&1"),
        ("git a >/dev/null b", "'/b/git' a >/dev/null b"),
        ("! git a", "! '/b/git' a"),
        ("a;b && c || d | e\nf", "'/b/a';'/b/b' && '/b/c' || '/b/d' | '/b/e'\n'/b/f'"),
        ("time a b", "time '/b/a' b"),
        ("command a; exec b", "command '/b/a'; exec '/b/b'"),
        ("timeout 5 a | b", "'/b/timeout' 5 '/b/a' | '/b/b'"),
        ("cd /x && ./y z", "cd /x && '/x/y' z"),
        ("cd sub && ./y", "cd './sub' && '/w/sub/y'"),
        ("cd ./sub && true", "cd ./sub && true"),
        ("a 'b c' \\$d", "'/b/a' 'b c' \\$d; true"),
        (
            "sh -c 'a \"b c\"; [ -f x ] && d'",
            "'/b/sh' -c ''\\''/b/a'\\'' \"b c\"; [ -f x ] && '\\''/b/d'\\'''",
        ),
        ("bash -ec 'cd y && a'", "'/b/bash' -ec 'cd '\\''./y'\\'' && '\\''/b/a'\\'''"),
        // A shell that does not stand alone is not looked into.
        ("cd /x && bash -ec 'cd y && a'", "cd /x && '/b/bash' -ec 'cd y && a'"),
        ("a <<'E'\nx\nE", "'/b/a' <<'E'\nx\nE"),
        ("a # b", "'/b/a' # b"),
        ("a *.c ~/x {1,2}", "'/b/a' *.c ~/x {1,2}"),
        ("\\a;'b'c", "'/b/a';'/b/bc'"),
    ] {
        let from = if expected.ends_with("; true") { format!("{from}; true") } else { from.to_owned() };
        assert_eq!(text(&from), expected, "{from}");
    }
}

#[test]
fn what_a_shell_forwards_is_pinned_behind_it() {
    let enforced = enforce(&assessed("sh -c 'exec \"$0\" \"$@\"' git log"), false).unwrap();
    let words = ["/b/sh", "-c", "exec \"$0\" \"$@\"", "/b/git", "log"].map(str::to_owned);
    assert_eq!(enforced.command, Command::Argv(words.to_vec()));
    let programs: Vec<_> = enforced.programs.iter().map(Program::name).collect();
    assert_eq!(programs, ["sh", "git"]);
}

#[test]
fn every_program_is_told_once() {
    let enforced = enforce(&assessed("sh -c 'timeout 5 a; a; time b'"), false).unwrap();
    let programs: Vec<_> = enforced.programs.iter().map(Program::name).collect();
    assert_eq!(programs, ["sh", "timeout", "a", "time", "b"]);
}

#[test]
fn what_could_be_something_else_is_refused() {
    for (from, expansions, expected) in [
        ("a *", false, Unpinnable::Expands),
        ("a ~", false, Unpinnable::Expands),
        ("a {x,y}; b", false, Unpinnable::Expands),
        ("cd ~ && a", false, Unpinnable::Expands),
        ("a $x", true, Unpinnable::Unread),
        ("a > b", true, Unpinnable::Unread),
        ("", true, Unpinnable::Unread),
        ("missing a", true, Unpinnable::NotFound),
        ("a; missing", true, Unpinnable::NotFound),
        ("cd x; ./y", true, Unpinnable::NotFound),
        ("sudo a", true, Unpinnable::Unclear),
        ("FOO=1 a", true, Unpinnable::Unclear),
        ("xargs a", true, Unpinnable::Unclear),
        ("export A=b; a", true, Unpinnable::Unclear),
    ] {
        assert_eq!(enforce(&assessed(from), expansions), Err(expected), "{from}");
    }
}

/// The words of every command, those that the shell obeys among them.
fn words(groups: &[Group]) -> Vec<Vec<String>> {
    let of = |argv: &[Argument]| argv.iter().map(|word| word.text.clone()).collect();
    let each = groups.iter().flat_map(|group| &group.candidates);
    each.map(|candidate| match &candidate.runs {
        Runs::Program(argv) => of(argv),
        _ => of(&candidate.argv),
    })
    .collect()
}

proptest::proptest! {
    /// The text that is run says the same as the one that was judged, but for where its programs are.
    #[test]
    fn pinned_text_reads_the_same(
        commands in proptest::collection::vec(
            (
                "(timeout 5 |nice |env |time |! |command |exec )?(a|b|'c d'|\\\\e|\\./x|\"f\")( |  |\t)(x|'y z'|\"\\\\\\$q\"|é|2>&1|>/dev/null|#z|''|\\[|a=b){0,3}",
                "(; | && | \\|\\| |\\||\n)",
            ),
            1..5,
        ),
    ) {
        let made: String = commands.into_iter().flat_map(|(command, join)| [command, join]).collect();
        let made = made.trim_end_matches([' ', '&', '|', '\n']).to_owned();
        let judged = assessed(&made);
        if let (Ok(before), Ok(enforced)) = (&judged.analysis, enforce(&judged, true)) {
            let after = match enforced.command {
                Command::Argv(argv) => vec![argv],
                Command::Shell(text) => words(&analyse::analyse(&text).unwrap()),
            };
            let names = |list: Vec<Vec<String>>| -> Vec<Vec<String>> {
                let bare = |word: String| word.rsplit('/').next().unwrap_or_default().to_owned();
                list.into_iter().map(|argv| argv.into_iter().map(bare).collect()).collect()
            };
            let expected = names(words(before));
            let after = names(after);
            for (before, after) in expected.iter().zip(&after) {
                // As words the wrappers are kept.
                proptest::prop_assert!(after.ends_with(before), "{made:?}: {before:?} {after:?}");
            }
            proptest::prop_assert_eq!(expected.len(), after.len());
        }
    }
}
