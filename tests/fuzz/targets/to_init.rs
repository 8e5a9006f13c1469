//! What a host sends, read by PID 1: bytes → frames → messages, in one piece and in many.

#![no_main]

use creel::wire::{Assembler, MAX_TO_INIT, ToInit};

#[path = "../common/stream.rs"]
mod stream;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (messages, verdict) = stream::cut(bytes, bytes.len().max(1), MAX_TO_INIT);
    // However a stream is cut, the same messages come out of it.
    assert_eq!(stream::cut(bytes, 3, MAX_TO_INIT), (messages.clone(), verdict));
    for (kind, payload) in messages {
        let Ok(message) = ToInit::decode(kind, &payload) else { continue };
        let mut frames = Vec::new();
        message.encode(&mut frames);
        let again = stream::single(&mut Assembler::new(MAX_TO_INIT), &frames);
        assert_eq!(again, (kind, payload), "{message:?} encodes to other bytes than it came from");
    }
});
