//! What "always" would write down (spec `approvals.md` §7.1). Pure.

use super::assess::Assessed;
use super::document::Entry;

/// What of a command could be remembered.
#[derive(Debug, Clone, PartialEq)]
pub enum Remembered {
    /// These entries, without ids.
    Entries(Vec<Entry>),
    /// Nothing, and why.
    OneShot(Vec<OneShot>),
}

/// Why nothing can be remembered (7.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OneShot {
    /// It could not be analysed.
    Unplanned,
    /// Something in it is never covered by an entry.
    PromptOnly,
    /// What it runs is made while it runs.
    RuntimePayload,
    /// No program in it has a path of its own to be remembered by.
    NoReusablePattern,
}

/// What "always" would write for a command.
pub fn remember(assessed: &Assessed) -> Remembered {
    let _ = assessed;
    todo!()
}
