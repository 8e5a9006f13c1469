//! How output is framed on a raw connection: an eight-byte header before each piece, nothing on a terminal. Pure.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio_util::codec::Decoder;

use super::Stdio;

/// Bytes of a header: stream, three zeros, length in network order.
const HEADER: usize = 8;

/// Takes pieces of output off the wire without copying. A piece may be handed out in parts: the length in a header
/// is never a reason to hold memory.
#[derive(Debug)]
pub(super) enum Output {
    /// A terminal: every byte is output.
    Raw,
    /// Framed.
    Framed {
        /// Stream of the piece under way.
        stream: Stdio,
        /// Bytes of it still to come.
        left: usize,
    },
}

impl Output {
    /// Output of a command with or without a terminal.
    pub(super) fn new(tty: bool) -> Self {
        if tty { Self::Raw } else { Self::Framed { stream: Stdio::Stdout, left: 0 } }
    }
}

impl Decoder for Output {
    type Item = (Stdio, Bytes);
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let Self::Framed { stream, left } = self else {
            return Ok(if src.is_empty() { None } else { Some((Stdio::Stdout, src.split().freeze())) });
        };
        while *left == 0 {
            let Some(header) = src.first_chunk::<HEADER>().copied() else { return Ok(None) };
            (*stream, *left) = piece(header)?;
            src.advance(HEADER);
        }
        if src.is_empty() {
            return Ok(None);
        }
        let part = src.split_to(src.len().min(*left));
        *left -= part.len();
        Ok(Some((*stream, part.freeze())))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        match self.decode(src)? {
            Some(item) => Ok(Some(item)),
            None if src.is_empty() && matches!(self, Self::Raw | Self::Framed { left: 0, .. }) => Ok(None),
            None => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection ended inside a piece of output",
            )),
        }
    }
}

/// Stream and length of the piece that a header announces.
fn piece(header: [u8; HEADER]) -> io::Result<(Stdio, usize)> {
    let [stream, _, _, _, a, b, c, d] = header;
    let stream = match stream {
        // The engine announces 0 (stdin) for output nowhere that was seen; its own client takes it for stdout too.
        0 | 1 => Stdio::Stdout,
        2 => Stdio::Stderr,
        other => {
            let text = format!("stream {other} in the output of a command");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
    };
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    Ok((stream, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(stream: u8, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![stream, 0, 0, 0];
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(data);
        bytes
    }

    /// Everything decoded when the bytes arrive in pieces of `step`.
    fn decode(mut output: Output, bytes: &[u8], step: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut buffer = BytesMut::new();
        let mut keep = |(stream, data): (Stdio, Bytes)| match stream {
            Stdio::Stdout => out.extend(data),
            Stdio::Stderr => err.extend(data),
        };
        for part in bytes.chunks(step) {
            buffer.extend_from_slice(part);
            while let Some(item) = output.decode(&mut buffer)? {
                keep(item);
            }
        }
        while let Some(item) = output.decode_eof(&mut buffer)? {
            keep(item);
        }
        Ok((out, err))
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(
            pieces in proptest::collection::vec((1_u8..=2, proptest::collection::vec(any::<u8>(), 0..50)), 0..8),
            step in 1_usize..40,
        ) {
            let bytes: Vec<u8> = pieces.iter().flat_map(|(stream, data)| frame(*stream, data)).collect();
            let of = |which: u8| -> Vec<u8> {
                pieces.iter().filter(|(stream, _)| *stream == which).flat_map(|(_, data)| data.clone()).collect()
            };
            prop_assert_eq!(decode(Output::new(false), &bytes, step).unwrap(), (of(1), of(2)));
            prop_assert_eq!(decode(Output::new(true), &bytes, step).unwrap(), (bytes, Vec::new()));
        }
    }

    #[test]
    fn a_cut_piece_is_an_error_not_an_end() {
        let bytes = frame(1, b"hello");
        assert!(decode(Output::new(false), &bytes[..10], 64).is_err());
        assert!(decode(Output::new(false), &bytes[..5], 64).is_err());
        assert!(decode(Output::new(false), &frame(9, b"x"), 64).is_err());
    }

    #[test]
    fn a_huge_length_is_passed_on_as_it_comes() {
        let mut output = Output::new(false);
        let mut buffer = BytesMut::from(&[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, b'a', b'b'][..]);
        assert_eq!(output.decode(&mut buffer).unwrap(), Some((Stdio::Stdout, Bytes::from_static(b"ab"))));
        assert_eq!(output.decode(&mut buffer).unwrap(), None);
    }
}
