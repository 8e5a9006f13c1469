//! `send-keys`: text, bytes and keys (spec `exec.md` §7.4).

use super::Reply;
use super::deliver::{deliver, sent};
use super::desk::{self, Desk};
use super::params::Params;
use super::replay;
use crate::process::keys::{self, CursorKeys, CursorTracker, Encoded, KeyError, Request};
use crate::process::record::{SessionId, View};

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId, params: Params) -> Result<Reply, Reply> {
    let view = desk.writable(id)?;
    let encoded = encoded(desk, &view, &params)?;
    let count = encoded.bytes.len();
    let warnings = encoded.warnings;
    deliver(desk, &view, encoded.bytes, false).await?;
    let mut text = format!("Sent {count} bytes to session {}.", desk::told(id));
    if !warnings.is_empty() {
        text += &format!("\n{warnings}");
    }
    Ok(sent(&view, text))
}

/// The output is read for the cursor key mode only where that makes a difference.
fn encoded(desk: &Desk<'_>, view: &View, params: &Params) -> Result<Encoded, Reply> {
    let request = Request {
        literal: params.literal.as_deref().unwrap_or_default(),
        hex: params.hex.as_deref().unwrap_or_default(),
        keys: params.keys.as_deref().unwrap_or_default(),
    };
    let refused = |error: KeyError| Reply::failed(error.to_string());
    let piped = view.begin.tty.is_none();
    let first = keys::encode(&request, if piped { CursorKeys::Normal } else { CursorKeys::Unknown })
        .map_err(refused)?;
    if piped || !first.cursor_sensitive {
        return Ok(first);
    }
    keys::encode(&request, cursor_mode(desk, view)).map_err(refused)
}

/// What the program has announced in the output that is kept.
fn cursor_mode(desk: &Desk<'_>, view: &View) -> CursorKeys {
    let mut tracker = CursorTracker::default();
    replay::each(desk, view, |bytes| tracker.feed(bytes));
    tracker.mode()
}
