//! Input that was sent to a command and is not known to have arrived. Pure.

/// What is sent again when a connection broke. Bounded by what init lets wait for a program.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Position of the first byte kept, counted from the command's start.
    from: u64,
    bytes: Vec<u8>,
    /// Its end was sent too.
    ended: bool,
}

impl Sent {
    /// Follows the bytes before.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Nothing follows.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// The command has taken everything before `place`.
    pub(super) fn taken(&mut self, place: u64) {
        let count = usize::try_from(place.saturating_sub(self.from)).unwrap_or(usize::MAX);
        self.bytes.drain(..count.min(self.bytes.len()));
        self.from = self.from.max(place);
        if self.bytes.is_empty() {
            // Nothing is kept for quiet sessions.
            self.bytes = Vec::new();
        }
    }

    /// What a new connection has to send, where the command's input goes on at `place`, and whether that is its end.
    pub(super) fn again(&mut self, place: u64) -> (Vec<u8>, bool) {
        self.taken(place);
        (self.bytes.clone(), self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_arrive_is_sent_again() {
        let mut sent = Sent::default();
        sent.push(b"abc");
        sent.push(b"def");
        sent.taken(2);
        sent.taken(1);
        assert_eq!(sent.again(4), (b"ef".to_vec(), false));
        sent.end();
        assert_eq!(sent.again(6), (Vec::new(), true));
        // Another creel sent the beginning.
        let mut later = Sent::default();
        later.taken(100);
        later.push(b"xy");
        assert_eq!(later.again(101), (b"y".to_vec(), false));
    }
}
