//! Control sequences of terminals, recognised over any cut (spec `exec.md` §6.1 step 2). Pure, one byte of state.
//!
//! Where readers of sequences differ, the one that shows more is followed: a sequence ends at the first character that
//! cannot belong to it, and that character is shown. Strings other than OSC (DCS, APC) are short sequences here, so that
//! their text can be seen.

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
        let (next, passes) = match (*self, character) {
            (Self::Ground, _) => begins(character).map_or((Self::Ground, true), |state| (state, false)),
            // CAN and SUB abort every sequence, and go with it.
            (_, '\x18' | '\x1a') => (Self::Ground, false),
            (Self::Osc, '\x07' | '\u{9c}') | (Self::OscEscape, '\\') => (Self::Ground, false),
            (Self::Osc, '\x1b') => (Self::OscEscape, false),
            (Self::Osc, _) => (Self::Osc, false),
            // ESC ends the string whatever follows, as on a terminal.
            (Self::OscEscape, _) => return self.escaped(character),
            (Self::Escape, _) => return self.escaped(character),
            (Self::Short | Self::Csi, '\x1b' | '\u{9b}' | '\u{9d}') => {
                (begins(character).unwrap_or_default(), false)
            }
            (Self::Short, ' '..='/') => (Self::Short, false),
            (Self::Short, '0'..='~') => (Self::Ground, false),
            (Self::Csi, ' '..='?') => (Self::Csi, false),
            (Self::Csi, '@'..='~') => (Self::Ground, false),
            (state, _) if character.is_control() => (state, true),
            _ => (Self::Ground, true),
        };
        *self = next;
        passes
    }

    /// The character after ESC.
    fn escaped(&mut self, character: char) -> bool {
        let (next, passes) = match character {
            '\x18' | '\x1a' => (Self::Ground, false),
            '[' => (Self::Csi, false),
            ']' => (Self::Osc, false),
            ' '..='/' => (Self::Short, false),
            '0'..='~' => (Self::Ground, false),
            _ => match begins(character) {
                Some(state) => (state, false),
                None if character.is_control() => (Self::Escape, true),
                None => (Self::Ground, true),
            },
        };
        *self = next;
        passes
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
