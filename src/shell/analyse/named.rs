//! What a command is by the name of the file that a link leads to. A link may have any name, and the program behind it does what
//! it does: `x -c text` is a shell's text where `x` leads to a shell.

use super::{Argument, Unclear, wrapper};
use crate::shell::inline_eval::{self, carrier, program};

/// What the name of a file makes of a command that its typed name does not. `file`: the name of the file that the command word
/// leads to. Nothing where both names say the same: `sh` for `dash` is a shell under either.
pub fn hidden(file: &str, words: &[Argument]) -> Option<Unclear> {
    let typed = program::name(&words.first()?.text);
    let found = class(&program::name(file), words)?;
    (class(&typed, words) != Some(found)).then_some(found)
}

/// Whether a file is another program than the wrapper or shell that it is called as, so that what was looked through is not what
/// runs. A file whose name means nothing here is taken for what it is called.
pub fn poses(called: &str, file: &str) -> bool {
    let (called, file) = (program::name(called), program::name(file));
    if called == file {
        return false;
    }
    if wrapper::is_shell(&called) {
        return !wrapper::is_shell(&file);
    }
    wrapper::is_shell(&file)
        || wrapper::is_known(&file)
        || carrier::is_one(&file)
        || program::interpreter_like(&file)
}

/// Code in the arguments of a program, by the name of its file where its typed name does not say so.
pub fn hidden_code(file: &str, words: &[&str]) -> Option<String> {
    let (typed, arguments) = words.split_first()?;
    let file = program::name(file);
    if file == program::name(typed) {
        return None;
    }
    let words: Vec<&str> = std::iter::once(file.as_str()).chain(arguments.iter().copied()).collect();
    inline_eval::detect(&words).map(|hit| hit.descriptor)
}

fn class(name: &str, words: &[Argument]) -> Option<Unclear> {
    if wrapper::is_shell(name) {
        return Some(Unclear::Shell);
    }
    match wrapper::inner(name, name, words) {
        wrapper::Inner::None => wrapper::starts_others(name, words).then_some(Unclear::Carrier),
        _ => Some(Unclear::Wrapper),
    }
}
