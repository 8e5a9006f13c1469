//! The newest characters of a text that comes in pieces. Pure.

use std::collections::VecDeque;

/// Pieces with their order, of which only the newest `cap` characters are kept.
#[derive(Debug)]
pub(super) struct Kept {
    pieces: VecDeque<(u64, String, usize)>,
    chars: usize,
    cap: usize,
    dropped: bool,
}

impl Kept {
    pub(super) fn new(cap: usize) -> Self {
        Self { pieces: VecDeque::new(), chars: 0, cap, dropped: false }
    }

    /// Adds a piece; `order` grows. Whole pieces go as soon as the rest is enough, so no more than a piece is there in
    /// excess.
    pub(super) fn push(&mut self, order: u64, text: String) {
        if text.is_empty() {
            return;
        }
        let chars = text.chars().count();
        self.chars += chars;
        self.pieces.push_back((order, text, chars));
        while let Some((_, _, first)) = self.pieces.front()
            && self.chars - first >= self.cap
        {
            self.chars -= first;
            self.pieces.pop_front();
            self.dropped = true;
        }
    }

    /// The kept pieces, and whether something was dropped.
    pub(super) fn finish(mut self) -> (impl Iterator<Item = (u64, String)>, bool) {
        let over = self.chars.saturating_sub(self.cap);
        if over > 0 {
            self.dropped = true;
            if let Some((_, text, _)) = self.pieces.front_mut() {
                let cut = text.char_indices().nth(over).map_or(text.len(), |(index, _)| index);
                text.drain(..cut);
            }
        }
        (self.pieces.into_iter().map(|(order, text, _)| (order, text)), self.dropped)
    }
}

/// The pieces of both streams in order.
pub(super) fn merged(streams: [Kept; 2]) -> (String, bool) {
    let [(out, a), (err, b)] = streams.map(Kept::finish);
    let mut pieces: Vec<_> = out.chain(err).collect();
    pieces.sort_by_key(|(order, _)| *order);
    (pieces.into_iter().map(|(_, text)| text).collect(), a || b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However a text comes, its last characters stay.
        #[test]
        fn the_tail_stays(parts in proptest::collection::vec("\\PC{0,8}", 0..12), cap in 0..30_usize) {
            let mut kept = Kept::new(cap);
            for (order, part) in parts.iter().enumerate() {
                kept.push(order as u64, part.clone());
            }
            let whole: Vec<char> = parts.concat().chars().collect();
            let (pieces, dropped) = kept.finish();
            let text: String = pieces.map(|(_, text)| text).collect();
            let tail: String = whole[whole.len().saturating_sub(cap)..].iter().collect();
            prop_assert_eq!((text, dropped), (tail, whole.len() > cap));
        }
    }

    #[test]
    fn each_stream_has_its_own_cap() {
        let mut streams = [Kept::new(4), Kept::new(4)];
        streams[0].push(0, "0123".to_owned());
        streams[1].push(1, "err".to_owned());
        streams[0].push(2, "45".to_owned());
        assert_eq!(merged(streams), ("23err45".to_owned(), true));
    }
}
