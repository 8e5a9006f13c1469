//! Control sequences of terminals, recognised over any cut (spec `exec.md` §6.1 step 2). Pure, one byte of state.
//!
//! Where readers of sequences differ, the one that shows more is followed: a sequence ends at the first character that
//! cannot belong to it, and that character is shown. Strings other than OSC (DCS, APC) are short sequences here, so that
//! their text can be seen.

use std::ops::RangeInclusive;

/// What may follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stripper {
    /// Text.
    #[default]
    Ground,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character: the final one ends it.
    Short,
    /// In a CSI sequence.
    Csi,
    /// In an OSC string.
    Osc,
    /// In an OSC string, after ESC.
    OscEscape,
}

impl Stripper {
    /// Whether text and nothing else was read.
    pub(super) fn in_text(self) -> bool {
        self == Self::Ground
    }

    /// Reads on. True where the character is none of a sequence and goes on to the text.
    pub(super) fn takes(&mut self, character: char) -> bool {
        let (next, passes) = match *self {
            Self::Ground => begins(character).map_or((Self::Ground, true), |state| (state, false)),
            // CAN and SUB abort every sequence, and go with it.
            _ if matches!(character, '\x18' | '\x1a') => (Self::Ground, false),
            Self::Osc => (string(character), false),
            Self::OscEscape if character == '\\' => (Self::Ground, false),
            // ESC ends the string whatever follows, as on a terminal.
            Self::Escape | Self::OscEscape => escaped(character),
            Self::Short if matches!(character, ' '..='/') => (Self::Short, false),
            Self::Csi if matches!(character, ' '..='?') => (Self::Csi, false),
            Self::Short => inside(character, Self::Short, '0'..='~'),
            Self::Csi => inside(character, Self::Csi, '@'..='~'),
        };
        *self = next;
        passes
    }
}

/// In an OSC string.
fn string(character: char) -> Stripper {
    match character {
        '\x07' | '\u{9c}' => Stripper::Ground,
        '\x1b' => Stripper::OscEscape,
        _ => Stripper::Osc,
    }
}

/// The character after ESC.
fn escaped(character: char) -> (Stripper, bool) {
    match character {
        '[' => (Stripper::Csi, false),
        ']' => (Stripper::Osc, false),
        ' '..='/' => (Stripper::Short, false),
        _ => inside(character, Stripper::Escape, '0'..='~'),
    }
}

/// In a sequence that goes on with some characters and ends with others. Control characters in it are passed on;
/// anything else was never meant as a part of it.
fn inside(character: char, state: Stripper, last: RangeInclusive<char>) -> (Stripper, bool) {
    match character {
        _ if last.contains(&character) => (Stripper::Ground, false),
        _ => match begins(character) {
            Some(other) => (other, false),
            None if character.is_control() => (state, true),
            None => (Stripper::Ground, true),
        },
    }
}

/// What a character of the text begins.
fn begins(character: char) -> Option<Stripper> {
    match character {
        '\x1b' => Some(Stripper::Escape),
        '\u{9b}' => Some(Stripper::Csi),
        '\u{9d}' => Some(Stripper::Osc),
        _ => None,
    }
}
