//! Output of one command, kept until the host acknowledges it.

use std::collections::VecDeque;
use std::io::IoSliceMut;

use crate::sys::AnonMap;
use crate::wire::Stream;

/// Most pieces kept apart. A command that alternates single bytes between its streams waits for the host sooner.
const MAX_SEGMENTS: usize = 1024;

/// A bounded buffer over both streams in the order they were read.
///
/// Positions are offsets since the command's start and only grow. Memory is mapped at the first byte.
#[derive(Debug)]
pub(super) struct Ring {
    capacity: usize,
    map: Option<AnonMap>,
    /// Position that lies at index 0 of the map; moves up whenever the ring is empty, so that little output
    /// touches few pages.
    base: u64,
    acked: u64,
    written: u64,
    totals: [u64; 2],
    segments: VecDeque<Segment>,
}

/// A run of bytes of one stream.
#[derive(Debug, Clone, Copy)]
struct Segment {
    stream: Stream,
    seq: u64,
    offset: u64,
    len: u64,
}

/// A contiguous piece of output at some position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Its stream.
    pub(super) stream: Stream,
    /// Position in its stream.
    pub(super) offset: u64,
    /// Position in the order of both.
    pub(super) seq: u64,
    /// The bytes.
    pub(super) data: &'a [u8],
}

impl Ring {
    /// An empty ring of `capacity` bytes.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            map: None,
            base: 0,
            acked: 0,
            written: 0,
            totals: [0; 2],
            segments: VecDeque::new(),
        }
    }

    /// Position before which everything is acknowledged and gone.
    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    /// Position after the last byte.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that were ever written to a stream.
    pub(super) fn total(&self, stream: Stream) -> u64 {
        let [out, err] = self.totals;
        match stream {
            Stream::Stdout => out,
            Stream::Stderr => err,
        }
    }

    /// No byte can be taken before the host acknowledges some.
    pub(super) fn is_full(&self) -> bool {
        self.free() == 0 || self.segments.len() >= MAX_SEGMENTS
    }

    fn free(&self) -> usize {
        let used = usize::try_from(self.written.saturating_sub(self.acked)).unwrap_or(usize::MAX);
        self.capacity.saturating_sub(used)
    }

    fn index(&self, seq: u64) -> usize {
        let distance = usize::try_from(seq.saturating_sub(self.base)).unwrap_or(usize::MAX);
        distance % self.capacity
    }

    /// Lets `read` fill the free space (two pieces, `most` bytes at most) and books what it read to `stream`.
    ///
    /// Without free space it is `EAGAIN`: a read of nothing would look like the end of the stream.
    pub(super) fn fill(
        &mut self,
        stream: Stream,
        most: usize,
        read: impl FnOnce(&mut [IoSliceMut<'_>]) -> nix::Result<usize>,
    ) -> nix::Result<usize> {
        if self.acked == self.written {
            self.base = self.written;
        }
        let (free, start) = (self.free().min(most), self.index(self.written));
        if free == 0 {
            return Err(nix::errno::Errno::EAGAIN);
        }
        let map = match &mut self.map {
            Some(map) => map,
            none => none.insert(AnonMap::new(self.capacity)?),
        };
        let (front, back) = map.split_at_mut(start.min(self.capacity));
        let first = free.min(back.len());
        let back = back.get_mut(..first).unwrap_or_default();
        let front = front.get_mut(..free - first).unwrap_or_default();
        let count = read(&mut [IoSliceMut::new(back), IoSliceMut::new(front)])?;
        self.book(stream, u64::try_from(count.min(free)).unwrap_or(0));
        Ok(count)
    }

    fn book(&mut self, stream: Stream, len: u64) {
        if len == 0 {
            return;
        }
        let offset = self.total(stream);
        match self.segments.back_mut() {
            Some(last) if last.stream == stream => last.len += len,
            _ => self.segments.push_back(Segment { stream, seq: self.written, offset, len }),
        }
        let [out, err] = &mut self.totals;
        match stream {
            Stream::Stdout => *out += len,
            Stream::Stderr => *err += len,
        }
        self.written += len;
    }

    /// The contiguous piece at `seq`, at most `most` bytes; `None` at the end. A position that is gone reads from
    /// the oldest byte that is left.
    pub(super) fn piece(&self, seq: u64, most: usize) -> Option<Piece<'_>> {
        let seq = seq.max(self.acked);
        let place = self.segments.partition_point(|segment| segment.seq + segment.len <= seq);
        let segment = self.segments.get(place)?;
        let skip = seq - segment.seq;
        let left = usize::try_from(segment.len - skip).unwrap_or(usize::MAX).min(most);
        let start = self.index(seq);
        let end = start.saturating_add(left).min(self.capacity);
        let data = self.map.as_ref()?.get(start..end)?;
        Some(Piece { stream: segment.stream, offset: segment.offset + skip, seq, data })
    }

    /// Forgets everything before `seq`. A position that was never written is taken as the end.
    pub(super) fn ack(&mut self, seq: u64) {
        self.acked = self.acked.max(seq.min(self.written));
        while self.segments.front().is_some_and(|segment| segment.seq + segment.len <= self.acked) {
            self.segments.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn write(ring: &mut Ring, stream: Stream, bytes: &[u8]) -> usize {
        ring.fill(stream, usize::MAX, |slices| {
            let mut rest = bytes;
            for slice in slices {
                let count = slice.len().min(rest.len());
                slice[..count].copy_from_slice(&rest[..count]);
                rest = &rest[count..];
            }
            Ok(bytes.len() - rest.len())
        })
        .or_else(|errno| if errno == nix::errno::Errno::EAGAIN { Ok(0) } else { Err(errno) })
        .unwrap()
    }

    #[test]
    fn a_full_ring_is_no_end() {
        let mut ring = Ring::new(2);
        write(&mut ring, Stream::Stdout, b"ab");
        assert_eq!(ring.fill(Stream::Stderr, 9, |_| Ok(0)), Err(nix::errno::Errno::EAGAIN));
    }

    #[test]
    fn wraps_and_waits() {
        let mut ring = Ring::new(4);
        assert_eq!(write(&mut ring, Stream::Stdout, b"abcdef"), 4);
        assert!(ring.is_full());
        ring.ack(3);
        assert_eq!(write(&mut ring, Stream::Stderr, b"xyz"), 3);
        let piece = ring.piece(3, 9).unwrap();
        assert_eq!(piece, Piece { stream: Stream::Stdout, offset: 3, seq: 3, data: b"d" });
        let piece = ring.piece(4, 9).unwrap();
        assert_eq!(piece, Piece { stream: Stream::Stderr, offset: 0, seq: 4, data: b"xyz" });
        assert_eq!(ring.piece(7, 9), None);
        ring.ack(99);
        assert_eq!((ring.acked(), ring.written()), (7, 7));
    }

    proptest! {
        /// Against the model of two plain vectors: nothing lost, nothing doubled, order kept.
        #[test]
        fn equals_a_model(
            capacity in 1..40_usize,
            steps in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..30), 0..30_u64), 0..60),
        ) {
            let mut ring = Ring::new(capacity);
            let (mut order, mut seen) = (Vec::new(), Vec::new());
            let mut cursor = 0;
            for (err, bytes, ack) in steps {
                let stream = if err { Stream::Stderr } else { Stream::Stdout };
                let count = write(&mut ring, stream, &bytes);
                prop_assert!(count <= bytes.len());
                order.extend(bytes[..count].iter().map(|byte| (stream, *byte)));
                while let Some(piece) = ring.piece(cursor, 7) {
                    prop_assert_eq!(piece.seq, cursor);
                    let before = seen.iter().filter(|(stream, _)| *stream == piece.stream).count();
                    prop_assert_eq!(piece.offset, before as u64);
                    seen.extend(piece.data.iter().map(|byte| (piece.stream, *byte)));
                    cursor += piece.data.len() as u64;
                }
                ring.ack((ring.acked() + ack).min(cursor));
            }
            prop_assert_eq!(order, seen);
        }
    }
}
