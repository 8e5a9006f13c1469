use proptest::prelude::*;

use super::*;

/// Every simple command of a text, with its words as they are known; what is not known is `?`.
fn commands(text: &str) -> Vec<String> {
    let script = parse(text).unwrap_or_else(|refusal| panic!("{text:?}: {refusal:?}"));
    let mut told = Vec::new();
    script.each_simple(&mut |simple| {
        let known = |word: &Word| word.text().map_or_else(|| "?".to_owned(), str::to_owned);
        let assigned = simple.assignments.iter().map(|a| format!("{}={}", a.name, known(&a.value)));
        told.push(assigned.chain(simple.words.iter().map(known)).collect::<Vec<_>>().join(" "));
    });
    told
}

fn reason(text: &str) -> Option<Reason> {
    parse(text).err().map(|refusal| refusal.reason)
}

#[test]
fn commands_are_found() {
    for (text, expected) in [
        (r#"r\m 'a b' "c d"e $'x\ty'"#, &["rm a b c de x\ty"][..]),
        ("a && b || c; d & e | f |& g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("X=1 Y=\"a b\" cmd z=3", &["X=1 Y=a b cmd z=3"]),
        ("export A=b C", &["export A=b C"]),
        ("ls > out 2>&1 < in >> app &> all 2>/dev/null >&2 2>&-", &["ls"]),
        ("cat <<'EOF' | sh -x && y\nhi $X\nEOF\necho z", &["cat", "sh -x", "y", "echo z"]),
        ("cat <<-EOF > f\n\thi\n\tEOF\n", &["cat"]),
        ("cat <<E\n$(a)\nE\nb", &["cat", "a", "b"]),
        ("python3 - <<'PY'\nprint('x')\nPY", &["python3 -"]),
        ("(a; b) > x; { c; }; f() { d; }", &["a", "b", "c", "d"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done < f", &["a", "b", "c", "d"]),
        ("for f in x \"$@\" $(a); do b $f; done", &["a", "b ?"]),
        ("case $x in a|b) c;; *) d;; esac", &["c", "d"]),
        ("[ -f x ] && a; [[ -n $(b) ]] && c", &["[ -f x ]", "a", "b", "c"]),
        ("echo $(a $(b)) `c \\`d\\`` ${X:-$(e)} $((1+2))", &["echo ? ? ? ?", "a ?", "b", "c ?", "d", "e"]),
        ("diff <(a) <(b c)", &["diff ? ?", "a", "b c"]),
        ("docker run \\\n  -it \\\n x && \\\n y", &["docker run -it x", "y"]),
        ("echo a#b '' \"\"x {} # no", &["echo a#b  x {}"]),
        ("time -p a | b", &["a", "b"]),
        ("! ls é 'ñ'; ls ü", &["ls é ñ", "ls ü"]),
        ("echo \"a\\\nb\" 'c\\\nd'", &["echo ab c\\\nd"]),
    ] {
        assert_eq!(commands(text), expected, "{text:?}");
    }
}

/// The counterweight: what agents write every day is read.
#[test]
fn ordinary_commands_are_read() {
    for text in [
        "set -euo pipefail\ncd /x && make -j4 2>&1 | tail -20",
        "for i in 1 2 3; do\n  echo $i\ndone",
        "cat <<'A' > x.py\nimport os\nprint('$x `y`')\nA\npython3 x.py",
        "if [ -f x ]; then\n  y\nelif ! z; then w; fi",
        "ssh h 'cd /x && ls'",
        "git log --format='%h %s' -n 5 | head -3",
        "rg -n \"foo|bar\" src --glob '!*.md'",
        "find . -type f -print0 | xargs -0 grep -l x",
        "export PATH=$HOME/bin:$PATH",
        "FOO=bar npm test 2>&1 | tee out.log",
        "[[ $x =~ ^a.*$ ]] && y",
        "while :; do sleep 1; done &",
        "curl -d '{\"a\":{\"b\":[1]}}' \"http://x/y?z=1&w\" -H \"A: $T\"",
        "jq '.a[] | select(.b==\"c\")' f",
        "make -j$(nproc) && (cd x; ls) > /dev/null 2>&1",
        "echo ${x}y$z.txt ${x%.*} \"${y:-a b}\" $((x+1)) $# $? $@",
        "case \"$1\" in\n  -h|--help) usage;;\n  *) run \"$@\";;\nesac",
        "f() {\n  local a=$1\n  echo $a\n}\nf x",
        "docker run --rm \\\n  -v \"$PWD\":/x \\\n  image sh -c 'a && b'",
        "python3 - <<'PY'\nprint('x')\nPY",
        "a &&\\\nb",
        "ls *.{js,ts} ~/x | sort -u",
        "kill %1; wait $!; trap 'rm x' EXIT",
        "awk '{print $1}' f | sed -e 's/a/b/g'",
    ] {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
}

#[test]
fn what_a_word_may_become_is_known() {
    let word = |text: &str| {
        let script = parse(&format!("x {text}")).unwrap();
        let mut last = Word::default();
        script.each_simple(&mut |simple| last = simple.words.last().unwrap().clone());
        last
    };
    for text in ["a", "'*'", "\"~\"", "a~", "{}", "\\*", "a=b", "{a}", "-x=y", "'{a,b}'"] {
        assert!(word(text).literal().is_some(), "{text}");
    }
    for text in ["*", "?x", "[a]", "~", "~/x", "{a,b}", "x{1..3}", "a=~/x", "$x", "\"$x\""] {
        assert_eq!(word(text).literal(), None, "{text}");
    }
    assert_eq!(word("$HOME/x").parts.len(), 2);
    let plain = Part::Parameter { name: Some("HOME".to_owned()), raw: "${HOME}".to_owned(), runs: vec![] };
    assert_eq!(word("\"${HOME}\"").parts, [plain]);
}

#[test]
fn nothing_is_said_where_shells_differ() {
    for text in [
        "ls\r\n",
        "a\u{a0}b",
        "a\0b",
        "echo \u{202e}x",
        "git\u{b}status",
        "ls |",
        "ls;;ls",
        "}",
        "echo 'a",
        "echo \"a",
        "((i++))",
        "for ((;;)); do ls; done",
        "select x in a; do b; done",
        "coproc ls",
        "echo @(a|b)",
        "x=(a b)",
        "a[0]=1 b",
        "ec\\\nho x",
        "echo \"ok $\\\n(touch MARK)\"",
        "a |\\\n| b",
        "a &\\\n& b",
        "echo $[1+1]",
        "cat <<E",
        "echo $'\\xff'",
        "echo $'\\0a'",
        "echo ${x:-'$(a)'",
    ] {
        assert!(parse(text).is_err(), "{text:?}: {:?}", parse(text));
    }
    assert_eq!(reason("ls\r"), Some(Reason::Control));
    assert_eq!(reason("ec\\\nho"), Some(Reason::Continuation));
    let place = parse("echo $(ls\r)").unwrap_err().span;
    assert_eq!(place, Span { start: 9, end: 10 });
}

/// Hostile nesting ends in an answer, on a stack as small as that of a worker thread, and soon.
#[test]
fn work_is_bounded() {
    let run = || {
        for (open, close) in [
            ("(", ")"),
            ("x $(", ")"),
            ("{ ", ";}"),
            ("if ", ";then x;fi"),
            ("case x in a) ", " ;esac"),
            ("x \"$(", ")\""),
            ("x ${x:-", "}"),
            ("x $((", "))"),
            ("x `", "`"),
            ("! ", ""),
            ("time ", ""),
            ("x <(", ")"),
            ("a <<A; ", ""),
            ("while ", ";do x;done"),
            ("f() { ", ";}"),
            ("function f ", ""),
            ("coproc ", ""),
            ("[[ ( ", " ) ]]"),
            ("a && ", ""),
            ("a | ", ""),
            ("$'", "'"),
            ("\\\n", ""),
        ] {
            for times in [MAX_DEPTH, 60, 300, 9000] {
                for inner in ["x", ""] {
                    let text = format!("{}{inner}{}", open.repeat(times), close.repeat(times));
                    let _ = parse(&text);
                }
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
    assert_eq!(reason(&"x ".repeat(MAX_BYTES)), Some(Reason::TooLong));
    assert_eq!(reason(&"x;".repeat(MAX_BYTES / 2)), Some(Reason::TooComplex));
    assert!(Reason::TooDeep.is_limit() && !Reason::Syntax.is_limit());
}

proptest! {
    /// Nothing panics, and every place lies in the text.
    #[test]
    fn any_text_gets_an_answer(
        parts in prop::collection::vec(prop_oneof![
            prop::sample::select(vec![
                "ls", " ", "'", "\"", "$(", ")", "`", "${x", "}", "\\", "\n", "|", "&", ";", "<<E", "E", ">", "(", "{", "if ",
                "then ", "fi", "for x in ", "do ", "done", "case ", "esac", "in ", "[[ ", "]]", "$((", "))", "=", "~", "*", "é",
                "$'", "\u{1f600}", "1", ">&", "@(", "?", "]", "<<-", "<<'E'", "\nE\n", "+=", "[0]", "%", "0x", "#", "!", "<(", "time ", "function f ", "()", "-", "&>", "2>&1", "\\\n", "\t",
            ]).prop_map(str::to_owned),
            ".{0,3}",
        ], 0..24),
    ) {
        let text = parts.concat();
        match parse(&text) {
            Err(refusal) => prop_assert!(refusal.span.end <= text.len()),
            Ok(script) => script.each_simple(&mut |simple| {
                for word in &simple.words {
                    assert!(text.get(word.span.start..word.span.end).is_some(), "{text:?} {word:?}");
                }
            }),
        }
    }
}
