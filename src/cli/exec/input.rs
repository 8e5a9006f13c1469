//! Our standard input, carried to the command within its window.

use std::io::{IsTerminal as _, Read as _};

use tokio::sync::mpsc;

use crate::error::Failure;
use crate::runner::Running;

/// Bytes read at once.
const CHUNK: usize = 32 * 1024;
/// Bytes that may be on their way: below what the sandbox's init accepts (256 KiB).
const WINDOW: u64 = 192 * 1024;

/// Reads on a thread of its own: a blocking read cannot be cancelled, and the process does not wait for it.
pub(super) struct Input {
    chunks: Option<mpsc::Receiver<Vec<u8>>>,
    sent: u64,
    taken: u64,
    wanted: bool,
}

impl Input {
    /// Starts reading where `wanted`.
    pub(super) fn open(wanted: bool) -> Self {
        let chunks = wanted.then(|| {
            let (sender, chunks) = mpsc::channel(2);
            std::thread::spawn(move || pump(&sender));
            chunks
        });
        Self { chunks, sent: 0, taken: 0, wanted }
    }

    pub(super) fn is_open(&self) -> bool {
        self.chunks.is_some()
    }

    /// There may be more, and there is room for it.
    pub(super) fn wants(&self) -> bool {
        self.chunks.is_some() && self.sent.saturating_sub(self.taken) < WINDOW
    }

    /// The next bytes; `None` once at the end.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        let chunk = match &mut self.chunks {
            Some(chunks) => chunks.recv().await,
            None => std::future::pending().await,
        };
        match &chunk {
            Some(data) => self.sent += u64::try_from(data.len()).unwrap_or(0),
            None => self.chunks = None,
        }
        chunk
    }

    /// The command has taken bytes up to here, or wants no more.
    pub(super) fn taken(&mut self, taken: u64, closed: bool) {
        self.taken = self.taken.max(taken);
        if closed {
            self.chunks = None;
        }
    }

    /// Without input there is nothing to end: the command was started with its input at the end.
    pub(super) async fn end_if_wanted(&self, running: &mut Running) -> Result<(), Failure> {
        if self.wanted {
            running.close_input().await?;
        }
        Ok(())
    }
}

fn pump(sender: &mpsc::Sender<Vec<u8>>) {
    let mut stdin = std::io::stdin().lock();
    let terminal = std::io::stdin().is_terminal();
    loop {
        let mut chunk = vec![0; CHUNK];
        match stdin.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                chunk.truncate(count);
                if sender.blocking_send(chunk).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // A terminal that is taken from us reads as an error; there is nothing more to come either way.
            Err(error) => {
                tracing::debug!(%error, terminal, "standard input ended with an error");
                return;
            }
        }
    }
}
