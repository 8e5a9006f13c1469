//! Input for a terminal as bytes (spec `exec.md` §7.4, §7.7). Pure.
//!
//! Text is sent first, then hex bytes, then named keys, whatever the order in which they were given. What is no key is
//! sent as text, as upstream does; a warning says so wherever a key was probably meant.
//!
//! | file | concern |
//! |---|---|
//! | [`cursor`] | which cursor key mode a program has announced |
//! | `hint` | the key that was probably meant |
//! | [`mod@paste`] | pasted text and its brackets |
//! | `table` | names and their bytes |
//! | `token` | one entry of `keys` |
//! | [`warning`] | what the caller should know of what was sent |

pub mod cursor;
mod hint;
pub mod paste;
mod table;
mod token;
pub mod warning;

pub use cursor::{CursorKeys, CursorTracker};
pub use paste::{Paste, paste};
pub use warning::{Warning, Warnings};

/// Bytes that one request may hold. A program behind a full terminal takes nothing more, and the rest would wait.
pub const MAX_INPUT: usize = 1 << 20;

/// What `submit` sends: Enter.
pub const SUBMIT: &[u8] = b"\r";

/// Why nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither text nor bytes nor keys, or none that means anything.
    #[error("No key data provided.{}", listed(.warnings))]
    Nothing {
        /// What was passed over.
        warnings: Warnings,
    },
    /// An empty paste without brackets.
    #[error("No paste text provided.")]
    NoText,
    /// More than [`MAX_INPUT`].
    #[error(
        "the input has {length} bytes, one request may hold {MAX_INPUT}; send it in several requests, or write \
         a file and name it"
    )]
    TooLong {
        /// Bytes of the request.
        length: usize,
    },
}

fn listed(warnings: &Warnings) -> String {
    if warnings.is_empty() { String::new() } else { format!("\n{warnings}") }
}

/// What `send-keys` is asked to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// Text, sent as it is.
    pub literal: &'a str,
    /// Bytes: one or two hex digits each, `0x` before them or not.
    pub hex: &'a [String],
    /// Names (`Enter`, `C-c`, `M-Up`), `^X`, or single characters.
    pub keys: &'a [String],
}

/// What goes to the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Never empty.
    pub bytes: Vec<u8>,
    /// What the caller should know of them.
    pub warnings: Warnings,
    /// Whether the other cursor key mode would have given other bytes.
    pub cursor_sensitive: bool,
}

/// The bytes of a request, in the order text, hex, keys.
pub fn encode(request: &Request<'_>, mode: CursorKeys) -> Result<Encoded, KeyError> {
    let entries = request.hex.iter().chain(request.keys).map(String::len);
    bounded(request.literal.len() + entries.sum::<usize>())?;
    let mut bytes = request.literal.as_bytes().to_vec();
    let mut warnings = Warnings::default();
    for entry in request.hex {
        match hex_byte(entry) {
            Some(byte) => bytes.push(byte),
            None => warnings.push(Warning::HexByte { entry: warning::shown(entry) }),
        }
    }
    let mut sensitive = 0;
    for key in request.keys.iter().map(|key| key.trim()).filter(|key| !key.is_empty()) {
        let outcome = token::encode(key, mode, &mut bytes);
        sensitive += usize::from(outcome.cursor_sensitive);
        outcome.warning.into_iter().for_each(|warning| warnings.push(warning));
    }
    if bytes.is_empty() {
        return Err(KeyError::Nothing { warnings });
    }
    if sensitive > 0 && mode == CursorKeys::Unknown {
        warnings.push(Warning::CursorKeysUnknown { keys: sensitive });
    }
    Ok(Encoded { bytes, warnings, cursor_sensitive: sensitive > 0 })
}

/// Whether one request may hold this many bytes.
pub fn bounded(length: usize) -> Result<(), KeyError> {
    if length > MAX_INPUT { Err(KeyError::TooLong { length }) } else { Ok(()) }
}

fn hex_byte(entry: &str) -> Option<u8> {
    let entry = entry.trim();
    let digits = entry.strip_prefix("0x").or_else(|| entry.strip_prefix("0X")).unwrap_or(entry);
    let sound = matches!(digits.len(), 1 | 2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if sound { u8::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests;
