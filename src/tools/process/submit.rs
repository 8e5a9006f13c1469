//! `submit`: the Enter key (spec `exec.md` §7.7).

use super::Reply;
use super::deliver::{deliver, sent};
use super::desk::{self, Desk};
use crate::process::keys;
use crate::process::record::SessionId;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId) -> Result<Reply, Reply> {
    let view = desk.writable(id)?;
    deliver(desk, &view, keys::SUBMIT.to_vec(), false).await?;
    Ok(sent(&view, format!("Submitted session {} (sent CR).", desk::told(id))))
}
