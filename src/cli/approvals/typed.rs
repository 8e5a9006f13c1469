//! Lines that are typed or sent, read on a thread of its own: a blocking read cannot be cancelled, and the process does not
//! wait for it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

/// Longest line that is read.
const LONGEST: u64 = 64 * 1024;
/// What was typed before a question stood there is no answer to it.
const REFLEX: Duration = Duration::from_millis(300);

/// Lines, each with the time at which it came.
pub(in crate::cli) struct Lines {
    lines: mpsc::Receiver<(String, Instant)>,
}

impl Lines {
    /// Those of standard input.
    pub(in crate::cli) fn of_stdin() -> Self {
        Self::of(|sender| pump(&mut std::io::stdin().lock(), &sender))
    }

    /// Those of a terminal.
    pub(in crate::cli) fn of_terminal(terminal: &Terminal) -> std::io::Result<Self> {
        let file = terminal.file.try_clone()?;
        Ok(Self::of(move |sender| pump(&mut BufReader::new(file), &sender)))
    }

    fn of(read: impl FnOnce(mpsc::Sender<(String, Instant)>) + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || read(sender));
        Self { lines }
    }

    /// The next line; `None` at the end.
    pub(in crate::cli) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await.map(|(line, _)| line)
    }

    /// The next line that was typed with `since` on the screen.
    pub(in crate::cli) async fn typed(&mut self, since: Instant) -> Option<String> {
        loop {
            let (line, at) = self.lines.recv().await?;
            if at.saturating_duration_since(since) >= REFLEX {
                return Some(line);
            }
        }
    }
}

fn pump(input: &mut impl BufRead, sender: &mpsc::Sender<(String, Instant)>) {
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if sender.blocking_send((line, Instant::now())).is_err() {
            return;
        }
    }
}

/// The terminal of this process, whatever its standard input is.
pub(in crate::cli) struct Terminal {
    file: File,
}

impl Terminal {
    /// Opens it, where we are in its foreground: a background process that read from it would be stopped.
    pub(in crate::cli) fn open() -> Option<Self> {
        let file = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let ours = rustix::termios::tcgetpgrp(&file).ok()? == rustix::process::getpgrp();
        ours.then_some(Self { file })
    }

    /// Writes text of others made safe, and throws away what was typed before it.
    pub(in crate::cli) fn say(&self, text: &str) {
        let _ = (&self.file).write_all(crate::shown::lines(text).as_bytes());
        let _ = rustix::termios::tcflush(&self.file, rustix::termios::QueueSelector::IFlush);
    }
}
