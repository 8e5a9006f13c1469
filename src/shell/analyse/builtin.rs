//! Words that the shell itself obeys, those of `bash` and of `dash`. A shell looks them up in their very case; in another one
//! they are programs like any other.

use super::{Argument, Runs, Unclear};

/// They run a text or a program of their arguments.
const EVALUATES: &[&str] = &[
    "eval", "source", ".", "alias", "unalias", "trap", "fc", "bind", "complete", "compgen", "compopt",
    "jobs", "history",
];
/// They change what later commands are or get.
const CHANGES: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "unset",
    "set",
    "shopt",
    "hash",
    "enable",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "umask",
    "ulimit",
    "cd",
    "chdir",
    "pushd",
    "popd",
];

/// What a builtin does; nothing for a command that is none, and for those that are like programs.
pub(super) fn of(argv: &[Argument]) -> Option<Runs> {
    let (name, arguments) = argv.split_first()?;
    let evaluates = Some(Runs::Unclear(Unclear::Evaluates));
    match name.text.as_str() {
        // One operand, and no variable to go by.
        "cd" if arguments.len() <= 1 => Some(Runs::Builtin),
        // It ends what runs, and with it what follows.
        "exit" if arguments.len() <= 1 && arguments.iter().all(number) => Some(Runs::Builtin),
        // It asks what a word is and starts nothing. Of an option some shells make a name.
        "type" if !arguments.is_empty() && arguments.iter().all(name_of) => Some(Runs::Builtin),
        "set" if stops(arguments) => Some(Runs::Builtin),
        // The index of a variable is evaluated, and with it what stands in there.
        // What stands in a directory may be such a name.
        "test" | "[" if made(arguments) => evaluates,
        "test" | "[" | "printf" | "wait" if arguments.iter().any(|word| word.text.contains('[')) => {
            // A pattern of a format is no index.
            let index = |word: &Argument| word.text.contains('[') && word.text.contains(['$', '`']);
            let harmless = name.text == "printf" && !sets(arguments) && !arguments.iter().any(index);
            if harmless { None } else { evaluates }
        }
        ":" | "true" | "false" | "pwd" | "test" | "[" => Some(Runs::Builtin),
        "printf" if sets(arguments) => Some(Runs::Unclear(Unclear::Environment)),
        "wait" if arguments.iter().any(|word| word.text.starts_with('-')) => {
            Some(Runs::Unclear(Unclear::Environment))
        }
        name if EVALUATES.contains(&name) => evaluates,
        name if CHANGES.contains(&name) => Some(Runs::Unclear(Unclear::Environment)),
        _ => None,
    }
}

fn number(word: &Argument) -> bool {
    !word.text.is_empty() && word.text.len() <= 3 && word.text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name that is asked about.
pub(super) fn name_of(word: &Argument) -> bool {
    !word.expands && !word.text.is_empty() && !word.text.starts_with('-')
}

/// Whether `set` does no more than to make the shell stop at failures: later words mean what they did.
fn stops(arguments: &[Argument]) -> bool {
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    let mut any = false;
    while let Some(word) = rest.next() {
        let letters = word.strip_prefix('-').unwrap_or_default();
        let (plain, named) = letters.strip_suffix('o').map_or((letters, false), |plain| (plain, true));
        let known = !letters.is_empty() && plain.bytes().all(|letter| matches!(letter, b'e' | b'u'));
        if !known || named && !matches!(rest.next(), Some("pipefail" | "errexit" | "nounset")) {
            return false;
        }
        any = true;
    }
    any
}

/// Whether names of files, or the name of a variable, come from elsewhere.
fn made(arguments: &[Argument]) -> bool {
    let names = arguments.iter().any(|word| word.text == "-v" || word.text == "-R");
    arguments.iter().any(|word| word.expands && (names || word.text.contains(['*', '?'])))
}

/// `printf -v NAME`.
fn sets(arguments: &[Argument]) -> bool {
    arguments.first().is_some_and(|word| word.text.starts_with("-v"))
}
