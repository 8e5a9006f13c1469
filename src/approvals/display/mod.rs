//! A command as it is shown to whoever decides about it (spec `approvals.md` 9.11, 9.13, §14): on one line, complete, with
//! every character visible. Pure.
//!
//! | file | concern |
//! |---|---|
//! | `escape` | characters that are not seen, or seen as something else |
//! | `kinds` | what programs do with their words |
//! | `secrets` | credentials in a text, and what may never be hidden |
//! | `summary` | what of a command is worth a second look |

mod escape;
mod kinds;
mod secrets;
mod summary;

use std::ops::Range;

pub use escape::{escape_for_markdown, visible};
pub use summary::{CommandAnalysis, summary};
pub(crate) use summary::{obstacle, unclear_kind};

use crate::shell::words;

/// Most characters of a command that is shown at all (9.11).
pub const MAX_IN: usize = 262_144;
/// Most characters of a command as shown (9.11).
pub const MAX_OUT: usize = 16_384;
/// How what is hidden begins.
const HIDDEN: &str = "[redacted sha256:";

/// A command that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The text: invisible, bidirectional and control characters as `\u{HEX}`, secrets redacted.
    pub text: String,
    /// It is the text as it is: spans of the command hold in it too.
    pub verbatim: bool,
    /// Something was redacted.
    pub redacted: bool,
}

/// Too long to be shown whole, so that nobody may approve it (`EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the command is too long to be shown whole, and nobody may approve what is not shown")]
pub struct TooLong;

/// The reason of [`TooLong`] for programs (9.11).
pub const TOO_LONG: &str = "EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT";

/// Shows a command. `redact`: the surface is not the operator's own terminal.
///
/// What is redacted is told by the first digits of its SHA-256, so that it can be compared with what a local surface shows
/// (advisory A171). Different commands are shown differently: text that looks like an escape or like something redacted is
/// escaped itself.
pub fn show(command: &str, redact: bool) -> Result<Shown, TooLong> {
    if command.chars().nth(MAX_IN).is_some() {
        return Err(TooLong);
    }
    let hidden = if redact { secrets::find(command) } else { Vec::new() };
    let text = assemble(command, &hidden);
    if text.chars().nth(MAX_OUT).is_some() {
        return Err(TooLong);
    }
    let verbatim = text == command;
    Ok(Shown { text, verbatim, redacted: !hidden.is_empty() })
}

/// A command for logs and lists: secrets redacted; where it is too long to be shown, that is said instead.
pub fn noted(command: &str) -> String {
    show(command, true).map_or_else(|_| "(too long to be shown)".to_owned(), |shown| shown.text)
}

/// Prose on one line, what looks like a secret hidden: for text in which nothing runs, such as a conversation.
pub fn prose(text: &str) -> String {
    assemble(text, &secrets::find_in_prose(text))
}

/// Words of one command, each on one line; of them is hidden what of the command is. `redact` as in [`show`].
pub fn show_words(argv: &[String], redact: bool) -> Result<Vec<String>, TooLong> {
    let mut total = 0_usize;
    let mut shown = Vec::with_capacity(argv.len());
    for (word, hidden) in argv.iter().zip(secrets::find_in_words(argv, redact)) {
        let text = assemble(word, &hidden);
        total = total.saturating_add(text.chars().count());
        shown.push(text);
    }
    let given = argv.iter().map(|word| word.chars().count()).sum::<usize>();
    if total > MAX_OUT || given > MAX_IN { Err(TooLong) } else { Ok(shown) }
}

fn assemble(command: &str, hidden: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(command.len());
    let mut at = 0;
    for range in hidden {
        escape::into(&mut out, command.get(at..range.start).unwrap_or_default(), HIDDEN);
        let secret = command.get(range.clone()).unwrap_or_default();
        out.extend([HIDDEN, secrets::digest(secret).as_str(), "]"]);
        at = range.end;
    }
    escape::into(&mut out, command.get(at..).unwrap_or_default(), HIDDEN);
    out
}

/// Executable words of a text, in UTF-16 units (14.02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandSpan {
    /// First unit.
    pub start_index: usize,
    /// Behind the last.
    pub end_index: usize,
}

/// Executable words of a command as shown: of all its commands, in order, without overlap (14.02). `None` where it is not
/// shown as it is (14.03), or is not understood. For `commandHighlighting`; decides nothing.
pub fn spans(shown: &Shown) -> Option<Vec<CommandSpan>> {
    if !shown.verbatim {
        return None;
    }
    let text = shown.text.as_str();
    let (mut byte, mut unit) = (0, 0);
    let mut units = |to: usize| {
        unit += text.get(byte..to)?.encode_utf16().count();
        byte = to;
        Some(unit)
    };
    let one = |span: crate::shell::parse::Span| {
        Some(CommandSpan { start_index: units(span.start)?, end_index: units(span.end)? })
    };
    words::programs(text)?.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests;
