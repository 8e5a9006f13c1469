//! Which key was probably meant by something that is none.

use super::table::{self, KEYS};
use super::token::single;
use crate::config::reader;

/// Words in front of `-` or `+`, and how they are written here. Single letters only as capitals: `a-b` is text.
const LONG_MODIFIERS: &[(&str, &str)] =
    &[("ctrl", "C-"), ("control", "C-"), ("alt", "M-"), ("meta", "M-"), ("option", "M-"), ("shift", "S-")];

/// The longest text that is looked at: no key has a longer name.
const LONGEST: usize = 24;

/// The known name nearest to what stood behind modifiers.
pub(super) fn nearest(base: &str) -> Option<String> {
    if base.len() > LONGEST {
        return None;
    }
    let names: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
    other_spelling(base).or_else(|| reader::nearest(base, &names)).map(str::to_owned)
}

/// The key that a text without modifiers was meant to be, where it looks like one.
pub(super) fn meant(text: &str) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    long_modifiers(text).or_else(|| other_spelling(text).or_else(|| misspelt(text)).map(str::to_owned))
}

/// `Ctrl+C`, `alt-x`, `Shift+Tab`.
fn long_modifiers(text: &str) -> Option<String> {
    let (mut rest, mut prefix) = (text, String::new());
    while let Some((word, tail)) = rest.split_once(['-', '+']).filter(|(_, tail)| !tail.is_empty()) {
        let long = LONG_MODIFIERS.iter().find(|(long, _)| word.eq_ignore_ascii_case(long));
        prefix += match (word, long) {
            ("C", _) => "C-",
            ("A" | "M", _) => "M-",
            ("S", _) => "S-",
            (_, Some((_, short))) => short,
            _ => return None,
        };
        rest = tail;
    }
    let key = match single(rest) {
        Some(key) => key.to_lowercase().to_string(),
        None => table::find(rest).map(|(name, _)| name).or_else(|| other_spelling(rest))?.to_owned(),
    };
    (!prefix.is_empty()).then(|| prefix + &key)
}

/// `Page_Up`, `ArrowUp`, `UpArrow`.
fn other_spelling(text: &str) -> Option<&'static str> {
    let plain = text.to_ascii_lowercase().replace(['_', '-', ' '], "");
    let bare = plain.strip_prefix("arrow").or_else(|| plain.strip_suffix("arrow")).unwrap_or(&plain);
    table::find(bare).map(|(name, _)| name)
}

/// One letter missing, too many, exchanged or wrong in a name that begins with a capital, as names do and text seldom.
fn misspelt(text: &str) -> Option<&'static str> {
    let like_a_name = text.len() >= 4 && text.starts_with(|first: char| first.is_ascii_uppercase());
    let lower = text.to_ascii_lowercase();
    let near = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_ascii_lowercase()) == 1;
    KEYS.iter().map(|(name, _)| *name).filter(|_| like_a_name).find(|name| near(name))
}
