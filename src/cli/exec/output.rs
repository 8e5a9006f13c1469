//! The command's streams onto ours, on a thread of its own so that a slow reader never keeps a signal waiting.

use std::thread::JoinHandle;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::wire::Stream;

/// Pieces that may wait; when they do, the command's output is not acknowledged and the command waits too.
const PIECES: usize = 16;

/// Why the command's output went nowhere.
#[derive(Debug)]
pub(in crate::cli) enum Unwritten {
    /// Our reader is gone: the command has nobody to talk to, as under a shell's SIGPIPE.
    ReaderGone,
    /// The stream does not take it: a full disk, an unreadable device.
    Failed(std::io::Error),
}

/// Both streams.
pub(in crate::cli) struct Output {
    pieces: Option<mpsc::Sender<(Stream, Bytes)>>,
    writer: Option<JoinHandle<Result<(), Unwritten>>>,
}

impl Output {
    /// Opens the streams; with `closed` (a JSON result) nothing is ever written.
    pub(in crate::cli) fn open(closed: bool) -> Self {
        if closed {
            return Self { pieces: None, writer: None };
        }
        let (sender, receiver) = mpsc::channel(PIECES);
        Self { pieces: Some(sender), writer: Some(std::thread::spawn(move || drain(receiver))) }
    }

    /// Hands a piece over. False when it is not taken any more; [`Output::close`] says why.
    pub(in crate::cli) async fn write(&mut self, stream: Stream, data: Bytes) -> bool {
        let Some(pieces) = &self.pieces else { return true };
        let sent = pieces.send((stream, data)).await.is_ok();
        if !sent {
            self.pieces = None;
        }
        sent
    }

    /// Waits until everything is written.
    pub(in crate::cli) fn close(self) -> Result<(), Unwritten> {
        drop(self.pieces);
        self.writer.map_or(Ok(()), |writer| writer.join().unwrap_or(Err(Unwritten::ReaderGone)))
    }
}

/// Writes straight to the descriptors: no buffer of ours holds a line back.
fn drain(mut pieces: mpsc::Receiver<(Stream, Bytes)>) -> Result<(), Unwritten> {
    while let Some((stream, data)) = pieces.blocking_recv() {
        match stream {
            Stream::Stdout => write(&rustix::stdio::stdout(), &data)?,
            Stream::Stderr => write(&rustix::stdio::stderr(), &data)?,
        }
    }
    Ok(())
}

fn write(fd: &impl std::os::fd::AsFd, mut data: &[u8]) -> Result<(), Unwritten> {
    while !data.is_empty() {
        match rustix::io::write(fd, data) {
            Ok(count) => data = data.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                // Somebody left our output non-blocking; wait until it takes more.
                let mut waits = [rustix::event::PollFd::new(fd, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut waits, None);
            }
            Err(rustix::io::Errno::PIPE) => return Err(Unwritten::ReaderGone),
            Err(errno) => return Err(Unwritten::Failed(errno.into())),
        }
    }
    Ok(())
}
