//! `clear`: forget a finished session (spec `exec.md` §7.2).

use super::Reply;
use super::desk::{self, Desk, Found};
use crate::process::record::SessionId;

pub(super) fn run(desk: &Desk<'_>, id: &SessionId) -> Result<Reply, Reply> {
    let Found::Finished(_) = desk.find(id) else {
        return Err(Reply::failed(format!("No finished session found for {}", desk::told(id))));
    };
    desk.sessions.clear(id).map_err(|error| desk::trouble("clear", id, &error))?;
    desk.polls.forget(id);
    Ok(Reply::new(format!("Cleared session {}.", desk::told(id)), "completed"))
}
