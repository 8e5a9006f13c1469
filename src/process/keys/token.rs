//! One entry of `keys` (spec `exec.md` §7.4, token grammar).

use super::cursor::CursorKeys;
use super::hint;
use super::table::{self, BACK_TAB, Modifiers};
use super::warning::{Warning, shown};

/// What there is to say of an entry that was appended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) cursor_sensitive: bool,
    pub(super) warning: Option<Warning>,
}

/// Appends the bytes of an entry, which is neither blank nor has blanks around it.
pub(super) fn encode(token: &str, mode: CursorKeys, out: &mut Vec<u8>) -> Outcome {
    if let Some(code) = caret(token) {
        out.push(code);
        return Outcome::default();
    }
    let (modifiers, base) = modifiers(token);
    if modifiers.shift && base.eq_ignore_ascii_case("tab") {
        out.extend_from_slice(BACK_TAB);
        return Outcome::default();
    }
    if let Some((_, key)) = table::find(base) {
        key.send(modifiers, mode, out);
        return Outcome { cursor_sensitive: key.cursor_sensitive(modifiers), warning: None };
    }
    if let Some(key) = single(base) {
        character(key, modifiers, out);
        return Outcome::default();
    }
    out.extend_from_slice(base.as_bytes());
    let warning = if modifiers.any() {
        let nearest = hint::nearest(base);
        Some(Warning::UnknownKey { key: shown(base), nearest })
    } else {
        hint::meant(token).map(|key| Warning::SentAsText { text: shown(token), key })
    };
    Outcome { cursor_sensitive: false, warning }
}

/// `^X`.
fn caret(token: &str) -> Option<u8> {
    table::control(single(token.strip_prefix('^')?)?)
}

/// `C-`, `M-` and `S-` before something.
fn modifiers(token: &str) -> (Modifiers, &str) {
    let (mut found, mut rest) = (Modifiers::default(), token);
    while let Some((head, tail)) = rest.split_at_checked(2)
        && !tail.is_empty()
    {
        match head {
            "C-" | "c-" => found.ctrl = true,
            "M-" | "m-" => found.alt = true,
            "S-" | "s-" => found.shift = true,
            _ => break,
        }
        rest = tail;
    }
    (found, rest)
}

/// The character of a text of one.
pub(super) fn single(text: &str) -> Option<char> {
    let mut all = text.chars();
    all.next().filter(|_| all.next().is_none())
}

fn character(key: char, modifiers: Modifiers, out: &mut Vec<u8>) {
    out.extend(modifiers.alt.then_some(0x1b));
    let key = if modifiers.shift { key.to_ascii_uppercase() } else { key };
    match table::control(key).filter(|_| modifiers.ctrl) {
        Some(code) => out.push(code),
        None => out.extend_from_slice(key.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
