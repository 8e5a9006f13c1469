//! The files that a command is given to run (spec `approvals.md` §11.3).

use std::path::{Path, PathBuf};

use super::error::{BindError, Form};
use super::runtimes::{MULTIPLEXERS, Needs, is_runtime, needs};
use crate::approvals::programs::{Lookup, Program};
use crate::shell::analyse::Argument;
use crate::shell::inline_eval::program;

/// Endings of files that some program runs.
const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "rb", "pl", "php",
    "lua", "jar", "groovy", "r", "jl", "exs", "scpt", "tcl", "ps1", "awk", "sed", "jq",
];
/// Programs that take a script for a text and do not run it.
const READERS: &[&str] = &[
    "cat",
    "bat",
    "head",
    "tail",
    "less",
    "more",
    "wc",
    "sort",
    "uniq",
    "cut",
    "tr",
    "nl",
    "tac",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "diff",
    "cmp",
    "comm",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "stat",
    "file",
    "ls",
    "cp",
    "mv",
    "rm",
    "ln",
    "touch",
    "chmod",
    "chown",
    "mkdir",
    "du",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "tee",
    "tar",
    "gzip",
    "gunzip",
    "zip",
    "base64",
    "xxd",
    "od",
    "hexdump",
    "strings",
    "dos2unix",
    "echo",
    "printf",
    "test",
    "[",
    "code",
    "vim",
    "vi",
    "nano",
    "shellcheck",
    "shfmt",
    "black",
    "ruff",
    "gofmt",
    "rustfmt",
    "clang-format",
];

/// A file that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// Its path as the runtime opens it.
    pub(super) path: PathBuf,
    /// The file itself.
    pub(super) real: PathBuf,
}

/// What a command runs beside its program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Operands {
    /// Files.
    pub(super) scripts: Vec<Script>,
    /// It may run something else too, or it is not known to run them: no approval for good.
    pub(super) open: bool,
    /// Its code comes from standard input.
    pub(super) input: bool,
}

/// The files that `words` (the program's own first) are given to run in `dir`.
///
/// # Errors
///
/// An interpreter or runtime that is not given exactly one file that is there.
pub(super) fn find(
    words: &[Argument],
    program: Option<&Program>,
    dir: Option<&Path>,
    lookup: &dyn Lookup,
) -> Result<Operands, BindError> {
    let Some((first, arguments)) = words.split_first() else { return Ok(Operands::default()) };
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    let name = runtime_name(&first.text, program);
    let form = |form| BindError::Form { form, command: command(words) };
    match needs(&name, &texts).map_err(form)? {
        Needs::Nothing => Ok(Operands::default()),
        Needs::Input => Ok(Operands { input: true, ..Operands::default() }),
        Needs::NoRuntime => Ok(unknown_runner(&name, arguments, dir, lookup)),
        Needs::File(at) => {
            let Some(operand) = arguments.get(at) else { return Err(form(Form::Runtime)) };
            // What the shell makes of a pattern is not one file.
            if operand.expands {
                return Err(form(Form::Runtime));
            }
            let script = script(&operand.text, dir, lookup, || command(words))?;
            let rest = arguments.get(at + 1..).unwrap_or_default();
            let more: Vec<Script> = rest.iter().filter_map(|one| script_like(one, dir, lookup)).collect();
            let open = !more.is_empty();
            Ok(Operands { scripts: std::iter::once(script).chain(more).collect(), open, input: false })
        }
    }
}

/// `source FILE`, `. FILE`: one literal path.
pub(super) fn sourced(
    words: &[Argument],
    dir: Option<&Path>,
    lookup: &dyn Lookup,
) -> Result<Script, BindError> {
    let form = || BindError::Form { form: Form::Source, command: command(words) };
    // A name without a slash is looked for in PATH first.
    let path = |operand: &&Argument| operand.text.contains('/') && !operand.expands;
    let operand = words.get(1).filter(path).ok_or_else(form)?;
    let (path, real) = locate(&operand.text, dir, lookup).ok_or_else(form)?;
    Ok(Script { path, real })
}

/// A program of its own name, or of the name of the file behind it: a link may call an interpreter anything.
fn runtime_name(word: &str, program: Option<&Program>) -> String {
    let called = program::name(word);
    let real = program.and_then(|program| program.real.to_str()).map(program::name).unwrap_or_default();
    // A multi-call binary is what it is called.
    let multiple = MULTIPLEXERS.contains(&real.as_str());
    if is_runtime(&called) || multiple || !is_runtime(&real) { called } else { real }
}

/// A program that nobody knows, with a script in front: perhaps it runs it (A162).
fn unknown_runner(name: &str, arguments: &[Argument], dir: Option<&Path>, lookup: &dyn Lookup) -> Operands {
    if READERS.contains(&name) {
        return Operands::default();
    }
    let first = arguments.iter().find(|argument| !argument.text.starts_with('-'));
    let script = first.and_then(|first| script_like(first, dir, lookup));
    Operands { open: script.is_some(), scripts: script.into_iter().collect(), input: false }
}

/// An operand that names a script which is there.
fn script_like(operand: &Argument, dir: Option<&Path>, lookup: &dyn Lookup) -> Option<Script> {
    let ending = Path::new(&operand.text).extension()?.to_str()?.to_ascii_lowercase();
    if operand.expands || !SCRIPTS.contains(&ending.as_str()) {
        return None;
    }
    locate(&operand.text, dir, lookup).map(|(path, real)| Script { path, real })
}

fn script(
    operand: &str,
    dir: Option<&Path>,
    lookup: &dyn Lookup,
    command: impl FnOnce() -> String,
) -> Result<Script, BindError> {
    if dir.is_none() && !operand.starts_with('/') {
        return Err(BindError::Form { form: Form::AfterCd, command: command() });
    }
    let missing = || BindError::NoScript { operand: operand.to_owned() };
    let (path, real) = locate(operand, dir, lookup).ok_or_else(missing)?;
    Ok(Script { path, real })
}

fn locate(operand: &str, dir: Option<&Path>, lookup: &dyn Lookup) -> Option<(PathBuf, PathBuf)> {
    let real = lookup.file(operand, dir)?;
    let path = Path::new(operand);
    let path = if path.is_absolute() { path.to_owned() } else { dir?.join(path) };
    Some((path, real))
}

/// A command as it is told in a message.
pub(super) fn command(words: &[Argument]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
