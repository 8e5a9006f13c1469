//! UTF-8 that comes in pieces (spec `exec.md` §6.1 step 1). Pure.

use std::borrow::Cow;

/// Text of one stream of bytes. A character may be cut anywhere.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    /// The beginning of a character: at most three bytes.
    cut: Vec<u8>,
}

impl Decoder {
    /// Hands over the text that `bytes` complete. What is no UTF-8 becomes U+FFFD.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        let joined = if self.cut.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned([&std::mem::take(&mut self.cut), bytes].concat())
        };
        let mut rest: &[u8] = &joined;
        while !rest.is_empty() {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return each(text),
                Err(error) => error,
            };
            let (good, bad) = rest.split_at(error.valid_up_to());
            each(std::str::from_utf8(good).unwrap_or_default());
            let Some(length) = error.error_len() else {
                self.cut = bad.to_vec();
                return;
            };
            each("\u{fffd}");
            rest = bad.get(length..).unwrap_or_default();
        }
    }

    /// Whether the beginning of a character waits for its end.
    pub fn unfinished(&self) -> bool {
        !self.cut.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However bytes are cut, the text is that of the whole.
        #[test]
        fn cuts_do_not_matter(bytes in proptest::collection::vec(any::<u8>(), 0..80), cut in 0..80_usize) {
            let mut decoder = Decoder::default();
            let mut text = String::new();
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            decoder.push(head, |piece| text.push_str(piece));
            decoder.push(tail, |piece| text.push_str(piece));
            if decoder.unfinished() {
                text.push('\u{fffd}');
            }
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}
