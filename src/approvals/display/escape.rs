//! Characters that are not seen, or are seen as something else.

use std::fmt::Write as _;

use crate::shown::deceives;

/// Text of others on one line: what is not seen as what it is stands there as `\u{HEX}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    into(&mut out, text, "");
    out
}

/// Writes `text` behind `out`. Where an escape, or `mark`, already stands in it, the first character is escaped: only an
/// escaped character looks like one.
pub(super) fn into(out: &mut String, text: &str, mark: &str) {
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        let alike = rest.starts_with(r"\u{") || (!mark.is_empty() && rest.starts_with(mark));
        if alike || hides(c) {
            let _ = write!(out, "\\u{{{:X}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
}

/// Whether a character is invisible, looks like a blank or has no look of its own: beside [`deceives`] blanks beyond ASCII,
/// other marks of format, fillers, variation selectors, and what no font must have.
fn hides(c: char) -> bool {
    deceives(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{2800}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e000}'..='\u{f8ff}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{13455}'
            | '\u{16fe4}' | '\u{f0000}'..)
}

/// Shown text for a surface that reads markdown (advisory A170): nothing in it ends a code block, makes a link, mentions
/// somebody or begins an element. Every sign of ASCII is escaped by a backslash, as `CommonMark` allows.
pub fn escape_for_markdown(shown: &str) -> String {
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
