//! Input on its way to a session (spec `exec.md` §7.7).

use super::Reply;
use super::desk::{self, Desk};
use crate::process::record::View;

/// Sends bytes, and ends the input. Done when they are on their way in order.
pub(super) async fn deliver(desk: &Desk<'_>, view: &View, data: Vec<u8>, eof: bool) -> Result<(), Reply> {
    let id = &view.id;
    tokio::select! {
        sent = desk.sessions.write(id, data, eof) => match sent {
            Ok(()) => Ok(()),
            // It may have ended, or closed its input, since it was looked up.
            Err(error) => {
                desk.writable(id)?;
                Err(desk::trouble("write to", id, &error))
            }
        },
        () = desk.cancel.cancelled() => Err(Reply::failed(format!(
            "The call was cancelled; session {} may have taken a part of the input.",
            desk::told(id),
        ))),
    }
}

/// The answer of an action that has sent something.
pub(super) fn sent(view: &View, text: String) -> Reply {
    Reply::new(text, "running").about(view)
}
