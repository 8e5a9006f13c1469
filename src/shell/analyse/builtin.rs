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

/// Whether names of files, or the name of a variable, come from elsewhere.
fn made(arguments: &[Argument]) -> bool {
    let names = arguments.iter().any(|word| word.text == "-v" || word.text == "-R");
    arguments.iter().any(|word| word.expands && (names || word.text.contains(['*', '?'])))
}

/// `printf -v NAME`.
fn sets(arguments: &[Argument]) -> bool {
    arguments.first().is_some_and(|word| word.text.starts_with("-v"))
}
