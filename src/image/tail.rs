//! The last lines of a tool's output: bounded, and clean enough for a message.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::progress::{Event, Progress};

/// Lines that a message quotes at most.
const LINES: usize = 12;
/// Bytes of one line that are kept.
const WIDTH: usize = 400;

/// Collects output; see the module.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    partial: Vec<u8>,
}

impl Tail {
    /// Reads `source` to its end, telling each line as progress. A read error counts as the end: the tool's exit
    /// status decides, its words are only quoted.
    pub(super) async fn drain(&mut self, mut source: impl AsyncRead + Unpin, progress: Progress<'_>) {
        let mut buffer = vec![0; 4096];
        while let Ok(count @ 1..) = source.read(&mut buffer).await {
            self.feed(buffer.get(..count).unwrap_or_default(), progress);
        }
        self.end_line(progress);
    }

    /// The lines kept, oldest first.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Takes one line that something else has split off already.
    pub(super) fn line(&mut self, line: &str, progress: Progress<'_>) {
        self.feed(line.as_bytes(), progress);
        self.end_line(progress);
    }

    fn feed(&mut self, bytes: &[u8], progress: Progress<'_>) {
        for byte in bytes {
            // A carriage return ends a line too: progress bars would otherwise be one endless line.
            if matches!(byte, b'\n' | b'\r') {
                self.end_line(progress);
            } else if self.partial.len() < WIDTH {
                self.partial.push(*byte);
            }
        }
    }

    fn end_line(&mut self, progress: Progress<'_>) {
        let line = String::from_utf8_lossy(&self.partial).replace('\t', " ").replace(char::is_control, "");
        self.partial.clear();
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        progress(Event::Line(line));
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_the_end_and_cleans_it() {
        let mut text = (0..30).fold(String::new(), |text, number| format!("{text}line {number}\n"));
        text.push_str("\u{1b}[31mred\u{7}\r\n");
        text.push_str(&"x".repeat(10_000));
        let seen = std::sync::Mutex::new(0);
        let mut tail = Tail::default();
        tail.drain(text.as_bytes(), &|_| *seen.lock().unwrap() += 1).await;
        let tail = tail.text();
        let lines: Vec<_> = tail.lines().collect();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[LINES - 2], "[31mred");
        assert_eq!(lines[LINES - 1].len(), WIDTH);
        assert_eq!(*seen.lock().unwrap(), 32);
    }
}
