//! Texts of a question as surfaces show them. Pure.

use super::{DeskError, Question};
use crate::approvals::display::{self, CommandSpan, show, visible};
use crate::approvals::document::Entry;

/// A command, complete, or a refusal. `redact`: the surface is not the operator's own terminal.
pub(super) fn command(text: &str, redact: bool) -> Result<String, DeskError> {
    if text.trim().is_empty() {
        return Err(DeskError::Empty);
    }
    show(text, redact).map(|shown| shown.text).map_err(|_| DeskError::Display)
}

/// Where the programs of a command stand in it as [`command`] shows it, where that is wanted and can be said.
pub(super) fn spans(question: &Question, redact: bool) -> Option<Vec<CommandSpan>> {
    let shown = question.highlight.then(|| show(&question.command, redact).ok())??;
    display::spans(&shown)
}

/// The words of a command. Together they are no longer than the command may be.
pub(super) fn words(argv: &[String], redact: bool) -> Result<Vec<String>, DeskError> {
    display::show_words(argv, redact).map_err(|_| DeskError::Display)
}

/// What "always" would write, a line for each.
pub(super) fn always(question: &Question) -> Vec<String> {
    if let Some(operation) = &question.operation {
        return vec![format!(
            "a grant for scheduled runs of exactly this command in {}",
            visible(&operation.cwd)
        )];
    }
    question.entries.iter().map(entry).collect()
}

/// An entry for people.
fn entry(entry: &Entry) -> String {
    let pattern = visible(&entry.pattern);
    match entry.arg_pattern.as_deref() {
        None => format!("{pattern} with any arguments"),
        Some(bound) if bound.starts_with("sha256:") => {
            format!("{pattern} with these arguments, in this directory")
        }
        Some(arguments) => format!("{pattern} with arguments that match {}", visible(arguments)),
    }
}
