use std::os::unix::fs::symlink;

use super::*;

fn verdict(command: &str, place: &Place<'_>) -> &'static str {
    match check(command, place) {
        Ok(()) => "ok",
        Err(PreflightError::Bleed { .. }) => "bleed",
        Err(PreflightError::Complex) => "complex",
    }
}

#[test]
fn variables_in_python() {
    for (code, expected) in [
        ("print($HOME)", Some(("$HOME", 1))),
        ("x = 1\n\ny = $_A1b", Some(("$_A1", 3))),
        ("f'{$X}'", Some(("$X", 1))),
        ("f'''a\n{ {'b': $X}['b'] }'''", Some(("$X", 2))),
        ("'''\n$X\n'''\n$Y", Some(("$Y", 4))),
        ("'a\\'$X' + $Y", Some(("$Y", 1))),
        ("'' + $X", Some(("$X", 1))),
        ("x = 'unclosed\n$X", Some(("$X", 2))),
        ("rb'\\' + $X", None),
        ("# $HOME", None),
        ("'$HOME' \"$HOME\" \"\"\"$HOME\n$HOME\"\"\"", None),
        ("f'$X {{$X}} {a:$X>{b}} {c!r}'", None),
        ("'#' # $X", None),
        ("$home + $1", None),
        ("cost = '$' + 'A'", None),
    ] {
        assert_eq!(python::variable(code), expected.map(|(token, line)| (token.to_owned(), line)), "{code}");
    }
}

#[test]
fn variables_in_node() {
    for (code, expected) in [
        ("console.log($HOME)", Some(("$HOME", 1))),
        ("/* a\nb */ x = `a ${ $X } b`", Some(("$X", 2))),
        ("`${`${ {a: $X} }`}`", Some(("$X", 1))),
        ("if ($X) {}", Some(("$X", 1))),
        ("const a = $X", Some(("$X", 1))),
        ("a = b / $X / c", Some(("$X", 1))),
        ("f($X, y => 1)", Some(("$X", 1))),
        ("'$X' + \"$X\" + `$X $ {$X}` // $X", None),
        ("#!/bin/sh $X\nx = /[/$X]$X/g.test(y)", None),
        ("const $X = 1, {$Y, z: [$Z]} = q; f($X, $Y, $Z)", None),
        ("import $A, { b as $B } from 'c'; $A($B)", None),
        ("function f($X) { return $X }", None),
        ("const f = ($X, $Y) => $X", None),
        ("x.map($X => $X)", None),
        ("try {} catch ($E) { $E }", None),
        ("$X = 1; use($X)", None),
        ("a.$X; ({ $Y: 1 }); $Foo; $", None),
        ("for (const $X of y) $X", None),
    ] {
        assert_eq!(node::variable(code), expected.map(|(token, line)| (token.to_owned(), line)), "{code}");
    }
}

#[test]
fn the_named_script_is_checked() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("work");
    std::fs::create_dir_all(dir.join("sub")).unwrap();
    let bad = "import os\nprint($HOME)\n";
    for file in ["bad.py", "sub/bad.py", "../out.py"] {
        std::fs::write(dir.join(file), bad).unwrap();
    }
    std::fs::write(dir.join("bad.js"), "console.log($HOME)\n").unwrap();
    std::fs::write(dir.join("good.py"), "print('$HOME')\n").unwrap();
    std::fs::write(dir.join("large.py"), format!("{bad}{}", "#".repeat(600_000))).unwrap();
    symlink("bad.py", dir.join("link.py")).unwrap();
    symlink("../out.py", dir.join("leaves.py")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, dir.join("pipe.py"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let place = Place { host: &dir, guest: Some(Path::new("/workspace")) };
    for command in [
        "python bad.py",
        "PYTHON3.11 bad.py x | tee log",
        "A=1 python3 -u -W ignore -X dev sub/bad.py",
        "env -i -u B A=1 python3 './bad.py' && ls",
        "python3 link.py > out 2>&1",
        "python3 -- bad.py",
        "python3 /workspace/sub/bad.py",
        "node bad.js",
        "node --inspect -r ./x.js bad.js",
    ] {
        assert_eq!(verdict(command, &place), "bleed", "{command}");
    }
    for command in [
        "python good.py",
        "python ../out.py",
        "python leaves.py",
        "python pipe.py",
        "python large.py",
        "python missing.py",
        "python3 -c 'x' bad.py",
        "python3 -m bad.py",
        "python3 - bad.py",
        "/usr/bin/python3 bad.py",
        "python2 bad.py",
        "python3 bad.txt",
        "node -e 1 bad.js",
        "env -C sub python3 bad.py",
        "python3 \"$F\"",
        "ls bad.py",
    ] {
        assert_eq!(verdict(command, &place), "ok", "{command}");
    }
    let error = check("python3 sub/bad.py", &place).unwrap_err().report();
    assert!(error.message.starts_with("exec preflight: "), "{}", error.message);
    for part in ["bad.py", "line 2", "$HOME", "os.environ.get(\"HOME\")"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn hidden_scripts_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place { host: dir.path(), guest: None };
    for command in [
        "cd x && python a.py",
        "set -e\npython3 a.py",
        "cat a.py | python3",
        "bash -c 'cd x; node a.js'",
        "(python a.py)",
        "echo $(python a.py)",
        "true; python \"$D/a.py\"",
        "python <(cat x)",
        "python3 < <(x)",
        "if true; then node a.js; fi",
        "cd x; python a.py 'unclosed",
    ] {
        assert_eq!(verdict(command, &place), "complex", "{command}");
    }
    for command in [
        "cd x && python --version",
        "cd x && python -m pytest a.py",
        "cd x && python3 -c 'import a' && ls a.py",
        "for f in *.py; do python \"$f\"; done",
        "python3 - <<'E'\nopen('a.py')\nE",
        "ls *.py | wc -l",
        "cd x && npm test",
        "bash -c 'python a.py'",
        "git add a.py && git commit -m python",
        "cat > a.py <<'E'\npython b.py\nE",
    ] {
        assert_eq!(verdict(command, &place), "ok", "{command}");
    }
    let text = check("cd x && python a.py", &place).unwrap_err().to_string();
    assert!(text.starts_with("exec preflight: complex interpreter invocation detected; "), "{text}");
    assert!(text.contains("python <file>.py") && text.contains("node <file>.js"), "{text}");
}

proptest::proptest! {
    /// Any file and any command gets an answer.
    #[test]
    fn nothing_panics(code in "[\\$A-Z{}'\"`fr:/\\\\\\n#()=\u{e9} ]{0,60}") {
        let _ = (python::variable(&code), node::variable(&code));
        let place = Place { host: Path::new("/nonexistent"), guest: None };
        let _ = check(&format!("python {code}"), &place);
    }
}
