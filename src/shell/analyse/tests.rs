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
