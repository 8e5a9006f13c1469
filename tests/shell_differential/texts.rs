//! Texts: made of words, and those of the recorded verdicts, cut and joined.

use proptest::prelude::*;

const WORDS: &[&str] = &[
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
    "</dev/null",
    "[",
    "]",
    "=",
    "\\'",
    "\"\\\"\"",
    "~",
    "*",
    "'\n'",
    "\"`\"",
    "\\`",
    "$",
    "\"$\"",
    "&",
    "\\&",
    "'&'",
    "a'b'\"c\"d",
    "{a,b}",
    "'{a,b}'",
    "a{",
    "^",
    "%",
    "@",
    ",",
    "日本",
    "-c",
    "-n",
    "2>/dev/null",
    "1>&2",
    ">&2",
    "<&-",
    "in",
    "do",
    "if",
    "}",
    "time",
    "\\\\",
    "'a\\\\b'",
    "$'a'",
    "\"a\\nb\"",
];
const HEADS: &[&str] = &[
    "a",
    "b",
    "f",
    "g",
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
    "time -p b",
    "! b",
    "! f",
    "cd .",
    "true",
    "false",
    "test x",
    "[ x ]",
    "exec c",
    "exec g",
    "nice timeout 5 b",
    "a <<'E'",
    "\"a\"",
    "a''",
    "sh -c 'f || a'",
    "bash -c 'g && b; c \"x y\"'",
    "dash -c 'a | b'",
    "sh -c 'exec a; b'",
    "sh -c '\"$0\" \"$@\"' a",
    "sh -c 'exec \"$0\" \"$@\"' g",
    "command exec c",
    "cd ./. &&",
    "exec nice a",
    ":",
    "pwd |",
    "echo",
    "printf '%s'",
    "sh -c 'cd . && a'",
    "if",
    "a\\\n",
    "A=1 a",
    "export A=1;",
];
const JOINS: &[&str] = &[
    ";", " && ", " || ", "|", "\n", " | ", ";\n", " |& ", "&&", "\n\n", " ; ", "||", " & ", " |\n", " &&\n",
    ";;",
];
const JUNK: &[&str] = &[
    "", "", "", "", "'", "\"", "\\", "\\\n", "$", "(", ")", "&", ";", "|", "\t", "#", "`", "=", "x=", "!",
    "{", "\n", "$'", "$(c)", "${x}", "<<E\n", "<(c)", "~", "}", "[", " # ", "\r", "\u{b}", "\u{a0}", ">",
    "<<<", "\\\\\n", "$((1))", "@(", "&>",
];

/// A text of a few commands, with something odd in one place or nowhere.
pub(crate) fn made() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS);
    let head = prop::sample::select(HEADS);
    let command = (head, prop::collection::vec(word, 0..4)).prop_map(|(head, words)| {
        let document = if head.contains("<<") { "\n$(b) `c`\nE\n" } else { "" };
        format!("{head} {}{document}", words.join(" "))
    });
    let commands = prop::collection::vec((command, prop::sample::select(JOINS)), 1..4);
    (commands, prop::sample::select(JUNK), any::<prop::sample::Index>()).prop_map(|(commands, junk, at)| {
        let mut text = String::new();
        let last = commands.len() - 1;
        for (place, (command, join)) in commands.into_iter().enumerate() {
            text.push_str(&command);
            if place < last || join == "\n" || join == ";" {
                text.push_str(join);
            }
        }
        insert(text, junk, at)
    })
}

/// A recorded text, or a piece of two of them.
pub(crate) fn recorded(texts: Vec<String>) -> impl Strategy<Value = String> {
    let one = prop::sample::select(texts);
    let two = (one.clone(), prop::sample::select(JOINS), one.clone(), 0u8..3);
    (two, prop::sample::select(JUNK), any::<prop::sample::Index>()).prop_map(
        |((a, join, b, how), junk, at)| match how {
            0 => a,
            1 => insert(a, junk, at),
            _ => format!("{a}{join}{b}"),
        },
    )
}

fn insert(mut text: String, junk: &str, at: prop::sample::Index) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if !places.is_empty() {
        text.insert_str(places[at.index(places.len())], junk);
    }
    text
}
