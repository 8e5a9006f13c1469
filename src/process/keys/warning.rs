//! What the caller should know of what was sent (spec `exec.md` §7.4).

use std::fmt;

/// Warnings that are kept; of the others only their number.
const MAX_WARNINGS: usize = 20;

/// Characters of an entry that a warning shows.
const MAX_SHOWN: usize = 40;

/// One thing that was not sent as it may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Passed over: not one or two hex digits.
    HexByte {
        /// The entry.
        entry: String,
    },
    /// Behind modifiers, but no key; sent as text without them.
    UnknownKey {
        /// What stood there.
        key: String,
        /// The known key nearest to it.
        nearest: Option<String>,
    },
    /// Sent as text, though it looks like a key.
    SentAsText {
        /// What was sent.
        text: String,
        /// How the key is written.
        key: String,
    },
    /// The program has not announced a cursor key mode; a terminal starts in the normal one.
    CursorKeysUnknown {
        /// How many keys it concerns.
        keys: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HexByte { entry } => write!(f, "Invalid hex byte: {entry}"),
            Self::UnknownKey { key, nearest } => {
                write!(f, "Unknown key \"{key}\" for modifiers; sending literal.")?;
                nearest.iter().try_for_each(|nearest| write!(f, " The nearest known key is {nearest}."))
            }
            Self::SentAsText { text, key } => {
                write!(f, "\"{text}\" was sent as text; the key is written {key}.")
            }
            Self::CursorKeysUnknown { keys } => write!(
                f,
                "The program has not announced a cursor key mode; {keys} arrow, Home or End sent in the normal mode."
            ),
        }
    }
}

/// The warnings of a request, bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warnings {
    kept: Vec<Warning>,
    more: usize,
}

impl Warnings {
    pub(super) fn push(&mut self, warning: Warning) {
        if self.kept.len() < MAX_WARNINGS { self.kept.push(warning) } else { self.more += 1 }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The first ones.
    pub fn kept(&self) -> &[Warning] {
        &self.kept
    }
}

/// The block that follows the answer of `send-keys`; empty without warnings.
impl fmt::Display for Warnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kept.is_empty() {
            return Ok(());
        }
        write!(f, "Warnings:")?;
        self.kept.iter().try_for_each(|warning| write!(f, "\n- {warning}"))?;
        if self.more > 0 { write!(f, "\n- and {} more.", self.more) } else { Ok(()) }
    }
}

/// An entry as it may be shown: short, and without characters that act on a terminal.
pub(super) fn shown(entry: &str) -> String {
    let mut text = String::new();
    for character in entry.chars().take(MAX_SHOWN) {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    if entry.chars().nth(MAX_SHOWN).is_some() {
        text.push('…');
    }
    text
}
