//! The command's streams onto ours, on a thread of its own so that a slow reader never keeps a signal waiting.

use std::io::Write as _;
use std::thread::JoinHandle;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::wire::Stream;

/// Pieces that may wait; when they do, the command's output is not acknowledged and the command waits too.
const PIECES: usize = 16;

/// Both streams.
pub(super) struct Output {
    pieces: Option<mpsc::Sender<(Stream, Bytes)>>,
    /// Ends with true when our reader is gone.
    writer: Option<JoinHandle<bool>>,
}

impl Output {
    /// Opens the streams; with `closed` (a JSON result) nothing is ever written.
    pub(super) fn open(closed: bool) -> Self {
        if closed {
            return Self { pieces: None, writer: None };
        }
        let (sender, receiver) = mpsc::channel(PIECES);
        Self { pieces: Some(sender), writer: Some(std::thread::spawn(move || drain(receiver))) }
    }

    /// Hands a piece over. False when nobody reads it any more.
    pub(super) async fn write(&mut self, stream: Stream, data: Bytes) -> bool {
        let Some(pieces) = &self.pieces else { return true };
        let sent = pieces.send((stream, data)).await.is_ok();
        if !sent {
            self.pieces = None;
        }
        sent
    }

    /// Waits until everything is written. True when our reader was gone.
    pub(super) fn close(self) -> bool {
        drop(self.pieces);
        self.writer.is_some_and(|writer| writer.join().unwrap_or(true))
    }
}

/// Writes straight to the descriptors: no buffer of ours holds a line back.
fn drain(mut pieces: mpsc::Receiver<(Stream, Bytes)>) -> bool {
    while let Some((stream, data)) = pieces.blocking_recv() {
        let written = match stream {
            Stream::Stdout => write(&rustix::stdio::stdout(), &data),
            Stream::Stderr => std::io::stderr().write_all(&data).is_ok(),
        };
        if !written {
            return true;
        }
    }
    false
}

fn write(fd: &impl std::os::fd::AsFd, mut data: &[u8]) -> bool {
    while !data.is_empty() {
        match rustix::io::write(fd, data) {
            Ok(count) => data = data.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                // Somebody left our output non-blocking; wait until it takes more.
                let mut waits = [rustix::event::PollFd::new(fd, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut waits, None);
            }
            Err(_) => return false,
        }
    }
    true
}
