//! What a sandbox sends, read by the host. The sandbox is hostile.

#![no_main]

use creel::wire::{
    Assembler, FromInit, HEADER, MAX_FROM_INIT, OUTPUT_KIND, OUTPUT_PREFIX, output_fields, output_head,
};

#[path = "../common/stream.rs"]
mod stream;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (messages, verdict) = stream::cut(bytes, bytes.len().max(1), MAX_FROM_INIT);
    assert_eq!(stream::cut(bytes, 5, MAX_FROM_INIT), (messages.clone(), verdict));
    for (kind, payload) in messages {
        // The way that does not copy must agree with the way that does.
        let fields = (kind == OUTPUT_KIND).then(|| output_fields(&payload));
        let message = match FromInit::decode(kind, &payload) {
            Ok(message) => message,
            Err(error) => {
                assert!(fields.is_none_or(|fields| fields == Err(error)));
                continue;
            }
        };
        if let FromInit::Output(output) = &message {
            let same = (output.id, output.stream, output.offset, output.seq);
            assert_eq!(fields, Some(Ok(same)));
            assert_eq!(payload.get(OUTPUT_PREFIX..), Some(output.data.as_slice()));
            let head = output_head(output.id, output.stream, output.offset, output.seq, output.data.len());
            assert_eq!(head.get(HEADER..), payload.get(..OUTPUT_PREFIX));
        }
        let mut frames = Vec::new();
        message.encode(&mut frames);
        let again = stream::single(&mut Assembler::new(MAX_FROM_INIT), &frames);
        assert_eq!(again, (kind, payload), "{message:?} encodes to other bytes than it came from");
    }
});
