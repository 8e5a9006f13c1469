//! Names of keys and what a terminal sends for them (spec `exec.md` §7.4.1–7.4.3).

use super::cursor::CursorKeys;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// The same bytes always; ctrl and shift change nothing.
    Fixed(&'static [u8]),
    /// An arrow, by the letter that ends its sequence.
    Arrow(u8),
    /// Home and End: number and, in application mode, letter.
    Edge(u8, u8),
    /// A key of the editing pad, by its number.
    Pad(u8),
}

use Key::{Arrow, Edge, Fixed, Pad};

/// What shift with Tab sends, with any other modifier too.
pub(super) const BACK_TAB: &[u8] = b"\x1b[Z";

/// Every name, as documented; case does not matter.
pub(super) const KEYS: &[(&str, Key)] = &[
    ("Enter", Fixed(b"\r")),
    ("Return", Fixed(b"\r")),
    ("Tab", Fixed(b"\t")),
    ("Escape", Fixed(b"\x1b")),
    ("Esc", Fixed(b"\x1b")),
    ("Space", Fixed(b" ")),
    ("Backspace", Fixed(b"\x7f")),
    ("BSpace", Fixed(b"\x7f")),
    ("BTab", Fixed(BACK_TAB)),
    ("Up", Arrow(b'A')),
    ("Down", Arrow(b'B')),
    ("Right", Arrow(b'C')),
    ("Left", Arrow(b'D')),
    ("Home", Edge(b'1', b'H')),
    ("End", Edge(b'4', b'F')),
    ("PageUp", Pad(b'5')),
    ("PgUp", Pad(b'5')),
    ("PPage", Pad(b'5')),
    ("PageDown", Pad(b'6')),
    ("PgDn", Pad(b'6')),
    ("NPage", Pad(b'6')),
    ("Insert", Pad(b'2')),
    ("IC", Pad(b'2')),
    ("Delete", Pad(b'3')),
    ("Del", Pad(b'3')),
    ("DC", Pad(b'3')),
    ("F1", Fixed(b"\x1bOP")),
    ("F2", Fixed(b"\x1bOQ")),
    ("F3", Fixed(b"\x1bOR")),
    ("F4", Fixed(b"\x1bOS")),
    ("F5", Fixed(b"\x1b[15~")),
    ("F6", Fixed(b"\x1b[17~")),
    ("F7", Fixed(b"\x1b[18~")),
    ("F8", Fixed(b"\x1b[19~")),
    ("F9", Fixed(b"\x1b[20~")),
    ("F10", Fixed(b"\x1b[21~")),
    ("F11", Fixed(b"\x1b[23~")),
    ("F12", Fixed(b"\x1b[24~")),
    ("KPEnter", Fixed(b"\x1bOM")),
    ("KP0", Fixed(b"\x1bOp")),
    ("KP1", Fixed(b"\x1bOq")),
    ("KP2", Fixed(b"\x1bOr")),
    ("KP3", Fixed(b"\x1bOs")),
    ("KP4", Fixed(b"\x1bOt")),
    ("KP5", Fixed(b"\x1bOu")),
    ("KP6", Fixed(b"\x1bOv")),
    ("KP7", Fixed(b"\x1bOw")),
    ("KP8", Fixed(b"\x1bOx")),
    ("KP9", Fixed(b"\x1bOy")),
    ("KP/", Fixed(b"\x1bOo")),
    ("KP*", Fixed(b"\x1bOj")),
    ("KP-", Fixed(b"\x1bOm")),
    ("KP+", Fixed(b"\x1bOk")),
    ("KP.", Fixed(b"\x1bOn")),
];

/// The entry of a name.
pub(super) fn find(name: &str) -> Option<(&'static str, Key)> {
    KEYS.iter().copied().find(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// Keys that are held down with another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Modifiers {
    pub(super) shift: bool,
    pub(super) alt: bool,
    pub(super) ctrl: bool,
}

impl Modifiers {
    pub(super) fn any(self) -> bool {
        self != Self::default()
    }

    /// The digit in a sequence: 2 for shift to 8 for all three.
    fn digit(self) -> u8 {
        b'1' + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }
}

impl Key {
    /// Whether the cursor key mode decides over its bytes.
    pub(super) fn cursor_sensitive(self, modifiers: Modifiers) -> bool {
        matches!(self, Arrow(_) | Edge(..)) && !modifiers.any()
    }

    /// Appends what the terminal sends.
    pub(super) fn send(self, modifiers: Modifiers, mode: CursorKeys, out: &mut Vec<u8>) {
        let application = mode == CursorKeys::Application;
        match self {
            Fixed(bytes) => {
                out.extend(modifiers.alt.then_some(0x1b));
                out.extend_from_slice(bytes);
            }
            Arrow(letter) if modifiers.any() => {
                out.extend([0x1b, b'[', b'1', b';', modifiers.digit(), letter]);
            }
            Edge(number, _) | Pad(number) if modifiers.any() => {
                out.extend([0x1b, b'[', number, b';', modifiers.digit(), b'~']);
            }
            Arrow(letter) | Edge(_, letter) if application => out.extend([0x1b, b'O', letter]),
            Arrow(letter) => out.extend([0x1b, b'[', letter]),
            Edge(number, _) | Pad(number) => out.extend([0x1b, b'[', number, b'~']),
        }
    }
}

/// The control character of a key: that of its upper case, where it lies in `@` to `_`; DEL for `?`.
pub(super) fn control(key: char) -> Option<u8> {
    let upper = key.to_uppercase().next().and_then(|upper| u8::try_from(upper).ok());
    match upper {
        Some(b'?') => Some(0x7f),
        Some(code @ 0x40..=0x5f) => Some(code & 0x1f),
        _ => None,
    }
}
