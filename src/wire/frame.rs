//! Frames: four bytes of length, one of kind, one of flags, then the payload. A message is one or more frames.

use super::codec::WireError;

/// Bytes before each payload.
pub const HEADER: usize = 6;
/// Largest payload of one frame (design §10: frames of at most 64 KiB, header included).
pub const MAX_PAYLOAD: usize = 64 * 1024 - HEADER;
/// Largest message to init: the kernel's own limit for arguments and environment is 2 MiB by default.
pub const MAX_TO_INIT: usize = 4 * 1024 * 1024;
/// Largest message from init; what is larger than a frame is only the table and the facts.
pub const MAX_FROM_INIT: usize = 1024 * 1024;

/// More frames of the same message follow.
const MORE: u8 = 1;

/// Appends `payload` to `out`, cut into frames.
pub(super) fn put(kind: u8, payload: &[u8], out: &mut Vec<u8>) {
    let mut rest = payload;
    loop {
        let (head, tail) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&header(kind, head.len(), !tail.is_empty()));
        out.extend_from_slice(head);
        if tail.is_empty() {
            return;
        }
        rest = tail;
    }
}

/// A frame's header. `len` is at most [`MAX_PAYLOAD`].
pub(super) fn header(kind: u8, len: usize, more: bool) -> [u8; HEADER] {
    let [a, b, c, d] = u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
    [a, b, c, d, kind, if more { MORE } else { 0 }]
}

/// One frame at the start of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame<'a> {
    kind: u8,
    more: bool,
    payload: &'a [u8],
}

/// The frame at the start of `bytes`, or `None` while it is incomplete.
fn peek(bytes: &[u8]) -> Result<Option<Frame<'_>>, WireError> {
    let Some((head, tail)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let [a, b, c, d, kind, flags] = *head;
    let len = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if len > MAX_PAYLOAD {
        return Err(WireError::TooLarge(len));
    }
    if flags & !MORE != 0 {
        return Err(WireError::Value("flags"));
    }
    Ok(tail.get(..len).map(|payload| Frame { kind, more: flags & MORE != 0, payload }))
}

/// Cuts a byte stream into messages and puts long ones together, within a limit.
#[derive(Debug)]
pub struct Assembler {
    limit: usize,
    partial: Option<(u8, Vec<u8>)>,
}

/// One message, not yet decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct RawMessage<'a> {
    /// Its number.
    pub kind: u8,
    /// Its fields; borrowed from the input where the message was one frame.
    pub payload: std::borrow::Cow<'a, [u8]>,
}

impl Assembler {
    /// An assembler that refuses messages above `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, partial: None }
    }

    /// Takes frames from the start of `bytes` until a message is whole. Returns how many bytes were used, and the
    /// message if there was one; with `None` the caller reads more and calls again with what was not used.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Option<RawMessage<'a>>), WireError> {
        let mut used = 0;
        while let Some(frame) = peek(bytes.get(used..).unwrap_or_default())? {
            used += HEADER + frame.payload.len();
            let whole = self.partial.is_none() && !frame.more;
            if whole {
                let payload = std::borrow::Cow::Borrowed(frame.payload);
                return Ok((used, Some(RawMessage { kind: frame.kind, payload })));
            }
            let (kind, mut joined) = self.partial.take().unwrap_or((frame.kind, Vec::new()));
            if kind != frame.kind {
                return Err(WireError::Value("kind of a continued frame"));
            }
            let size = joined.len() + frame.payload.len();
            if size > self.limit {
                return Err(WireError::TooLarge(size));
            }
            joined.extend_from_slice(frame.payload);
            if !frame.more {
                let payload = std::borrow::Cow::Owned(joined);
                return Ok((used, Some(RawMessage { kind, payload })));
            }
            self.partial = Some((kind, joined));
        }
        Ok((used, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(bytes: &[u8], step: usize, limit: usize) -> Result<Vec<(u8, Vec<u8>)>, WireError> {
        let mut assembler = Assembler::new(limit);
        let (mut buffer, mut seen) = (Vec::new(), Vec::new());
        for chunk in bytes.chunks(step) {
            buffer.extend_from_slice(chunk);
            loop {
                let (used, message) = assembler.next(&buffer)?;
                let message = message.map(|message| (message.kind, message.payload.into_owned()));
                buffer.drain(..used);
                match message {
                    Some(message) => seen.push(message),
                    None => break,
                }
            }
        }
        Ok(seen)
    }

    #[test]
    fn messages_survive_any_cut() {
        let long = vec![7_u8; 3 * MAX_PAYLOAD + 5];
        let mut bytes = Vec::new();
        put(1, b"", &mut bytes);
        put(2, &long, &mut bytes);
        put(3, b"abc", &mut bytes);
        let want = vec![(1, vec![]), (2, long), (3, b"abc".to_vec())];
        for step in [1, 5, 6, 7, 4096, usize::MAX] {
            assert_eq!(feed(&bytes, step, MAX_TO_INIT).unwrap(), want);
        }
    }

    #[test]
    fn limits_hold() {
        let mut bytes = Vec::new();
        put(2, &vec![0_u8; 2 * MAX_PAYLOAD], &mut bytes);
        assert_eq!(feed(&bytes, 4096, MAX_PAYLOAD), Err(WireError::TooLarge(2 * MAX_PAYLOAD)));
        assert!(feed(&[255, 255, 255, 255, 0, 0], 6, 10).is_err());
        assert_eq!(feed(&[0, 0, 0, 0, 0, 2], 6, 10), Err(WireError::Value("flags")));
        let mixed = [header(1, 0, true), header(2, 0, false)].concat();
        assert!(feed(&mixed, 12, 10).is_err());
    }
}
