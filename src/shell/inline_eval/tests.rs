use proptest::prelude::*;

use super::*;

fn flag(line: &str) -> Option<String> {
    detect(&line.split(' ').collect::<Vec<_>>()).map(|hit| hit.flag)
}

#[test]
fn code_is_found() {
    for (line, expected) in [
        ("python3.12 -uc x", "-c"),
        ("/opt/x/Node.EXE --EVAL 1", "--eval"),
        ("perl -0777ne x", "-e"),
        ("gawk --so=x", "--source"),
        ("sed s/a/b/ f", "<program>"),
        ("find . -- -okdir x", "-okdir"),
        ("make -nf /dev/stdin", "-f"),
        ("xargs --replace sh", "<command>"),
        ("gdb -ev x", "-eval-command"),
        ("deno eval 1", "eval"),
        ("luajit -e x", "-e"),
        ("python3 -tc x", "-c"),
        ("python3 -?c x", "-c"),
        ("python3 -Im timeit x", "-m"),
        ("python3 -W ignore -mtimeit x", "-m"),
        ("make -sE x", "-E"),
        ("make SHELL=/tmp/x", "<variable>"),
        ("make A=$(shell,x)", "<variable>"),
        ("make A!=x", "<variable>"),
        ("make CC=x; all", "<variable>"),
        ("ruby -0777ne x", "-e"),
        ("perl -0x41ne x", "-e"),
        ("perl -MFoo;x a.pl", "-M"),
        ("perl -wmFoo(x) a.pl", "-m"),
        ("node --import=data:text/javascript,x a.js", "data:"),
        ("node --loader DATA:x a.js", "data:"),
        ("deno run data:x", "data:"),
        ("php -d auto_prepend_file=data:x a.php", "-d"),
        ("prlimit --nofile=5 python3 -c x", "-c"),
        ("/lib64/ld-linux-x86-64.so.2 /usr/bin/python3 -c x", "-c"),
        ("faketime x systemd-inhibit --what=x python3 -c x", "-c"),
    ] {
        assert_eq!(flag(line).as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn it_is_found_behind_others() {
    for line in [
        "sudo -u x env A=1 nice -n 5 python3 -c x",
        "setsid -w stdbuf -oL ionice -c 3 python3 -c x",
        "taskset -c 0 chroot /x python3 -c x",
        "busybox awk BEGIN{}",
        "strace -f -o /tmp/t node -e 1",
        "firejail --unknown value node -e 1",
        "systemd-run --unit x -p Y=1 node -e 1",
        "env -iS python3 -c x",
        "flock -w 5 /l python3 -c x",
    ] {
        let hit = detect(&line.split(' ').collect::<Vec<_>>());
        assert!(hit.as_ref().is_some_and(|hit| hit.via_carrier), "{line}: {hit:?}");
    }
    assert_eq!(detect(&["env", "-S", "python3 -c 'x'"]).unwrap().executable, "python3");
    assert_eq!(detect(&["sh", "-c", "exec\n\"$@\"", "_", "python3", "-c", "x"]).unwrap().flag, "-c");
    // The flag is in the text, the program behind it (A014).
    assert_eq!(detect(&["bash", "-ec", "\"$1\" -c \"$2\"", "_", "python3", "x"]).unwrap().flag, "-c");
    assert_eq!(detect(&["bash", "-ec", "\"$1\" \"$2\"", "_", "python3", "x"]), None);
    let deep: Vec<&str> = std::iter::repeat_n("nice", 40).chain(["ls"]).collect();
    assert_eq!(detect(&deep).unwrap().flag, "<nested>");
}

#[test]
fn interpreters_run_what_they_read() {
    for line in [
        "python3",
        "python3 -",
        "python3 -u",
        "python3 -W ignore",
        "python3 /dev/stdin",
        "node --require x",
        "perl -w",
        "ruby -rjson",
        "php",
        "nice python3 -",
        "lua -",
        "node - a",
    ] {
        let argv: Vec<&str> = line.split(' ').collect();
        assert!(reads(&argv, true).is_some(), "{line}");
    }
    for line in [
        "python3 a.py",
        "python3 -m json.tool",
        "python3 -V",
        "node --version",
        "perl a.pl",
        "php -v",
        "ruby -rjson a.rb",
        "node --require x a.js",
        "jq .",
        "cat",
        "python3 -W ignore a.py",
    ] {
        let argv: Vec<&str> = line.split(' ').collect();
        assert_eq!(reads(&argv, true), None, "{line}");
    }
    assert!(reads(&["python3"], false).is_some());
    assert!(reads(&["python3", "-"], false).is_some());
    assert_eq!(reads(&["python3", "-u"], false), None);
}

/// No argument list takes long; one that would is asked.
#[test]
fn work_is_bounded() {
    let shells = ["sh", "-c", "\"$@\""].repeat(20_000);
    let options = ["env"].into_iter().chain(["-Z", "a"].repeat(30_000)).collect::<Vec<_>>();
    let carriers = ["env", "-Z"].repeat(30_000);
    let scripts = ["sh", "-c", "\"$@\""].into_iter().chain(["python3"].repeat(60_000)).collect::<Vec<_>>();
    let splits = ["env", "-S", "sh -c $@"].repeat(20_000);
    for argv in [shells, carriers, scripts, splits] {
        let hit = detect(&argv);
        assert_eq!(hit.map(|hit| hit.flag).as_deref(), Some("<nested>"), "{:?}", argv.get(..6));
    }
    assert_eq!(detect(&options), None);
}

/// What asks for nothing: a list of ordinary commands.
#[test]
fn ordinary_commands_are_not() {
    for line in [
        "ls -e",
        "git -c a=b status",
        "python3 script.py",
        "python3 -m http.server",
        "node server.js",
        "make -j4 all",
        "make -C dir test",
        "find . -name x -print",
        "awk -f prog.awk file",
        "sed -n -f script file",
        "make --file= all",
        "sudo apt install sed gawk make",
        "sudo -u node ls -e",
        "nice ls python3 -c",
        "env A=1 ls",
        "timeout 5 make",
        "command -v python3",
        "sh -c ls",
        "xargs -0 -n 1",
        "bash -c make",
        "php -f index.php",
        "perl -w script.pl",
        "Rscript run.R",
        "deno run eval.ts",
        "python3 -m pytest -k x",
        "python3 -Wignore a.py",
        "python3 -X faulthandler a.py",
        "perl -MPOSIX=floor,ceil -w a.pl",
        "perl -Mstrict a.pl",
        "perl -pi.bake a.pl",
        "ruby -rjson a.rb",
        "ruby -Eutf-8 a.rb",
        "make CC=gcc -j4 all",
        "make -Cdocfe",
        "node --require ./x.js a.js",
    ] {
        assert_eq!(flag(line), None, "{line}");
    }
    assert_eq!(detect::<&str>(&[]), None);
    assert_eq!(detect(&["", "-c"]), None);
}

#[test]
fn patterns_of_interpreters() {
    for pattern in
        ["python3", "/usr/bin/python*", "**/node", "PYTHON", "python.exe", "perl5", "lua5.4", "R", "python-"]
    {
        assert!(interpreter_like(pattern), "{pattern}");
    }
    for pattern in ["", "*", "/usr/bin/*", "ls", "my-python", "p*thon", "bash", "env"] {
        assert!(!interpreter_like(pattern), "{pattern}");
    }
}

proptest! {
    /// A carrier in front hides nothing, and nothing panics.
    #[test]
    fn a_carrier_hides_nothing(
        program in prop::sample::select(vec![
            "python3", "node", "awk", "sed", "perl", "xargs", "find", "gdb", "make", "sh", "env", "sudo", "timeout", "ls",
        ]),
        arguments in prop::collection::vec(prop_oneof![
            prop::sample::select(vec![
                "-c", "-e", "--", "-", "-S", "-p", "-n", "-f", "--eval=x", "-exec", "5", "A=1", "sh", "\"$@\"", "env",
                "python3", "awk", "", "-u", "x", "-ec",
            ]).prop_map(str::to_owned),
            ".{0,5}",
        ], 0..8),
    ) {
        let argv: Vec<&str> = std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect();
        let Some(hit) = detect(&argv) else { return Ok(()) };
        for carrier in [&["nice"][..], &["env"], &["sudo", "-n"], &["timeout", "5"], &["env", "A=1", "setsid"]] {
            let carried = detect(&[carrier, argv.as_slice()].concat());
            prop_assert_eq!(carried, Some(Hit { via_carrier: true, ..hit.clone() }), "{:?}", carrier);
        }
    }
}
