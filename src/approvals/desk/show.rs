//! Texts of a question as surfaces show them. Pure.

use super::{DeskError, Question};
use crate::approvals::document::Entry;
use crate::shown::one_line;

/// Characters of a command that are looked at (9.11).
const MOST: usize = 262_144;
/// Characters of a command that are shown; who cannot see all of it cannot approve it.
const SHOWN: usize = 16_384;

/// A command, complete, or a refusal.
pub(super) fn command(text: &str) -> Result<String, DeskError> {
    if text.trim().is_empty() {
        return Err(DeskError::Empty);
    }
    if text.chars().nth(MOST).is_some() {
        return Err(DeskError::Display);
    }
    let shown = one_line(text);
    if shown.chars().nth(SHOWN).is_some() { Err(DeskError::Display) } else { Ok(shown) }
}

/// The words of a command. Together they are no longer than the command may be.
pub(super) fn words(argv: &[String]) -> Result<Vec<String>, DeskError> {
    let shown: Vec<String> = argv.iter().map(|word| one_line(word)).collect();
    let long = shown.iter().map(|word| word.chars().count()).sum::<usize>() > SHOWN;
    if long { Err(DeskError::Display) } else { Ok(shown) }
}

/// What "always" would write, a line for each.
pub(super) fn always(question: &Question) -> Vec<String> {
    if let Some(operation) = &question.operation {
        return vec![format!(
            "a grant for scheduled runs of exactly this command in {}",
            one_line(&operation.cwd)
        )];
    }
    question.entries.iter().map(entry).collect()
}

/// An entry for people.
pub(super) fn entry(entry: &Entry) -> String {
    let pattern = one_line(&entry.pattern);
    match entry.arg_pattern.as_deref() {
        None => format!("{pattern} with any arguments"),
        Some(bound) if bound.starts_with("sha256:") => {
            format!("{pattern} with these arguments, in this directory")
        }
        Some(arguments) => format!("{pattern} with arguments that match {}", one_line(arguments)),
    }
}
