//! A session taken over on this terminal.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::mpsc;

use super::detach::{Alternate, Keys};
use super::{Desk, read, stdin};
use crate::cli::exec::output::{Output, Unwritten};
use crate::cli::exec::terminal::{self, Raw};
use crate::cli::exec::{Signals, listen};
use crate::cli::print;
use crate::error::Failure;
use crate::keeper::{Connection, Gone, KeeperError, News, Pending, Row};
use crate::shown;
use crate::wire::Stream;

/// Bytes that may wait for the session to take them; more stay in the terminal.
const WAITING: usize = 64 * 1024;
/// Bytes of one request.
const REQUEST: usize = 16 * 1024;
/// How long the last request may take when the session is left.
const LAST: Duration = Duration::from_secs(2);
/// Modes that a program may have switched on, off again: mouse, paste marks, cursor keys, hidden cursor, colours.
const CALM: &[u8] = b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h\x1b[0m";

/// What is said of a keeper that was replaced meanwhile.
const REPLACED: &str = "creel: the keeper was replaced; a key that was pressed then may not have arrived";

/// How it ended here.
enum Left {
    /// The session ended.
    Ended(Box<Row>),
    /// By the keys.
    Keys,
    /// By a signal to creel.
    Signal(u8),
    /// Standard output takes no more.
    Reader,
}

pub(super) async fn run(desk: &Desk, session: &str) -> Result<u8, Failure> {
    let row = desk.row(session).await?;
    let (mut signals, mut resized) = (Signals::listen()?, listen(SignalKind::window_change())?);
    let name = shown::one_line(&row.session_id);
    if row.end.is_none() {
        let keys = if row.tty.is_some() { "Ctrl-P Ctrl-Q" } else { "Ctrl-C" };
        print::note(&format!("creel: attached to {name}; {keys} leaves it running"));
    }
    let raw = row.tty.and_then(|_| Raw::enter());
    let mut attached = Attached::new(row);
    let left = Box::pin(attached.follow(desk, &mut signals, &mut resized)).await;
    let (row, replaced) =
        attached.close(desk, left.as_ref().is_ok_and(|left| !matches!(left, Left::Ended(_)))).await;
    drop(raw);
    if replaced {
        print::note(REPLACED);
    }
    Ok(match left? {
        Left::Ended(end) => ended(&end),
        Left::Keys => {
            print::note(&format!("creel: {name} goes on; `creel process attach {name}` comes back"));
            0
        }
        Left::Signal(signal) => {
            print::note(&format!("creel: {} goes on", shown::one_line(&row.session_id)));
            128 + signal
        }
        Left::Reader => 128 + 13,
    })
}

/// What the end means for us.
fn ended(row: &Row) -> u8 {
    let Some(end) = &row.end else { return crate::error::EXIT_CREEL };
    let name = shown::one_line(&row.session_id);
    if let Some(lost) = &end.lost {
        print::note(&format!("creel: {name}: its result is lost: {}", shown::one_line(lost)));
    } else if let (None, Some(signal)) = (end.exit_code, end.exit_signal) {
        print::note(&format!("creel: {name} was ended by signal {signal}"));
    }
    end.exit_status
}

/// What is sent to the session, one after the other.
enum Send {
    Resize(u16, u16),
    End,
}

struct Attached {
    row: Row,
    /// Position of the next byte; `None` before the first.
    next: Option<u64>,
    typed: Option<mpsc::Receiver<Vec<u8>>>,
    keys: Keys,
    input: Vec<u8>,
    sends: VecDeque<Send>,
    /// Something was read: its end is the end of the session's input.
    had_input: bool,
    output: Output,
    alternate: Alternate,
    /// The keeper was replaced under a program that draws, which is not drawn over.
    replaced: bool,
    /// Our own streams are a terminal.
    shows: bool,
}

impl Attached {
    fn new(row: Row) -> Self {
        let ours = std::io::stdin().is_terminal();
        let reads = row.end.is_none() && (row.stdin_writable || ours && row.tty.is_some());
        Self {
            next: None,
            typed: reads.then(stdin::pieces),
            keys: Keys::default(),
            input: Vec::new(),
            sends: VecDeque::new(),
            had_input: ours,
            output: Output::open(false),
            alternate: Alternate::default(),
            replaced: false,
            shows: std::io::stdout().is_terminal(),
            row,
        }
    }

    /// At one keeper after the other, from the same position on.
    async fn follow(
        &mut self,
        desk: &Desk,
        signals: &mut Signals,
        resized: &mut Signal,
    ) -> Result<Left, Failure> {
        loop {
            let connection = tokio::select! {
                connection = desk.keepers.connection() => connection?,
                signal = signals.next() => return Ok(Left::Signal(signal)),
            };
            let fits = self.row.tty.is_some() && self.shows;
            let (session, size) = (&self.row.session_id, terminal::size());
            let params = json!({ "sessionId": session, "from": self.next, "size": size, "fits": fits });
            let Ok(pending) = connection.ask("process.attach", params).await else { continue };
            self.fit();
            if let Some(left) = Box::pin(self.talk(&connection, pending, signals, resized)).await? {
                return Ok(left);
            }
            if fits {
                self.replaced = true;
            } else {
                print::note(REPLACED);
            }
        }
    }

    /// Has the session's terminal take our size. A program that draws draws anew when the size changes, so one that is
    /// the same already is changed twice.
    fn fit(&mut self) {
        if self.row.tty.is_none() || !self.shows || self.row.end.is_some() {
            return;
        }
        let (rows, cols) = terminal::size();
        if self.row.tty == Some((rows, cols)) {
            self.sends.push_back(Send::Resize(rows, cols.saturating_sub(1).max(1)));
        }
        self.sends.push_back(Send::Resize(rows, cols));
    }

    /// Carries bytes back and forth; `None` when the keeper is gone.
    async fn talk(
        &mut self,
        connection: &Connection,
        mut output: Pending<'_>,
        signals: &mut Signals,
        resized: &mut Signal,
    ) -> Result<Option<Left>, Failure> {
        let mut sending: Option<Pending<'_>> = None;
        loop {
            if sending.is_none()
                && let Some((method, params)) = self.outgoing()
            {
                sending = connection.ask(method, params).await.ok();
            }
            tokio::select! {
                biased;
                signal = signals.next() => return Ok(Some(Left::Signal(signal))),
                news = output.next() => match news {
                    Ok(News::Update(update)) => if !self.show(&update).await? {
                        return Ok(Some(Left::Reader));
                    },
                    Ok(News::Done(Ok(done))) => {
                        let row = done.get("row").cloned().unwrap_or(Value::Null);
                        return Ok(Some(Left::Ended(Box::new(read(row)?))));
                    }
                    Ok(News::Done(Err(told))) => return Err(KeeperError::Told(told).into()),
                    Err(Gone) => return Ok(None),
                },
                done = next(&mut sending) => match done {
                    Ok(News::Update(_)) => {}
                    // Its input is closed, or it has just ended: the output tells.
                    Ok(News::Done(done)) => {
                        sending = None;
                        if done.is_err() {
                            self.input.clear();
                        }
                    }
                    Err(Gone) => return Ok(None),
                },
                typed = recv(&mut self.typed), if self.input.len() < WAITING => if self.take(typed) {
                    return Ok(Some(Left::Keys));
                },
                _ = resized.recv() => {
                    let (rows, cols) = terminal::size();
                    if self.row.tty.is_some() {
                        self.sends.push_back(Send::Resize(rows, cols));
                    }
                }
            }
        }
    }

    /// Takes what was typed; true when the keys leave the session.
    fn take(&mut self, typed: Option<Vec<u8>>) -> bool {
        let Some(typed) = typed else {
            self.typed = None;
            if self.row.tty.is_none() && self.had_input {
                self.sends.push_back(Send::End);
            }
            return false;
        };
        self.had_input = true;
        let (sent, left) = if self.row.tty.is_some() { self.keys.feed(&typed) } else { (typed, false) };
        if self.row.stdin_writable {
            self.input.extend(sent);
        }
        left
    }

    fn outgoing(&mut self) -> Option<(&'static str, Value)> {
        let id = &self.row.session_id;
        if !self.input.is_empty() {
            let rest = self.input.split_off(self.input.len().min(REQUEST));
            let data = std::mem::replace(&mut self.input, rest);
            return Some(("process.input", json!({ "sessionId": id, "data": STANDARD.encode(data) })));
        }
        Some(match self.sends.pop_front()? {
            Send::Resize(rows, cols) => {
                ("process.resize", json!({ "sessionId": id, "rows": rows, "cols": cols }))
            }
            Send::End => ("process.input", json!({ "sessionId": id, "eof": true })),
        })
    }

    /// Shows an update. False when nobody takes it.
    async fn show(&mut self, update: &Value) -> Result<bool, Failure> {
        if let Some(from) = update.get("from").and_then(Value::as_u64) {
            self.next = Some(from);
            let painted =
                update.get("screen").filter(|screen| screen.is_object()).map(|screen| self.paint(screen));
            return Ok(match painted {
                Some(painted) => self.output.write(Stream::Stdout, Bytes::from(painted)).await,
                None => true,
            });
        }
        let pieces = update.get("pieces").and_then(Value::as_array).cloned().unwrap_or_default();
        for piece in pieces {
            let data = piece.get("data").and_then(Value::as_str).unwrap_or_default();
            let data = STANDARD
                .decode(data)
                .map_err(|error| KeeperError::Strange(format!("output is not base64: {error}")))?;
            self.alternate.follow(&data);
            let stderr = piece.get("stream").and_then(Value::as_str) == Some("stderr");
            let stream = if stderr { Stream::Stderr } else { Stream::Stdout };
            if !self.output.write(stream, Bytes::from(data)).await {
                return Ok(false);
            }
        }
        self.next = update.get("next").and_then(Value::as_u64).or(self.next);
        Ok(true)
    }

    /// The screen as it stands, as text: what is old asks our terminal nothing.
    fn paint(&mut self, screen: &Value) -> Vec<u8> {
        let rows = screen.get("rows").and_then(Value::as_array).cloned().unwrap_or_default();
        let rows: Vec<String> =
            rows.iter().map(|row| shown::one_line(row.as_str().unwrap_or_default())).collect();
        let last = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |at| at + 1);
        let text = rows.get(..last).unwrap_or_default().join("\r\n");
        if !self.shows {
            return if text.is_empty() { Vec::new() } else { format!("{text}\r\n").into_bytes() };
        }
        let at = |name: &str| {
            screen.pointer(&format!("/cursor/{name}")).and_then(Value::as_u64).unwrap_or_default() + 1
        };
        self.alternate.on = screen.get("alternate").and_then(Value::as_bool).unwrap_or_default();
        let begin = if self.alternate.on { "\x1b[?1049h" } else { "" };
        format!("{begin}\x1b[2J\x1b[H{text}\x1b[{};{}H", at("row"), at("column")).into_bytes()
    }

    /// Leaves our terminal as it was, and the session's with the size that it had.
    async fn close(mut self, desk: &Desk, goes_on: bool) -> (Row, bool) {
        if self.row.tty.is_some() && self.shows {
            let mut last = if self.alternate.on { b"\x1b[?1049l".to_vec() } else { Vec::new() };
            last.extend_from_slice(CALM);
            if goes_on {
                last.extend_from_slice(b"\r\n");
            }
            let _ = self.output.write(Stream::Stdout, Bytes::from(last)).await;
        }
        if let (true, true, Some((rows, cols))) = (goes_on, self.shows, self.row.tty) {
            let params = json!({ "sessionId": self.row.session_id, "rows": rows, "cols": cols });
            // It may have ended meanwhile.
            let _ = tokio::time::timeout(LAST, desk.ask("process.resize", params)).await;
        }
        // What could not be written because the reader left is told by the exit status.
        if let Err(Unwritten::Failed(error)) = self.output.close() {
            print::broken(error.kind(), &error);
        }
        (self.row, self.replaced)
    }
}

async fn next(sending: &mut Option<Pending<'_>>) -> Result<News, Gone> {
    match sending {
        Some(sending) => sending.next().await,
        None => std::future::pending().await,
    }
}

async fn recv(typed: &mut Option<mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match typed {
        Some(typed) => typed.recv().await,
        None => std::future::pending().await,
    }
}
