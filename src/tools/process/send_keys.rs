//! `send-keys`: text, bytes and keys (spec `exec.md` §7.4).

use super::Reply;
use super::deliver::{deliver, sent};
use super::desk::{self, Desk};
use super::params::Params;
use crate::process::keys::{self, Encoded, Request};
use crate::process::record::{SessionId, View};

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId, params: Params) -> Result<Reply, Reply> {
    let view = desk.writable(id)?;
    let encoded = encoded(desk, &view, &params)?;
    let count = encoded.bytes.len();
    let warnings = encoded.warnings;
    deliver(desk, &view, encoded.bytes, false).await?;
    let text = format!("Sent {count} bytes to session {}.", desk::told(id));
    let warned = if warnings.is_empty() { text } else { format!("{text}\n{warnings}") };
    Ok(sent(&view, warned))
}

fn encoded(desk: &Desk<'_>, view: &View, params: &Params) -> Result<Encoded, Reply> {
    let request = Request {
        literal: params.literal.as_deref().unwrap_or_default(),
        hex: params.hex.as_deref().unwrap_or_default(),
        keys: params.keys.as_deref().unwrap_or_default(),
    };
    let mode = desk.sessions.cursor_keys(&view.id).unwrap_or_default();
    keys::encode(&request, mode).map_err(|error| Reply::failed(error.to_string()))
}
