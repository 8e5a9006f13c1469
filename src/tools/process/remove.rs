//! `remove`: forget a session; one that runs is ended (spec `exec.md` §7.2).

use super::Reply;
use super::desk::{self, Desk};
use crate::process::record::SessionId;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId) -> Result<Reply, Reply> {
    let view = desk.any(id)?;
    if view.finalizing {
        return Err(desk::finalizing(id));
    }
    desk.sessions.remove(id).await.map_err(|error| desk::trouble("remove", id, &error))?;
    desk.polls.forget(id);
    let told = desk::told(id);
    Ok(if desk::over(&view) {
        Reply::new(format!("Removed session {told}."), "completed")
    } else {
        let text = format!("Removed session {told} (termination requested).");
        Reply::new(text, "completed").maybe("name", desk::label(&view))
    })
}
