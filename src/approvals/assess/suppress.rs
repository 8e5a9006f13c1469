//! Commands that change which findings of the audit are suppressed (spec `approvals.md` 17.07): somebody who may run commands
//! must not be able to hide what that has led to.

use super::Seen;
use crate::shell::inline_eval::program;

/// The key, and the ones above it that hold it.
const KEYS: &[&str] = &["security", "security.audit", "security.audit.suppressions"];
/// Subcommands that only read.
const READS: &[&str] = &["get", "schema", "validate", "file", "path", "show", "list"];

/// Whether a command of the text changes them, as far as can be seen.
pub(super) fn changes(text: &str, seen: &Seen<'_>) -> bool {
    // Most texts hold none of these letters in a row, however they are quoted.
    let letters: String = text
        .chars()
        .filter(|c| !matches!(c, '\'' | '"' | '\\' | '\n'))
        .flat_map(char::to_lowercase)
        .collect();
    if !letters.contains("suppressions") && !letters.contains("security") && !letters.contains("u00") {
        return false;
    }
    let visible = seen.get();
    visible.commands.iter().any(|argv| changes_it(argv))
        || (visible.hidden || visible.exceeded) && letters.contains("audit.suppressions")
}

fn changes_it(argv: &[String]) -> bool {
    let Some((called, arguments)) = argv.split_first() else { return false };
    let tool = matches!(program::name(called).as_str(), "openclaw" | "creel");
    if tool && arguments.iter().any(|word| word == "config") {
        let reads = arguments.iter().skip_while(|word| *word != "config").nth(1);
        return !reads.is_some_and(|word| READS.contains(&word.as_str()))
            && arguments.iter().any(|word| means_it(word));
    }
    // An editor of files that names the key, whatever it is called.
    arguments.iter().any(|word| {
        let word = word.to_lowercase();
        word.contains("audit.suppressions") || word.contains("suppressions") && word.contains("audit")
    })
}

/// Whether an argument is the key, one above it, or a text that may hold it.
fn means_it(word: &str) -> bool {
    let word = word.to_lowercase();
    let key = word.split('=').next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
    let bracketed: String =
        key.replace("[\"", ".").replace("['", ".").replace(['"', '\'', ']'], "").replace('[', ".");
    KEYS.contains(&bracketed.as_str())
        || bracketed.starts_with("security.audit.suppressions")
        || word.contains("suppressions")
        || word.contains("\\u00")
        || word.contains('{') && word.contains("security")
}
