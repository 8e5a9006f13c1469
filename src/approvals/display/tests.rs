use pretty_assertions::assert_eq;

use super::*;
use crate::shell::analyse::analyse;

fn local(command: &str) -> String {
    show(command, false).unwrap().text
}

fn remote(command: &str) -> String {
    let shown = show(command, true).unwrap();
    assert_eq!(shown.redacted, shown.text.contains(HIDDEN), "{command}");
    // The digest is another test's.
    let mut out = String::new();
    let mut rest = shown.text.as_str();
    while let Some((before, behind)) = rest.split_once(HIDDEN) {
        out.push_str(before);
        out.push('*');
        rest = behind.split_once(']').unwrap().1;
    }
    out + rest
}

/// Advisory A169.
#[test]
fn what_is_not_seen_is_spelled_out_on_one_line() {
    for (command, wanted) in [
        ("ls\u{200b}\u{3164}\ntouch MARK", r"ls\u{200B}\u{3164}\u{A}touch MARK"),
        ("a\rb\tc\u{0}\u{1b}[2K\u{9b}", r"a\u{D}b\u{9}c\u{0}\u{1B}[2K\u{9B}"),
        ("x\u{202e}y\u{2066}z\u{61c}", r"x\u{202E}y\u{2066}z\u{61C}"),
        ("a\u{a0}b\u{2003}c\u{3000}d\u{2028}e\u{85}", r"a\u{A0}b\u{2003}c\u{3000}d\u{2028}e\u{85}"),
        (
            "\u{115f}\u{1160}\u{ffa0}\u{2800}\u{fe0f}\u{e0041}",
            r"\u{115F}\u{1160}\u{FFA0}\u{2800}\u{FE0F}\u{E0041}",
        ),
        ("\u{feff}\u{ad}\u{e000}\u{fff9}", r"\u{FEFF}\u{AD}\u{E000}\u{FFF9}"),
    ] {
        let shown = show(command, false).unwrap();
        assert_eq!(shown.text, wanted);
        assert!(!shown.verbatim && shown.text.lines().count() == 1);
    }
    for command in ["ls -l /srv/Größe/日本 – ✓", "echo '`a`' \"b\" \\c", ""] {
        let shown = show(command, true).unwrap();
        assert_eq!((shown.text.as_str(), shown.verbatim), (command, true));
    }
}

#[test]
fn nothing_that_is_written_looks_like_an_escape() {
    assert_eq!(local(r"a\u{A}b"), r"a\u{5C}u{A}b");
    assert_ne!(local("a\nb"), local(r"a\u{A}b"));
    let fake = "curl [redacted sha256:00000000]";
    assert_eq!(local(fake), r"curl \u{5B}redacted sha256:00000000]");
    assert!(!show(fake, true).unwrap().redacted);
}

#[test]
fn too_much_is_refused_and_never_cut() {
    let long = |count: usize| format!("echo {}", "é".repeat(count - 5));
    assert!(show(&long(MAX_OUT), false).unwrap().verbatim);
    assert_eq!(show(&long(MAX_OUT + 1), false), Err(TooLong));
    // As shown it is longer.
    assert_eq!(show(&"\n".repeat(MAX_OUT / 4), false), Err(TooLong));
    assert_eq!(show(&long(MAX_IN + 1), true), Err(TooLong));
}

/// Advisory A170.
#[test]
fn nothing_ends_a_code_block() {
    let shown = local("echo ```[x](https://evil.example) @here <b>&amp;");
    let escaped = escape_for_markdown(&shown);
    assert_eq!(escaped, r"echo \`\`\`\[x\]\(https\:\/\/evil\.example\) \@here \<b\>\&amp\;");
    assert!(shown.contains("```"), "a terminal gets the text itself");
}

/// Advisory A171.
#[test]
fn secrets_are_hidden_where_others_read() {
    for (command, wanted) in [
        ("curl -H 'Authorization: Bearer abc123'  https://x", "curl -H 'Authorization: Bearer *'  https://x"),
        ("curl -H \"authorization: abc123\" x", "curl -H \"authorization: *\" x"),
        ("curl -H 'X-Api-Key: k3y' -b 'a=b' x", "curl -H 'X-Api-Key: *' -b '*' x"),
        ("curl -u me:pa55 https://x", "curl -u * https://x"),
        ("mysql --password=hunter2 db", "mysql --password=* db"),
        ("mysql --password='hunter2' db", "mysql --password='*' db"),
        ("vault login --token abc", "vault login --token *"),
        ("DB_PASSWORD=hunter2 make", "DB_PASSWORD=* make"),
        ("export API_TOKEN='xy'", "export API_TOKEN='*'"),
        ("curl -b 'a=b; c=d' -H 'Cookie: e=f' x", "curl -b '*; *' -H 'Cookie: *' x"),
        ("wget --header='Authorization: Basic YTpi' x", "wget --header='Authorization: Basic *' x"),
        ("xh x Authorization:abc", "xh x Authorization:*"),
        ("docker run -e AWS_SECRET_ACCESS_KEY=abcd/efgh x", "docker run -e AWS_SECRET_ACCESS_KEY=* x"),
        ("git clone https://me:pa55@example.org/x", "git clone https://me:*@example.org/x"),
        ("echo ghp_0123456789abcdefghij | gh auth login", "echo * | gh auth login"),
        ("bash -c 'curl --api-key s3cret x'", "bash -c 'curl --api-key * x'"),
        ("timeout 5 curl --token s3cret x", "timeout 5 curl --token * x"),
        (
            "export A_TOKEN=abcdefgh12345678; curl -H \"Authorization: Bearer $A_TOKEN\" x",
            "export A_TOKEN=*; curl -H \"Authorization: Bearer $A_TOKEN\" x",
        ),
        ("curl --token s3cret x > out", "curl --token * x > out"),
        ("a $[1] https://me:pa55@example.org", "a $[1] https://me:*@example.org"),
    ] {
        assert_eq!(remote(command), wanted, "{command}");
        assert_eq!(local(command), command, "a local surface reveals");
    }
    for command in [
        "curl -H \"Authorization: Bearer $TOKEN\" x",
        "mysql --password=$PW --password-file x --token-path=/x",
        "TOKEN=$(pass show x) make",
        "sort --key=2 file",
        "make USE_TOKEN=true",
        "ssh git@example.org",
        "git log --author=me",
        "curl -b @jar x",
    ] {
        assert_eq!(remote(command), command);
    }
}

#[test]
fn prose_is_not_shell() {
    let hidden = |text: &str| prose(text).contains(HIDDEN);
    for text in [
        "it's API_TOKEN=abcdef1\nmake",
        "the password: hunter2, don't tell",
        "\"client_secret\": \"x y z\" isn't \"a-secret\": \"abcdef\"",
        "use --token s3cr3t here",
        "Authorization: Bearer abcdefgh",
        "ghp_0123456789abcdefghij",
    ] {
        assert!(hidden(text), "{text}: {}", prose(text));
    }
    for text in
        ["run the tests, please", "the token expired; it's old", "a secret plan", "https://example.org/x?y=1"]
    {
        assert_eq!(prose(text), text);
    }
}

#[test]
fn the_digest_tells_secrets_apart() {
    let shown = |secret: &str| show(&format!("x --token {secret}"), true).unwrap().text;
    assert_eq!(shown("hunter2"), "x --token [redacted sha256:f52fbd32]");
    assert_ne!(shown("hunter2"), shown("hunter3"));
}

/// Commands whose code looks like a credential.
const CODE: &[&str] = &[
    "git -c 'alias.token=!touch /tmp/p1' token",
    "git -c alias.token=reboot token",
    "python3 -c 'token: 1; import os'",
    "python3 -c hf_abcdefghijklmnopqrst",
    "perl -e 'token: unlink'",
    "node -e 'token: 1'",
    "ssh h 'x-token: ; rm -rf ~'",
    "ssh h hf_abcdefghijklmnopqrst",
    "kubectl exec p -- sh --token 'rm x'",
    "kubectl exec p -- env TOKEN=a rm",
    "docker run -e x sh --token reboot",
    "make TOKEN='x$(shell id)'",
    "make TOKEN=reboot",
    "x 'token: ; rm -rf ~'",
    "bash hf_abcdefghijklmnopqrst",
    "sudo hf_abcdefghijklmnopqrst",
    "echo hf_abcdefghijklmnopqrst | sh",
    "set -- hf_abcdefghijklmnopqrst; $1",
    "echo \"$(hf_abcdefghijklmnopqrst x)\"",
    "TOKEN=reboot python3 -c 'run(\"TOKEN\")'",
];

/// What runs is never hidden with a secret.
#[test]
fn what_runs_is_always_shown() {
    for command in [
        // The value of an option is a program here.
        "sudo -p --password rm -rf x",
        "env --token rm x",
        "sudo -p Authorization: sh x.sh",
        "bash -c 'sudo -p Authorization: sh x.sh'",
        "x --password ./run.sh",
        "x --password /tmp/run",
        "x --token \"$(rm -rf y)\"",
        "x --token=`rm -rf y`",
        // What is assigned is taken again.
        "TOKEN=rm; $TOKEN -rf x",
        "TOKEN=rm sh -c '${TOKEN} -rf x'",
        "export TOKEN=rm; $TOKEN -rf x",
        "TOKEN=evilscript1234567; $TOKEN x",
        "export TOKEN=evilscript1234567; timeout 5 $TOKEN x",
        "API_TOKEN=evilscript1234567 sh -c '$API_TOKEN'",
        "ghp_0123456789abcdefghij x",
    ] {
        assert_eq!(remote(command), command);
    }
    assert_eq!(remote("x --token a; rm -rf y"), "x --token *; rm -rf y");
    assert_eq!(remote("x --token 'a\u{200b}\nrm'"), r"x --token 'a\u{200B}\u{A}rm'");
    // Texts, aliases and settings that run.
    for command in CODE {
        assert_eq!(remote(command), *command);
    }
}

/// What is hidden is made of the characters of credentials, wherever it stands.
#[test]
fn what_is_hidden_cannot_be_code() {
    let programs = [
        "x",
        "curl",
        "git",
        "python3",
        "ssh h",
        "docker run",
        "make",
        "sudo -p",
        "echo",
        "xh",
        "kubectl exec p",
    ];
    let options = ["-c", "-e", "-H", "--token", "--", "-b", "-u", "TOKEN=a", "--env", ""];
    let names = [
        "token: ",
        "alias.token=",
        "TOKEN=",
        "--token=",
        "Authorization: Bearer ",
        "Cookie: ",
        "https://a:",
        "ghp_0123456789abcdefghij",
        "",
    ];
    let codes = [
        "abc; rm x",
        "!touch x",
        "a$(id)",
        "a`id`",
        "a b",
        "a|b",
        "a&b",
        "a>b",
        "{a}",
        "a\nb",
        "abc",
        "a;b@c",
        "a=b; rm -rf x",
    ];
    for program in programs {
        for option in options {
            for name in names {
                for code in codes {
                    let command = format!("{program} {option} '{name}{code}' x");
                    for range in secrets::find(&command) {
                        let hidden = &command[range];
                        let bounded = |c: char| c.is_ascii_alphanumeric() || "_-.~+/=:%@,#".contains(c);
                        assert!(hidden.chars().all(bounded), "{command}: {hidden}");
                    }
                    if matches!(program, "git" | "python3") && matches!(option, "-c" | "-e") || option == "--"
                    {
                        assert!(!show(&command, true).unwrap().text.contains(HIDDEN), "{command}");
                    }
                }
            }
        }
    }
}

/// Words are hidden as the command is: one alone does not tell what the one in front of it asks for.
#[test]
fn words_hide_what_the_command_hides() {
    for (argv, at) in [
        (&["x", "--token", "hunter2"][..], 2),
        (&["curl", "-u", "bob:pass", "x"], 2),
        (&["curl", "-H", "Authorization: Bearer abc"], 2),
        (&["mysql", "--password=hunter2"], 1),
        (&["curl", "-b", "a=b; c=d"], 2),
    ] {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let shown = show_words(&argv, true).unwrap();
        for (index, (word, shown)) in argv.iter().zip(&shown).enumerate() {
            assert_eq!(word == shown, index != at, "{shown}");
        }
        assert!(!shown[at].contains("hunter2") && !shown[at].contains("pass]") && shown[at].contains(HIDDEN));
        assert_eq!(show_words(&argv, false).unwrap(), argv);
    }
}

#[test]
fn spans_are_in_units_of_the_text_as_shown() {
    let of = |command: &str| {
        let shown = show(command, false).unwrap();
        let spans = spans(&shown)?;
        Some(spans.into_iter().map(|span| (span.start_index, span.end_index)).collect::<Vec<_>>())
    };
    assert_eq!(of("ls | wc -l"), Some(vec![(0, 2), (5, 7)]));
    assert_eq!(of("echo 𝕏é; ls"), Some(vec![(0, 4), (10, 12)]));
    assert_eq!(of("a\nb"), None, "shown otherwise");
    assert_eq!(of("a 'b"), None, "not understood");
    let json = serde_json::to_value(CommandSpan { start_index: 0, end_index: 2 }).unwrap();
    assert_eq!(json, serde_json::json!({"startIndex": 0, "endIndex": 2}));
}

#[test]
fn what_is_worth_a_second_look() {
    let of = |text: &str| summary(&analyse(text));
    let plain = of("ls -l | wc -l");
    assert_eq!(plain, CommandAnalysis { command_count: 2, ..CommandAnalysis::default() });
    let shell = of("sh -c 'ls; pwd'");
    assert_eq!((shell.command_count, shell.nested_command_count), (1, 2));
    assert!(shell.risk_kinds.contains(&"shell-wrapper".to_owned()));
    for (text, kind) in [
        ("python3 -c 'x'", "inline-eval"),
        ("ls *.rs", "expansion"),
        ("find . -exec rm {} +", "carrier"),
        ("A=1 make", "environment"),
        ("eval x", "eval"),
        ("echo $(id)", "command-substitution"),
        ("echo a > b", "redirect"),
        ("echo 'a", "unreadable"),
        ("sleep 1 &", "background"),
    ] {
        let known = of(text);
        assert!(known.risk_kinds.iter().any(|known| known == kind), "{text}: {known:?}");
        assert_eq!(known.risk_kinds.len(), known.warning_lines.len());
    }
}
