//! Cuts a byte stream into messages, as the loops of both sides do.

use creel::wire::{Assembler, WireError};

/// A message as its kind and payload.
pub type Message = (u8, Vec<u8>);

/// Feeds `bytes` in chunks of `step`; the messages up to the first error, and that error.
pub fn cut(bytes: &[u8], step: usize, limit: usize) -> (Vec<Message>, Option<WireError>) {
    let mut assembler = Assembler::new(limit);
    let (mut unread, mut seen) = (Vec::new(), Vec::new());
    for chunk in bytes.chunks(step) {
        unread.extend_from_slice(chunk);
        loop {
            let (used, message) = match assembler.next(&unread) {
                Ok((used, message)) => (used, message.map(|one| (one.kind, one.payload.into_owned()))),
                Err(error) => return (seen, Some(error)),
            };
            assert!(used <= unread.len(), "more bytes used than there were");
            unread.drain(..used);
            let Some(message) = message else { break };
            assert!(message.1.len() <= limit, "a message of {} bytes passed the limit", message.1.len());
            seen.push(message);
        }
    }
    (seen, None)
}

/// The one message that `frames` hold.
pub fn single(assembler: &mut Assembler, frames: &[u8]) -> Message {
    match assembler.next(frames) {
        Ok((used, Some(message))) => {
            assert_eq!(used, frames.len());
            (message.kind, message.payload.into_owned())
        }
        other => panic!("our own frames are no message: {other:?}"),
    }
}
