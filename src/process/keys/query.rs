//! Programs that ask where the cursor is (DSR 6) and wait for the answer (spec `exec.md` §6.1). Pure.
//!
//! Nobody looks at the terminal, so the answer is the same always: row 1, column 1. A program that waits for it goes on.

/// What is sent to the program's input for each question.
pub const CURSOR_ANSWER: &[u8] = b"\x1b[1;1R";

/// Questions in one piece of output that are answered: a flood of them must not become a flood of input.
const MOST: usize = 8;

/// Finds the questions in output that may be cut anywhere. A byte of state.
#[derive(Debug, Clone, Default)]
pub struct CursorQueries {
    seen: Seen,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    Nothing,
    Escape,
    /// The first byte of U+009B, the introducer as one character.
    Half,
    Introducer,
    Mark,
    Six,
}

impl CursorQueries {
    /// Reads on: what to send to the program's input, often nothing.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let asked = bytes.iter().filter(|byte| self.asks(**byte)).count();
        CURSOR_ANSWER.repeat(asked.min(MOST))
    }

    fn asks(&mut self, byte: u8) -> bool {
        use Seen::{Escape, Half, Introducer, Mark, Nothing, Six};
        let before = self.seen;
        self.seen = match (before, byte) {
            (_, 0x1b) => Escape,
            (_, 0xc2) => Half,
            (Escape, b'[') | (Half, 0x9b) => Introducer,
            (Introducer, b'?') => Mark,
            (Introducer | Mark, b'6') => Six,
            _ => Nothing,
        };
        before == Six && byte == b'n'
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn answers(output: &str) -> usize {
        let (whole, mut pieces) =
            (CursorQueries::default().feed(output.as_bytes()), CursorQueries::default());
        let cut: Vec<u8> = output.as_bytes().chunks(1).flat_map(|byte| pieces.feed(byte)).collect();
        assert_eq!(cut, whole, "{output:?}");
        whole.len() / CURSOR_ANSWER.len()
    }

    #[test]
    fn questions_are_found_however_they_are_cut() {
        for (output, count) in [
            ("\x1b[6n", 1),
            ("\x1b[?6n", 1),
            ("\u{9b}6n", 1),
            ("x\x1b[6n\x1b[?6ny", 2),
            ("\x1b\x1b[6n", 1),
            ("\x1b[5n\x1b[16n\x1b[6m[6n6n\x1b[??6n\x1b[6;1n", 0),
        ] {
            assert_eq!(answers(output), count, "{output:?}");
        }
    }

    #[test]
    fn a_flood_is_not_answered_with_one() {
        let flood = b"\x1b[6n".repeat(10_000);
        assert_eq!(CursorQueries::default().feed(&flood).len(), MOST * CURSOR_ANSWER.len());
    }
}
