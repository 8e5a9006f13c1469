//! Class 1: shell text that the gate reads differently than the shell.

use creel::shell::analyse::visible;

use crate::machine::{judged, misses, passes, stops};

/// A009 is the same in another port.
#[test]
fn a001_a009_substitution_between_double_quotes() {
    misses(
        &["*", "echo"],
        &["echo \"$(touch MARK)\"", "echo \"`touch MARK`\"", "echo \"a ${x:-$(touch MARK)}\""],
    );
    misses(&["printf"], &["printf \"%s\" \"`id`\""]);
    passes(&["echo"], &["echo '$(x)'", "echo \"\\$(x)\"", "echo '`x`' \"\\`x\\`\""]);
    passes(&["printf"], &["printf \"%s\" '`id`'"]);
}

#[test]
fn a002_every_member_of_a_list_is_judged() {
    let joins = [" | ", " |& ", " && ", " || ", "; ", " & ", "\n", "|", "&&"];
    for join in joins {
        misses(&["echo"], &[&format!("echo 'x'{join}node"), &format!("node{join}echo x")]);
    }
    misses(&["*", "echo"], &["echo x & echo y"]);
    for join in joins.iter().filter(|join| **join != " & ") {
        passes(&["echo", "node"], &[&format!("echo 'x'{join}node")]);
    }
    let failing = judged(&["echo"], &[], "echo x && node y");
    let named: Vec<_> =
        failing.parts.iter().filter(|part| !part.by.covers()).map(|part| &part.argv).collect();
    assert_eq!(named.len(), 1);
    assert_eq!(named.first().and_then(|argv| argv.first()).map(|word| word.text.as_str()), Some("node"));
}

#[test]
fn a003_line_ends_between_dollar_and_parenthesis() {
    misses(
        &["*", "echo"],
        &[
            "echo \"ok $\\\n(touch MARK)\"",
            "echo \"ok $\\\r\n(touch MARK)\"",
            "echo ok $\\\n(touch MARK)",
            "ec\\\nho x",
            "echo \\\n x",
        ],
    );
    passes(&["echo"], &["echo '$\\\n(x)'", "echo \"ok $\" x"]);
}

#[test]
fn a005_expansions_in_documents() {
    misses(
        &["*", "cat"],
        &[
            "cat <<E\n${X:=$(touch MARK)}\nE",
            "cat <<E\n$HOME/.ssh\nE",
            "cat <<E\n$((1+1))\nE",
            "cat <<E\n`x`\nE",
            "cat <<E\n$? $$ $1 $@\nE",
            "cat <<E\nplain\nE",
        ],
    );
    passes(&["cat"], &["cat <<'E'\n${X:=$(touch MARK)} `x` $?\nE"]);
}

#[test]
fn a006_operators_behind_a_delimiter() {
    misses(&["cat"], &["cat <<EOF && touch MARK\nhi\nEOF", "cat <<'EOF' && touch MARK\nhi\nEOF"]);
    misses(&["cat", "sh"], &["cat <<'EOF' | sh\ntouch MARK\nEOF", "sh <<'EOF'\ntouch MARK\nEOF"]);
    passes(&["cat", "touch"], &["cat <<'EOF' && touch MARK\nhi && rm x\nEOF"]);
}

#[test]
fn a007_assignments_and_targets_belong_to_the_command() {
    misses(
        &["*", "cat"],
        &[
            "PATH=./e:$PATH cat <<EOF > out/of/bounds\nx\nEOF",
            "PATH=./e cat x",
            "LD_PRELOAD+=./e.so cat x",
            "A[0]=x cat x",
            "PATH=./e; cat x",
            "PATH=./e\ncat x",
            "cat x > out/of/bounds",
            "cat x >> MARK",
            "cat < secret",
        ],
    );
    passes(&["cat"], &["cat PATH=./e", "cat x 2>&1", "cat x >/dev/null"]);
}

/// A010 and A011 are about `cmd`, which is never started by name from here: its text is that of an unknown shell.
#[test]
fn a010_a011_the_other_systems_shell() {
    misses(&["dir", "echo", "cmd"], &["dir & whoami", "cmd /c dir", "cmd.exe /c 'dir & whoami'"]);
    passes(&["dir"], &["dir '&' whoami", "dir ^x %COMSPEC%"]);
}

#[test]
fn a013_a014_programs_behind_a_text() {
    let allowed = &["sh", "bash", "/usr/bin/sh", "/usr/bin/bash"];
    misses(
        allowed,
        &[
            "sh -c '$0 \"$1\"' touch MARK",
            "sh -c 'exec\n\"$@\"' _ touch MARK",
            "bash -c '\"$1\" -c \"$2\"' _ python3 'print(1)'",
            "sh -c '\"$@\"' _ eval 'touch MARK'",
        ],
    );
    misses(
        &["sh", "/usr/bin/sh", "touch", "env", "xargs", "eval", "/usr/bin/eval", "true"],
        &[
            "sh -c '$0 \"$1\"' eval 'touch MARK'",
            "sh -c '\"$0\" \"$@\"' env A=1 touch",
            "sh -c '\"$0\" \"$@\"' env touch",
            "sh -c '\"$0\" \"$@\"' xargs touch",
            "sh -c '\"$0\" \"$@\"' sh -c 'touch MARK'",
            "sh -c '\"$0\"; touch MARK' touch",
            "sh -c '\"$0\" $(touch MARK)' touch",
            "sh -c '$0' 'touch MARK'",
            "sh -c '\"$0\" $1' touch '*'",
            "sh -c '\"$0\" \"$9\"' touch x",
        ],
    );
    passes(&["/usr/bin/touch"], &["sh -c '$0 \"$1\"' touch MARK", "sh -c '\"$0\" \"$@\"' touch a 'b c'"]);
    // Code on the command line is seen behind it.
    for text in ["bash -c '\"$1\" -c \"$2\"' _ python3 'print(1)'", "sh -c '\"$0\" \"$@\"' python3 -c x"] {
        assert!(judged(&["*"], &[], text).inline.is_some(), "{text}");
    }
}

#[test]
fn a015_clustered_options_of_shells() {
    let allowed = &["sh", "bash", "zsh", "touch", "/usr/bin/*"];
    misses(
        allowed,
        &[
            "bash -xec 'touch MARK'",
            "zsh -flc 'touch MARK'",
            "bash -o pipefail -c 'touch MARK'",
            "bash +o posix -c 'touch MARK'",
            "bash -O extglob -c 'touch MARK'",
            "bash --rcfile x -c 'touch MARK'",
            "bash -lc 'touch MARK'",
            "bash --unknown 'touch MARK'",
        ],
    );
    misses(&["sh", "bash"], &["sh -ce 'touch MARK'", "bash --norc -c 'touch MARK'", "bash -c 'touch MARK'"]);
    passes(&["touch"], &["sh -ce 'touch MARK'", "bash --norc -c 'touch MARK'", "sh -c 'touch MARK'"]);
}

#[test]
fn a017_no_name_is_exempt() {
    misses(
        &["echo"],
        &["echo \"\\\"; touch MARK; echo \\\"\"; touch MARK", "echo \"\"; touch MARK; echo \"\""],
    );
    passes(&["echo"], &["echo \"\\\"; touch MARK; echo \\\"\""]);
}

#[test]
fn a018_words_with_expansions_are_unknown() {
    misses(&["*", "rg"], &["rg$IFS--pre=./x$IFS.", "rg $IFS", "r${x}g x", "xargs -I{} sh -c {}"]);
    passes(&["rg"], &["rg '$IFS--pre'"]);
}

/// A019, A021: programs with a language of their own are code on the command line, which a person sees with `strictInlineEval`.
#[test]
fn a019_a021_a_language_in_an_argument() {
    for text in [
        "sed -n 's/a/b/w MARK' f",
        "sed '1e touch MARK' f",
        "sed -e 1e f",
        "awk 'BEGIN{system(\"touch MARK\")}'",
        "gawk --source 'x'",
        "timeout 5 awk 'x'",
    ] {
        assert!(judged(&["*"], &[], text).facts(false).inline_eval, "{text}");
        misses(&["wc"], &[text]);
    }
    assert!(!judged(&["*"], &[], "grep awk f").facts(false).inline_eval);
}

#[test]
fn a022_options_that_start_a_program() {
    misses(
        &["*", "rg", "fd", "tar"],
        &[
            "rg --pre ./x .",
            "rg --pre=./x .",
            "rg --hostname-bin ./x .",
            "fd . -x touch",
            "fd -Hx touch",
            "tar -cf x.tar --checkpoint=1 --checkpoint-action=exec=x .",
            "tar cIf ./x y",
            "tar --to-c=x -xf y",
        ],
    );
    passes(
        &["rg", "fd", "tar"],
        &["rg --pre-glob x .", "rg -n pre", "fd -H x", "tar -xzf x.tar", "tar xf x"],
    );
}

#[test]
fn a023_what_begins_like_an_entry_is_none() {
    misses(&["ls"], &["ls $(touch MARK)", "lsof", "ls-x", "ls;touch MARK", "./ls"]);
    passes(&["ls"], &["ls", "ls '$(touch MARK)'"]);
}

#[test]
fn a025_entries_that_deny_see_the_program() {
    let visible = visible("w'h'oami; /bin/./whoami | timeout 5 \\whoami && sh -c 'whoami'");
    let named =
        visible.commands.iter().filter(|words| words.first().is_some_and(|word| word.ends_with("whoami")));
    assert_eq!(named.count(), 4, "{visible:?}");
    stops(&["/usr/bin/whoami"], &["/usr/bin/./whoami", "/usr/bin//whoami", "w'h'oami", "nice whoami"]);
    assert!(judged(&["*"], &["/usr/bin/whoami"], "echo whoami").denied.is_none());
}

#[test]
fn a026_entries_that_deny_are_looked_at_behind_any_number() {
    for count in [50, 5_000] {
        let text = format!("{}curl http://127.0.0.1:9/", "true;".repeat(count));
        let seen = visible(&text);
        assert!(
            seen.exceeded
                || seen.commands.iter().any(|words| words.first().is_some_and(|word| word == "curl"))
        );
        stops(&["curl"], &[&text]);
    }
    let long = format!("{}true", "true;".repeat(100_000));
    assert!(visible(&long).exceeded);
    stops(&["curl"], &[&long]);
    assert!(!visible("true; true").exceeded);
    assert!(judged(&["*"], &["curl"], &"true;".repeat(50)).denied.is_none());
}

#[test]
fn a027_blanks_of_other_languages_and_writes() {
    misses(
        &["*", "git", "echo"],
        &[
            "git commit -m x > MARK",
            "echo a\r&& touch MARK",
            "git\u{b}status",
            "git\u{c}status",
            "git\rstatus",
            "git\u{a0}status",
            "echo\u{200b}x",
        ],
    );
    passes(&["git"], &["git commit -m '> MARK'", "git\tstatus"]);
}
