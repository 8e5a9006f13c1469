use std::path::Path;
use std::process::Stdio;

use proptest::prelude::*;

use super::*;
use crate::shell::parse;

/// What each command runs, told shortly.
fn told(groups: &[Group]) -> Vec<String> {
    let words = |argv: &[Argument]| argv.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let each = groups.iter().flat_map(|group| &group.candidates);
    each.map(|candidate| match &candidate.runs {
        Runs::Program(argv) => words(argv),
        Runs::Builtin => format!("builtin {}", words(&candidate.argv)),
        Runs::Shell(groups) => format!("shell({})", told(groups).join(";")),
        Runs::Unclear(why) => format!("{why:?}"),
    })
    .collect()
}

fn runs_of(text: &str) -> Vec<String> {
    told(&analyse(text).unwrap_or_else(|refused| panic!("{text}: {refused:?}")))
}

#[test]
fn commands_are_judged_by_what_runs() {
    for (text, expected) in [
        ("git status && ls -la | wc; ! x", &["git status", "ls -la", "wc", "x"][..]),
        ("a 2>&1 >/dev/null </dev/null", &["a"]),
        ("python3 x <<'E'\n$(y)\nE", &["python3 x"]),
        ("timeout -k 5 10 nice -n5 nohup env a b", &["a b"]),
        ("stdbuf -oL time -p flock -n f a", &["a"]),
        ("command a; exec b", &["a", "b"]),
        ("time a | b", &["a", "b"]),
        (
            "cd /x && pwd && [ -f y ] && test a = b && true",
            &["builtin cd /x", "builtin pwd", "builtin [ -f y ]", "builtin test a = b", "builtin true"],
        ),
        ("exit 3", &["builtin exit 3"]),
        ("command -v a && a", &["builtin command -v a", "a"]),
        ("type a b", &["builtin type a b"]),
        ("set -e; set -euo pipefail; a", &["builtin set -e", "builtin set -euo pipefail", "a"]),
        ("a <<\"E\"\n$(b)\nE", &["a"]),
        ("a <<\\E | c\n$(b)\nE", &["a", "c"]),
        ("a <<-'E'\n\t$(b)\n\tE", &["a"]),
        ("bash -c 'a b; c'", &["shell(a b;c)"]),
        ("bash x.sh", &["bash x.sh"]),
        ("find . -name x", &["find . -name x"]),
        ("'r'm x", &["rm x"]),
        ("ssh host ls -lo", &["ssh host ls -lo"]),
        ("ssh -p 22 host sort -o f -F x", &["ssh -p 22 host sort -o f -F x"]),
        ("split -l 5 x", &["split -l 5 x"]),
        ("mise ls", &["mise ls"]),
    ] {
        assert_eq!(runs_of(text), expected, "{text}");
    }
}

/// No entry covers these, whatever it says.
#[test]
fn what_hides_a_program_is_unclear() {
    for text in [
        "A=1 a",
        "LD_PRELOAD+=x a",
        "export A=b",
        "unset PATH",
        "eval a",
        "source x",
        ". x",
        "alias a=b",
        "xargs a",
        "find . -exec a ;",
        "sudo a",
        "sudo",
        "su -c a",
        "watch a",
        "env A=1 a",
        "env -i a",
        "env -S 'a b'",
        "env -P ./e a",
        "command -p a",
        "command -v *",
        "command -v",
        "nice command -v a",
        "set -a",
        "set -f",
        "set -ex",
        "set +e",
        "set -- x",
        "set -o posix",
        "set -o",
        "set",
        "time -o f a",
        "timeout --unknown 5 a",
        "timeout 5 -x a",
        "flock f -c a",
        "nice nice nice nice nice a",
        "busybox sh -c a",
        "npx -y git status",
        "sh -lc a",
        "bash -i x",
        "/bin/sh -c a",
        "sh -c 'sh -c a'",
        "sh -c '/bin/a'",
        "sh -c 'a $x'",
        "sh -c '\"$@\"' _ a",
        "bash -xec a",
        "bash --norc -x a",
        "csh -c a",
        "test -v 'a[$(cmd)]'",
        "bash <<'E'\nx\nE",
        "script -qc a /dev/null",
        "cd a b",
        "timeout * a",
        "nohup",
        "command eval a",
        "builtin source x",
        "jobs -x a",
        "printf -v x y",
        "printf -v 'a[$(c)]' y",
        "[ 1 -eq 'a[`c`]' ]",
        "time -o f a",
        "TIMEOUT 5 a",
        "./timeout 5 a",
        "/tmp/env a",
        "x86_64 a",
        "uname26 a",
        "prlimit --nofile=10 a",
        "choom -n 1 -- a",
        "uclampset a",
        "valgrind a",
        "/lib64/ld-linux-x86-64.so.2 /bin/a",
        "ld.so a",
        "strace -f a",
        "dbus-run-session a",
        "ssh-agent a",
        "systemd-inhibit a",
        "faketime x a",
        "run0 a",
        "run-parts d",
        "direnv exec . a",
        "mise x -- a",
        "split --filter=a x",
        "rsync -e a x y",
        "ssh -I x host",
        "ssh -vo x host",
        "ssh host -oProxyCommand=a ls",
        "ssh -p 22 -oX=y host",
    ] {
        let runs = runs_of(text);
        let unclear = ["Evaluates", "Environment", "Wrapper", "Carrier", "Shell", "Query"];
        assert!(runs.iter().any(|run| unclear.iter().any(|why| run.contains(why))), "{text}: {runs:?}");
    }
    for text in ["True", "TEST x", "./cd x"] {
        assert_eq!(runs_of(text), [text], "other cases are other programs");
    }
}

#[test]
fn obstacles_are_told() {
    use Obstacle as O;
    for (text, expected) in [
        ("echo \"$(touch MARK)\"", O::CommandSubstitution),
        ("echo \"`id`\"", O::CommandSubstitution),
        ("ls $HOME", O::DynamicArgument),
        ("rg$IFS--pre=./x", O::DynamicExecutable),
        ("*", O::DynamicExecutable),
        ("echo $'x'", O::DynamicArgument),
        ("ls > out", O::Redirect),
        ("ls &>/dev/null", O::Redirect),
        ("ls <&x", O::Redirect),
        ("ls 10>&1", O::Redirect),
        ("ls 77>/dev/null", O::Redirect),
        ("ls 10<<'E'\nx\nE", O::Redirect),
        ("ls 2>&10", O::Redirect),
        ("cat <<E\nx\nE", O::HereDocument),
        ("cat <<< x", O::HereString),
        ("diff <(a) b", O::ProcessSubstitution),
        ("a & b", O::Background),
        ("(a)", O::Subshell),
        ("{ a; }", O::Group),
        ("if a; then b; fi", O::If),
        ("while a; do b; done", O::While),
        ("for x in a; do b; done", O::For),
        ("case a in b) c;; esac", O::Case),
        ("f() { a; }", O::Function),
        ("[[ a ]]", O::Test),
        ("a \\\n b", O::LineContinuation),
        ("HOME=/tmp/e; git status", O::Nothing),
        ("", O::Nothing),
        (" \n", O::Nothing),
        ("ls |", O::Unread(parse::Reason::Syntax)),
    ] {
        assert_eq!(analyse(text).map_err(|refused| refused.obstacle), Err(expected), "{text}");
    }
    assert!(analyse("echo '\\\n'").is_ok());
}

/// A directory of programs that write down how they were called.
struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        std::fs::create_dir_all(root.path().join("cwd")).unwrap();
        std::fs::create_dir(&bin).unwrap();
        let script =
            "#!/bin/sh\ns=${0##*/}\nfor x; do s=\"$s\u{1f}$x\"; done\nprintf '%s\u{1e}' \"$s\" >>\"$LOG\"\n";
        for name in ["a", "b", "c", "x"] {
            std::fs::write(bin.join(name), script).unwrap();
            std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in ["timeout", "nice", "nohup", "env", "stdbuf"] {
            symlink(Path::new("/usr/bin").join(name), bin.join(name)).unwrap();
        }
        for name in ["sh", "bash", "dash"] {
            symlink(Path::new("/bin").join(name), bin.join(name)).unwrap();
        }
        Self { root }
    }

    /// What a shell runs of a text.
    #[expect(clippy::disallowed_methods, reason = "the shells are what is compared with")]
    fn run(&self, shell: &str, text: &str) -> Vec<Vec<String>> {
        let path = |name: &str| self.root.path().join(name);
        let log = path("log");
        std::fs::write(&log, "").unwrap();
        let mut command = std::process::Command::new(shell);
        command
            .arg("-c")
            .arg(text)
            .current_dir(path("cwd"))
            .env_clear()
            .env("PATH", path("bin"))
            .env("LOG", &log);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        let left: Vec<_> = std::fs::read_dir(path("cwd")).unwrap().collect();
        assert!(left.is_empty(), "{shell} made a file of {text:?}");
        let said = std::fs::read_to_string(&log).unwrap();
        let lines = said.split('\u{1e}').filter(|line| !line.is_empty());
        lines.map(|line| line.split('\u{1f}').map(str::to_owned).collect()).collect()
    }
}

/// The programs of a text; nothing where one of them is not clear, or its words are not.
fn programs(groups: &[Group]) -> Option<Vec<Vec<String>>> {
    let mut found = Vec::new();
    for candidate in groups.iter().flat_map(|group| &group.candidates) {
        match &candidate.runs {
            Runs::Program(argv) if argv.iter().all(|word| !word.expands) => {
                found.push(argv.iter().map(|word| word.text.clone()).collect());
            }
            Runs::Builtin => {}
            Runs::Shell(groups) => found.extend(programs(groups)?),
            Runs::Program(_) | Runs::Unclear(_) => return None,
        }
    }
    Some(found)
}

fn texts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "x",
        "'x y'",
        "\"x  y\"",
        "x\\ y",
        "''",
        "\"\\$x\"",
        "'$(c)'",
        "-x",
        "a=b",
        "\"'\"'\"'",
        "x#y",
        "#z",
        "é",
        "\"é\\\\\"",
        "--",
        "{}",
        "%s",
        "\\;",
        "!",
        "x~",
        "'\\'",
        "\"a\\b\"",
        "2",
        "2>&1",
        ">/dev/null",
        "[",
        "]",
        "=",
        "\\'",
        "\"\\\"\"",
        "~",
        "*",
    ]);
    let head = prop::sample::select(vec![
        "a",
        "b",
        "'c'",
        "\\a",
        "timeout 5 a",
        "nice -n 1 b",
        "env a",
        "nohup c",
        "sh -c 'a x'",
        "bash -c 'b; c'",
        "command a",
        "time a",
        "! b",
        "cd .",
        "true",
        "false",
        "test x",
        "[ x ]",
        "exec c",
        "nice timeout 5 b",
        "a <<'E'",
        "\"a\"",
        "a''",
    ]);
    let command = (head, prop::collection::vec(word, 0..4)).prop_map(|(head, words)| {
        let document = if head.contains("<<") { "\n$(b) `c`\nE\n" } else { "" };
        format!("{head} {}{document}", words.join(" "))
    });
    let join = prop::sample::select(vec![";", " && ", " || ", "|", "\n", " | ", ";\n", " |& ", "&&", "\n\n"]);
    let junk = prop::sample::select(vec![
        "", "", "", "'", "\"", "\\", "\\\n", "$", "(", ")", "&", ";", "|", "\t", "#", "`", "=", "x=", "!",
        "{", "\n", "$'",
    ]);
    let commands = prop::collection::vec((command, join), 1..4);
    (commands, junk, any::<prop::sample::Index>()).prop_map(|(commands, junk, at)| {
        let mut text =
            commands.iter().flat_map(|(command, join)| [command.as_str(), join]).collect::<String>();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        text.insert_str(places[at.index(places.len())], junk);
        text
    })
}

/// What is accepted is what shells run: every program that they start was listed, with exactly its words.
#[test]
fn shells_run_what_is_listed() {
    let bench = Bench::new();
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(250);
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    let judged = std::cell::Cell::new(0usize);
    runner
        .run(&texts(), |text| {
            let Some(listed) = analyse(&text).ok().and_then(|groups| programs(&groups)) else {
                return Ok(());
            };
            judged.set(judged.get() + 1);
            for shell in ["/bin/bash", "/bin/dash"] {
                let mut left = listed.clone();
                for ran in bench.run(shell, &text) {
                    let at = left.iter().position(|listed| *listed == ran);
                    prop_assert!(at.is_some(), "{} ran {:?} of {:?}; listed {:?}", shell, ran, text, listed);
                    left.remove(at.unwrap());
                }
            }
            Ok(())
        })
        .unwrap();
    assert!(judged.get() > 20, "only {} texts were accepted", judged.get());
}
