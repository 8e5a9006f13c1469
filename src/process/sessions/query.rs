//! Programs that ask their terminal where the cursor is (spec `exec.md` §6.1). Pure.

/// The answer: there is no screen, so the cursor is at its origin.
pub(super) const ANSWER: &[u8] = b"\x1b[1;1R";

/// Finds `ESC [ 6 n` and `ESC [ ? 6 n` in the output of a terminal, which may be cut anywhere.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Queries {
    state: State,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Text,
    Escape,
    Bracket,
    Question,
    Six,
}

impl Queries {
    /// Reads on; how many queries were completed.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut found = 0;
        for byte in bytes {
            self.state = match (self.state, byte) {
                (_, 0x1b) => State::Escape,
                (State::Escape, b'[') => State::Bracket,
                (State::Bracket, b'?') => State::Question,
                (State::Bracket | State::Question, b'6') => State::Six,
                (State::Six, b'n') => {
                    found += 1;
                    State::Text
                }
                _ => State::Text,
            };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_found_over_any_cut() {
        let text = b"x\x1b[6ny\x1b[?6n\x1b[16n\x1b[6;1n\x1b[5n[6n\x1b\x1b[6n";
        assert_eq!(Queries::default().feed(text), 3);
        for cut in 0..text.len() {
            let mut queries = Queries::default();
            assert_eq!(queries.feed(&text[..cut]) + queries.feed(&text[cut..]), 3, "cut at {cut}");
        }
    }
}
