//! `kill`: ask for the end (spec `exec.md` §7.2). Asked again it is granted again.

use super::Reply;
use super::desk::{self, Desk};
use crate::process::record::SessionId;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId) -> Result<Reply, Reply> {
    let view = desk.active(id)?;
    if let Err(error) = desk.sessions.kill(id).await {
        // It may have ended by itself meanwhile.
        desk.active(id)?;
        return Err(desk::trouble("terminate", id, &error));
    }
    desk.polls.reset(id);
    let text = format!("Termination requested for session {}.", desk::told(id));
    Ok(Reply::new(text, "completed").maybe("name", desk::label(&view)))
}
