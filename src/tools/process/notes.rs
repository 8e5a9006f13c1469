//! Notes before and after an output.

use crate::process::record::View;
use crate::process::said::{self, IdleThreshold};

/// Notes in front, each on its own line, a blank line behind them.
pub(super) fn before<'a>(text: &str, notes: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let notes: Vec<&str> = notes.into_iter().flatten().collect();
    if notes.is_empty() { text.to_owned() } else { format!("{}\n\n{text}", notes.join("\n")) }
}

/// Notes behind, each after a blank line.
pub(super) fn after(text: String, notes: impl IntoIterator<Item = Option<String>>) -> String {
    notes.into_iter().flatten().fold(text, |text, note| text + "\n\n" + &note)
}

/// The hint for a session that waits for input.
pub(super) fn input_hint(view: &View, now_ms: u64, threshold: IdleThreshold) -> Option<String> {
    said::waits_for_input(view, now_ms, threshold).then(|| said::input_hint(said::idle_ms(view, now_ms)))
}
