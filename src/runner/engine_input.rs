//! Standard input of a command over the engine: kept here until the engine takes it, so that whoever writes never
//! waits for a command that itself waits for its output to be read.

use std::pin::Pin;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::running::Progress;

/// Progress is told after so many bytes, or when nothing is left.
const TELL_EVERY: u64 = 64 * 1024;

/// What is on its way in.
#[derive(Debug, Default)]
pub(super) struct Input {
    pending: BytesMut,
    taken: u64,
    told: u64,
    eof: bool,
    closed: bool,
    told_closed: bool,
}

impl Input {
    /// Puts bytes behind what waits already; after the end they are dropped.
    pub(super) fn push(&mut self, data: &[u8]) {
        if !self.closed && !self.eof {
            self.pending.extend_from_slice(data);
        }
    }

    /// Nothing follows what waits.
    pub(super) fn end(&mut self) {
        self.eof = true;
    }

    /// Writes once; never returns where there is nothing to write. Dropped halfway, nothing is lost.
    pub(super) async fn feed(&mut self, mut writer: Pin<&mut (dyn AsyncWrite + Send + Sync)>) {
        if self.closed || (self.pending.is_empty() && !self.eof) {
            return std::future::pending().await;
        }
        if self.pending.is_empty() {
            let _ = writer.shutdown().await;
            self.closed = true;
            return;
        }
        if let Ok(count @ 1..) = writer.write(&self.pending).await {
            self.pending.advance(count);
            self.taken += u64::try_from(count).unwrap_or(0);
        } else {
            // A command that takes no more is no error: it will end.
            self.pending.clear();
            self.closed = true;
        }
    }

    /// What the writer has not been told yet.
    pub(super) fn news(&mut self) -> Option<Progress> {
        let far = self.taken - self.told >= TELL_EVERY || (self.taken > self.told && self.pending.is_empty());
        if !far && (!self.closed || self.told_closed) {
            return None;
        }
        (self.told, self.told_closed) = (self.taken, self.closed);
        Some(Progress::Input { taken: self.taken, closed: self.closed })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_full_pipe_makes_nobody_wait() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut writer: Pin<Box<dyn AsyncWrite + Send + Sync>> = Box::pin(near);
        let mut input = Input::default();
        input.push(b"0123456789ab");
        input.end();
        input.feed(writer.as_mut()).await;
        assert_eq!(input.news(), None, "something is left, and it is not much");
        let full = tokio::time::timeout(Duration::from_millis(20), input.feed(writer.as_mut())).await;
        assert!(full.is_err());
        let mut read = [0; 8];
        far.read_exact(&mut read).await.unwrap();
        input.feed(writer.as_mut()).await;
        assert_eq!(input.news(), Some(Progress::Input { taken: 12, closed: false }));
        input.feed(writer.as_mut()).await;
        assert_eq!(input.news(), Some(Progress::Input { taken: 12, closed: true }));
        assert_eq!(input.news(), None);
        let mut rest = Vec::new();
        far.read_to_end(&mut rest).await.unwrap();
        assert_eq!((&read, rest.as_slice()), (b"01234567", b"89ab".as_slice()));
    }
}
