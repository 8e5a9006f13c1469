//! `write`: raw text to the input, and its end (spec `exec.md` §7.7).

use super::Reply;
use super::deliver::{deliver, sent};
use super::desk::{self, Desk};
use super::params::Params;
use crate::process::keys;
use crate::process::record::SessionId;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId, params: Params) -> Result<Reply, Reply> {
    let view = desk.writable(id)?;
    let data = params.data.unwrap_or_default().into_bytes();
    let (length, eof) = (data.len(), params.eof.unwrap_or_default());
    keys::bounded(length).map_err(|error| Reply::failed(error.to_string()))?;
    deliver(desk, &view, data, eof).await?;
    let closed = if eof { " (stdin closed)" } else { "" };
    Ok(sent(&view, format!("Wrote {length} bytes to session {}{closed}.", desk::told(id))))
}
