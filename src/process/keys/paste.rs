//! Pasted text (spec `exec.md` §7.7).
//!
//! A program that knows bracketed paste takes everything up to the end marker as text. A marker inside the text would
//! end that early, and what follows it would be typed: the text could press Enter. Stricter than upstream, which passes
//! it on (rule `keys-paste-marker` in `docs/compatibility.md`).

use super::{KeyError, bounded};

const BEGIN: &[u8] = b"\x1b[200~";
const END: &[u8] = b"\x1b[201~";

/// Stands for the ESC of a marker in the text. Nothing is taken away, so no new marker can come about.
const ESCAPE_SYMBOL: char = '\u{241b}';

/// What goes to the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paste {
    /// Never empty.
    pub bytes: Vec<u8>,
    /// Unicode scalar values of the text as given, brackets not counted.
    pub chars: usize,
    /// End markers in the text that were made harmless.
    pub neutralised: usize,
}

/// The bytes of a paste. Line ends stay what they are; without brackets the text is sent as it is.
pub fn paste(text: &str, bracketed: bool) -> Result<Paste, KeyError> {
    bounded(text.len())?;
    let chars = text.chars().count();
    if !bracketed {
        let bytes = text.as_bytes().to_vec();
        return if bytes.is_empty() {
            Err(KeyError::NoText)
        } else {
            Ok(Paste { bytes, chars, neutralised: 0 })
        };
    }
    let (text, neutralised) = harmless(text);
    Ok(Paste { bytes: [BEGIN, text.as_bytes(), END].concat(), chars, neutralised })
}

/// The text with the introducer of every end marker replaced, and how many there were.
fn harmless(text: &str) -> (String, usize) {
    let (mut out, mut count) = (String::with_capacity(text.len()), 0);
    for (at, character) in text.char_indices() {
        let introducer = matches!(character, '\x1b' | '\u{9b}');
        if introducer && text.get(at..).is_some_and(is_end_marker) {
            out.push(ESCAPE_SYMBOL);
            count += 1;
        } else {
            out.push(character);
        }
    }
    (out, count)
}

/// In any spelling that a reader may take for the marker: 8-bit introducer, leading zeros, further parameters.
fn is_end_marker(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("\x1b[").or_else(|| text.strip_prefix('\u{9b}')) else {
        return false;
    };
    let Some(rest) = rest.trim_start_matches('0').strip_prefix("201") else {
        return false;
    };
    let parameters =
        rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || ";:".contains(c)).len();
    match rest.split_at_checked(parameters) {
        Some(("", rest)) => rest.starts_with('~'),
        Some((parameters, rest)) => parameters.starts_with([';', ':']) && rest.starts_with('~'),
        None => false,
    }
}
