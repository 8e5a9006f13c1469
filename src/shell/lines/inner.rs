//! What a command line starts in turn.

use super::UNKNOWN;
use crate::shell::inline_eval::{carrier, positional, program};

/// One thing that is started.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Words.
    Line(Vec<String>),
    /// Words of which it is not known whether they are a command.
    Guess(Vec<String>),
    /// Shell text, with its positional parameters from `$0` on.
    Text(String, Vec<String>),
}

/// Shells whose grammar is near enough to look into.
fn is_shell(name: &str) -> bool {
    name == "fish" || positional::SHELLS.contains(&program::unversioned(name))
}

/// Programs that print their arguments.
pub(super) fn prints(name: &str) -> bool {
    matches!(name, "echo" | "printf")
}

/// Programs that run a package's program: which of their words is its name depends on too much, so each may be.
const RUNNERS: &[&str] = &[
    "npm",
    "npx",
    "pnpm",
    "pnpx",
    "yarn",
    "yarnpkg",
    "bun",
    "bunx",
    "deno",
    "corepack",
    "xargs",
    "parallel",
    "entr",
    "find",
    "fd",
    "script",
    "su",
    "flock",
    "ssh-agent",
    "dotenv",
    "direnv",
    "mise",
    "asdf",
    "volta",
    "fnm",
];
/// Programs that give the text behind `-c` or `--command` to a shell.
const TEXTS: &[&str] = &["su", "runuser", "script", "flock", "sg", "watch"];

/// All that a command line starts.
pub(super) fn of(name: &str, argv: &[String], inputs: &[String]) -> Vec<Inner> {
    let arguments: Vec<&str> = argv.iter().skip(1).map(String::as_str).collect();
    let name = name.strip_suffix(".cmd").unwrap_or(name);
    let line = |words: &[&str]| Inner::Line(words.iter().map(|word| (*word).to_owned()).collect());
    let mut found = Vec::new();
    if is_shell(name) {
        found.extend(shell(argv, &arguments, inputs));
    }
    match carrier::inner(name, &arguments) {
        Some(carrier::Inner::Tails(starts)) => {
            found.extend(starts.iter().filter_map(|at| arguments.get(*at..)).map(line));
        }
        Some(carrier::Inner::Split(words)) => found.push(Inner::Line(words)),
        None => {}
    }
    if RUNNERS.contains(&name) {
        let begins = |at: &usize| arguments.get(*at).is_some_and(|word| !word.starts_with('-'));
        let starts = (0..arguments.len()).filter(begins).take(64);
        found.extend(starts.filter_map(|at| Some(ran(name, &arguments, at, arguments.get(at..)?))));
    }
    let text = |text: &str| Inner::Text(text.to_owned(), Vec::new());
    if TEXTS.contains(&name) {
        found.extend(command_flag(&arguments).map(text));
    }
    match name {
        "eval" | "watch" => found.push(text(&arguments.join(" "))),
        "trap" => found.extend(arguments.first().copied().map(text)),
        "alias" => found
            .extend(arguments.iter().filter_map(|word| word.split_once('=')).map(|(_, value)| text(value))),
        _ => {}
    }
    found
}

/// Options of `xargs` whose value is the next word.
const XARGS_VALUES: &[&str] = &["-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a"];
/// Words behind which a program stands.
const BEFORE: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec"];
/// The same of programs that run packages.
const OF_PACKAGES: &[&str] = &["exec", "x", "dlx", "--"];

/// What a runner starts whose words from a place on these are. What it puts in for `{}`, and what `xargs` reads, is not known.
fn ran(name: &str, arguments: &[&str], at: usize, words: &[&str]) -> Inner {
    let before = at.checked_sub(1).and_then(|before| arguments.get(before)).copied();
    let first = || {
        let value = |at: usize| {
            at.checked_sub(1).and_then(|at| arguments.get(at)).is_some_and(|word| XARGS_VALUES.contains(word))
        };
        (0..arguments.len()).find(|at| {
            arguments.get(*at).is_some_and(|word| !word.starts_with('-')) && !(name == "xargs" && value(*at))
        })
    };
    let words_before = if matches!(name, "find" | "fd") { BEFORE } else { OF_PACKAGES };
    let behind = before.is_some_and(|before| words_before.contains(&before));
    let certain = behind
        || !matches!(name, "find" | "fd" | "npm" | "pnpm" | "yarn" | "yarnpkg" | "bun" | "deno")
            && first() == Some(at);
    let unknown = UNKNOWN.to_string();
    let mut made: Vec<String> = words.iter().map(|word| word.replace("{}", &unknown)).collect();
    if matches!(name, "xargs" | "parallel") {
        made.push(unknown);
    }
    if certain { Inner::Line(made) } else { Inner::Guess(made) }
}

/// Whether a command runs a text that comes from where nobody can look: a pipe from a program that is not known to print just
/// that, another command's output in place of a file.
pub(super) fn hidden(name: &str, argv: &[String], piped: bool) -> bool {
    let arguments: Vec<&str> = argv.iter().skip(1).map(String::as_str).collect();
    let unknown = UNKNOWN.to_string();
    let made = |file: &&str| {
        **file == *unknown || ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| file.starts_with(start))
    };
    let operand = arguments.iter().find(|word| !word.starts_with('-'));
    if matches!(name, "." | "source") {
        return operand.is_some_and(|file| made(file) || *file == "/dev/stdin" && piped);
    }
    if !is_shell(name) || positional::payload(&arguments).is_some() || command_flag(&arguments).is_some() {
        return false;
    }
    operand.is_some_and(made) || piped && reads(&arguments)
}

/// The value of `-c`, `--command`.
fn command_flag<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(at, argument)| {
        if let Some(value) = argument.strip_prefix("--command=") {
            return Some(value);
        }
        let cluster = argument.starts_with('-') && !argument.starts_with("--") && argument.ends_with('c');
        (cluster || *argument == "--command").then(|| arguments.get(at + 1).copied()).flatten()
    })
}

/// The text of a shell: behind `-c`, else what it reads.
fn shell(argv: &[String], arguments: &[&str], inputs: &[String]) -> Vec<Inner> {
    if let Some((text, rest)) = positional::payload(arguments) {
        let positional = match rest {
            [] => argv.iter().take(1).cloned().collect(),
            rest => rest.iter().map(|word| (*word).to_owned()).collect(),
        };
        return vec![Inner::Text(text.to_owned(), positional)];
    }
    if let Some(text) = command_flag(arguments) {
        return vec![Inner::Text(text.to_owned(), Vec::new())];
    }
    if reads(arguments) {
        inputs.iter().map(|input| Inner::Text(input.clone(), Vec::new())).collect()
    } else {
        Vec::new()
    }
}

/// Whether a shell reads its text from standard input.
fn reads(arguments: &[&str]) -> bool {
    arguments.iter().all(|argument| argument.starts_with('-'))
        || arguments.first().is_some_and(|first| first.starts_with('-') && first.contains('s'))
        || arguments.contains(&"/dev/stdin")
}
