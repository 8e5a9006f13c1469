//! Both streams as one text, in the order of arrival, the tail kept (spec `exec.md` §6.1 step 1, §6.2). Pure.

use std::collections::VecDeque;

use crate::process::decode::Decoder;
use crate::wire::Stream;

/// Characters kept (spec `exec.md` §6.2: the aggregate). Counted as Unicode scalar values (design §1, Q-9).
pub const MAX_CHARS: usize = 200_000;

/// Text of a command, built piece by piece.
#[derive(Debug, Default)]
pub struct Aggregate {
    text: VecDeque<char>,
    /// One for each stream.
    decoders: [Decoder; 2],
    truncated: bool,
}

impl Aggregate {
    /// Adds bytes of a stream. A character may be cut anywhere; what is no UTF-8 becomes U+FFFD.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let [out, err] = &mut self.decoders;
        let decoder = if stream == Stream::Stdout { out } else { err };
        decoder.push(bytes, |text| self.text.extend(text.chars()));
        self.trim();
    }

    fn trim(&mut self) {
        let over = self.text.len().saturating_sub(MAX_CHARS);
        self.truncated |= over > 0;
        self.text.drain(..over);
    }

    /// The text, and whether its beginning was dropped. A character that was never finished is U+FFFD.
    pub fn finish(mut self) -> (String, bool) {
        let unfinished = self.decoders.iter().filter(|decoder| decoder.unfinished()).count();
        self.text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, unfinished));
        self.trim();
        (self.text.into_iter().collect(), self.truncated)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However a text is cut, it comes out whole.
        #[test]
        fn cuts_do_not_matter(text in "\\PC{0,60}", cuts in proptest::collection::vec(1..5_usize, 0..60)) {
            let (mut aggregate, mut rest) = (Aggregate::default(), text.as_bytes());
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                aggregate.push(Stream::Stdout, head);
                rest = tail;
            }
            aggregate.push(Stream::Stdout, rest);
            prop_assert_eq!(aggregate.finish(), (text, false));
        }
    }

    #[test]
    fn streams_do_not_mix_their_halves() {
        let mut aggregate = Aggregate::default();
        aggregate.push(Stream::Stdout, b"\xe2\x82");
        aggregate.push(Stream::Stderr, b"x\xff");
        aggregate.push(Stream::Stdout, b"\xac\xf0");
        assert_eq!(aggregate.finish(), ("x\u{fffd}\u{20ac}\u{fffd}".to_owned(), false));
    }

    #[test]
    fn the_tail_is_kept() {
        let mut aggregate = Aggregate::default();
        aggregate.push(Stream::Stdout, &vec![b'a'; MAX_CHARS]);
        aggregate.push(Stream::Stdout, b"END");
        let (text, truncated) = aggregate.finish();
        assert!(truncated && text.ends_with("aEND") && text.len() == MAX_CHARS);
    }
}
