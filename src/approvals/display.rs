//! A command as it is shown to whoever decides about it (spec `approvals.md` 9.11, §14): on one line, complete, with every
//! character visible. Pure.

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

/// Shows a command. `redact`: the surface is not the operator's own terminal.
pub fn show(command: &str, redact: bool) -> Result<Shown, TooLong> {
    let _ = (command, redact);
    todo!()
}

/// Executable words of a text, in UTF-16 units (14.02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandSpan {
    /// First unit.
    pub start_index: usize,
    /// Behind the last.
    pub end_index: usize,
}
