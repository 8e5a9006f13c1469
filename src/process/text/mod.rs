//! Output made fit to be shown to people and models (spec `exec.md` §6.1). Pure.
//!
//! Nothing in the text acts on a terminal, hides, or turns the direction of what follows. State is of constant size: an
//! OSC string without an end swallows text and grows nothing.
//!
//! | file | concern |
//! |---|---|
//! | `format` | characters that show nothing |
//! | `strip` | control sequences |

mod format;
mod strip;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use super::decode::Decoder;
use format::is_format;
use strip::Stripper;

/// Makes the text of one stream. Bytes may be cut anywhere; the text is that of the whole.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    decoder: Decoder,
    stripper: Stripper,
}

impl Sanitizer {
    /// Reads on: the text that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let Self { decoder, stripper } = self;
        let mut text = String::with_capacity(bytes.len());
        decoder.push(bytes, |piece| sanitize(piece, stripper, &mut text));
        text
    }

    /// The stream is at its end: a character that was begun and never finished is U+FFFD, a sequence is nothing.
    pub fn finish(&mut self) -> String {
        let mut text = String::new();
        if std::mem::take(&mut self.decoder).unfinished() {
            sanitize("\u{fffd}", &mut self.stripper, &mut text);
        }
        self.stripper = Stripper::default();
        text
    }
}

fn sanitize(mut piece: &str, stripper: &mut Stripper, out: &mut String) {
    while !piece.is_empty() {
        if stripper.in_text() {
            let (plain, rest) = piece.split_at(plain(piece.as_bytes()));
            out.push_str(plain);
            piece = rest;
        }
        let mut characters = piece.chars();
        if let Some(character) = characters.next().filter(|character| stripper.takes(*character)) {
            show(character, out);
        }
        piece = characters.as_str();
    }
}

/// Bytes at the beginning that are text as they stand: nearly all, in most output.
fn plain(bytes: &[u8]) -> usize {
    let as_it_is = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    bytes.iter().position(|byte| !as_it_is(byte)).unwrap_or(bytes.len())
}

/// Steps 3 and 4: format characters are left out, control characters written in hex.
fn show(character: char, out: &mut String) {
    if matches!(character, '\t' | '\n' | '\r') {
        out.push(character);
    } else if character.is_control() {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\x{:02x}", u32::from(character));
    } else if !is_format(character) {
        out.push(character);
    }
}
