//! How a piece of output stands in a file: a header and its bytes. Pure.

use crate::wire::Stream;

/// Bytes before those of the piece.
pub(super) const HEADER: usize = 16;
/// First byte of every header. Nothing that a torn write leaves (zeros, the middle of a piece) is taken for one by
/// chance: stream, length and position must fit as well.
const MARK: u8 = 0xc7;

/// What a header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The stream.
    pub(super) stream: Stream,
    /// Bytes that follow.
    pub(super) length: u32,
    /// Position of the first in the order of both streams.
    pub(super) seq: u64,
}

impl Header {
    /// As it stands in the file: mark, stream, two zeros, length, position; numbers little-endian.
    pub(super) fn encode(self) -> [u8; HEADER] {
        let stream = if self.stream == Stream::Stderr { 2 } else { 1 };
        let head = [MARK, stream, 0, 0].into_iter();
        let mut bytes = head.chain(self.length.to_le_bytes()).chain(self.seq.to_le_bytes());
        std::array::from_fn(|_| bytes.next().unwrap_or_default())
    }

    /// Reads one at the beginning of `bytes`; `None` where there is no whole one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, bytes) = bytes.split_first_chunk::<4>()?;
        let (length, bytes) = bytes.split_first_chunk::<4>()?;
        let seq = bytes.first_chunk::<8>()?;
        let stream = match head {
            [MARK, 1, 0, 0] => Stream::Stdout,
            [MARK, 2, 0, 0] => Stream::Stderr,
            _ => return None,
        };
        Some(Self { stream, length: u32::from_le_bytes(*length), seq: u64::from_le_bytes(*seq) })
    }
}

/// A piece in the bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framed<'a> {
    pub(super) header: Header,
    pub(super) data: &'a [u8],
}

/// The whole pieces at the beginning of `bytes`, which starts at position `next`. What follows the last is torn.
pub(super) fn pieces(mut bytes: &[u8], mut next: u64) -> impl Iterator<Item = Framed<'_>> {
    std::iter::from_fn(move || {
        let header = Header::decode(bytes)?;
        let length = usize::try_from(header.length).ok()?;
        let data = bytes.get(HEADER..HEADER.checked_add(length)?)?;
        // Positions only grow; a hole is what init no longer had.
        if length == 0 || header.seq < next {
            return None;
        }
        next = header.seq.checked_add(u64::from(header.length))?;
        bytes = bytes.get(HEADER + length..).unwrap_or_default();
        Some(Framed { header, data })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(parts: &[(bool, Vec<u8>)]) -> Vec<u8> {
        let (mut file, mut seq) = (Vec::new(), 0);
        for (err, data) in parts {
            let stream = if *err { Stream::Stderr } else { Stream::Stdout };
            file.extend(Header { stream, length: data.len() as u32, seq }.encode());
            file.extend(data);
            seq += data.len() as u64;
        }
        file
    }

    proptest! {
        /// A file that is cut anywhere gives its whole pieces and nothing else.
        #[test]
        fn what_is_torn_is_left_out(
            parts in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 1..40)), 0..6),
            cut in 0..300_usize,
        ) {
            let whole = file(&parts);
            let read: Vec<_> = pieces(&whole, 0).map(|piece| piece.data.to_vec()).collect();
            prop_assert_eq!(read, parts.iter().map(|(_, data)| data.clone()).collect::<Vec<_>>());
            let cut = &whole[..cut.min(whole.len())];
            let kept: usize = pieces(cut, 0).map(|piece| HEADER + piece.data.len()).sum();
            prop_assert!(kept <= cut.len());
            prop_assert_eq!(&cut[..kept], &whole[..kept]);
        }

        /// Nothing that is no file of pieces is read as more than it holds.
        #[test]
        fn garbage_is_no_piece(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let kept: usize = pieces(&bytes, 0).map(|piece| HEADER + piece.data.len()).sum();
            prop_assert!(kept <= bytes.len());
        }
    }

    #[test]
    fn zeros_and_steps_back_end_a_file() {
        assert_eq!(pieces(&[0; 64], 0).count(), 0);
        let mut twice = file(&[(false, b"abc".to_vec())]);
        twice.extend(file(&[(false, b"abc".to_vec())]));
        assert_eq!(pieces(&twice, 0).count(), 1);
    }
}
