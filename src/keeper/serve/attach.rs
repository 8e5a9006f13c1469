//! A session's output as it comes, from a position on: raw, for a terminal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Reply;
use super::methods::{told, view};
use super::rows::Row;
use crate::keeper::KeeperError;
use crate::keeper::error::Told;
use crate::process::record::{SessionId, View};
use crate::process::screen::{Screen, Size};
use crate::process::sessions::{Piece, Sessions};
use crate::wire::Stream;

/// Bytes read at once.
const CHUNK: usize = 48 * 1024;
/// Bytes of output from which the screen is drawn that an attached terminal begins with.
const REPLAY: u64 = 256 * 1024;
/// Bytes from whose end the last lines of a session without a terminal are taken.
const LAST_LINES: u64 = 32 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Asked {
    session_id: String,
    /// Where to begin; without it with what can be seen now.
    #[serde(default)]
    from: Option<u64>,
    /// Rows and columns of the caller's terminal.
    #[serde(default)]
    size: Option<(u16, u16)>,
    /// The caller gives the session's terminal its own size.
    #[serde(default)]
    fits: bool,
}

/// Gives a terminal back the size that it began with, whatever way its caller leaves.
struct Fitted<'a> {
    sessions: &'a Sessions,
    id: &'a SessionId,
    size: Option<(u16, u16)>,
}

impl Drop for Fitted<'_> {
    fn drop(&mut self) {
        if let Some(size) = self.size {
            self.sessions.restore_size(self.id, size);
        }
    }
}

/// Sends `{"row", "screen", "from"}` first where no position is given, then `{"pieces": […], "next"}`, until the session
/// has ended or the caller takes it back. The result is how it stands then.
pub(super) async fn run(sessions: &Sessions, asked: Asked, reply: &Reply) -> Result<Value, Told> {
    let id = SessionId(asked.session_id.clone());
    let begin = view(sessions, &asked.session_id)?;
    let _fitted = Fitted { sessions, id: &id, size: begin.begin.tty.filter(|_| asked.fits) };
    let mut from = if let Some(from) = asked.from {
        from
    } else {
        let (from, screen) = replay(sessions, &begin, asked.size.unwrap_or((24, 80)))?;
        let first = json!({ "row": Row::of(&begin, begin.last_output_ms), "screen": screen, "from": from });
        if !reply.update(first).await {
            return Err(KeeperError::Ending.into());
        }
        from
    };
    let Some(mut news) = sessions.watch(&id) else {
        return Err(KeeperError::NoSession(asked.session_id).into());
    };
    loop {
        news.mark_unchanged();
        // Looked at before the output: what was printed before the end is then there.
        let Some(now) = sessions.view(&id) else {
            return Err(KeeperError::NoSession(asked.session_id).into());
        };
        let pieces = told(sessions.raw(&id, from, CHUNK))?;
        if let Some(next) = pieces.last().map(after) {
            from = next;
            let pieces: Vec<Value> = pieces.iter().map(piece).collect();
            if !reply.update(json!({ "pieces": pieces, "next": from })).await {
                return Err(KeeperError::Ending.into());
            }
            if reply.cancelled.is_cancelled() {
                return Ok(json!({ "detached": true, "next": from }));
            }
            continue;
        }
        if now.end.is_some() {
            return Ok(json!({ "row": Row::of(&now, now.last_output_ms), "next": from }));
        }
        tokio::select! {
            () = reply.cancelled.cancelled() => return Ok(json!({ "detached": true, "next": from })),
            // Its sender lives as long as its session: the next look tells that it is gone.
            _ = news.changed() => {}
        }
    }
}

fn piece(piece: &Piece) -> Value {
    let stream = if piece.stream == Stream::Stderr { "stderr" } else { "stdout" };
    json!({ "stream": stream, "seq": piece.seq, "data": STANDARD.encode(&piece.data) })
}

/// The position after a piece.
fn after(piece: &Piece) -> u64 {
    piece.seq.saturating_add(u64::try_from(piece.data.len()).unwrap_or(0))
}

/// Where to begin so that the caller sees what can be seen now: for a terminal its screen, drawn here, so that no
/// question in old output is answered by the caller's terminal; else the position of the last lines.
fn replay(sessions: &Sessions, view: &View, size: (u16, u16)) -> Result<(u64, Option<Value>), Told> {
    let Some((rows, cols)) = view.begin.tty else {
        return Ok((last_lines(sessions, view, usize::from(size.0))?, None));
    };
    let size = Size::new(cols, rows).unwrap_or_default();
    let Ok(mut screen) = Screen::new(size) else { return Ok((view.written, None)) };
    let mut from = view.written.saturating_sub(REPLAY);
    let until = view.written;
    while from < until {
        let pieces = told(sessions.raw(&view.id, from, CHUNK))?;
        let Some(next) = pieces.last().map(after) else { break };
        for piece in &pieces {
            screen.feed(&piece.data);
        }
        from = next;
    }
    Ok((from, Some(json!(screen.view()))))
}

fn last_lines(sessions: &Sessions, view: &View, rows: usize) -> Result<u64, Told> {
    let start = view.written.saturating_sub(LAST_LINES);
    let mut ends = Vec::new();
    let mut from = start;
    while from < view.written {
        let pieces = told(sessions.raw(&view.id, from, CHUNK))?;
        let Some(next) = pieces.last().map(after) else { break };
        for piece in &pieces {
            let at = piece.data.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.extend(at.map(|(at, _)| piece.seq + u64::try_from(at).unwrap_or(0) + 1));
        }
        from = next;
    }
    ends.pop_if(|end| *end == view.written);
    let keep = rows.saturating_sub(1).max(1);
    Ok(ends.len().checked_sub(keep).and_then(|at| ends.get(at).copied()).unwrap_or(start))
}
