//! What follows once an answer has reached its caller, and not before: a keeper that is killed in between leaves
//! everything as it was, and the caller who comes back gets the same result.

use serde_json::Value;

use super::Shared;
use super::connection::{Delivered, Reply};
use crate::keeper::error::Told;
use crate::keeper::message::Request;
use crate::process::sessions::Receipt;

/// Output on its way to one caller. What did not arrive is for the next poll (spec `exec.md` §7.5).
#[derive(Debug)]
pub(super) struct Handed(pub(super) Vec<Receipt>);

impl Drop for Handed {
    fn drop(&mut self) {
        // Nothing happens to what was delivered.
        self.0.iter().for_each(Receipt::withdraw);
    }
}

/// Does it.
pub(super) fn after(shared: &Shared, method: &str, told: Option<&str>, reply: &Reply) {
    if method == "keeper.stop" {
        shared.stop.cancel();
    }
    if let Some(handed) = reply.hands.get() {
        handed.0.iter().for_each(Receipt::delivered);
    }
    let Some(sessions) = shared.service.sessions() else { return };
    // Another caller of the same call may have had it first.
    if let Some(Delivered { id, named }) = reply.delivers.get() {
        let done = if *named { sessions.delivered(id) } else { sessions.forget(id) };
        if let Err(error) = done {
            tracing::debug!(%id, %error, "nothing to forget");
        }
    }
    if let Some(id) = told
        && let Err(error) = sessions.events().withdraw(&format!("exec:{id}"))
    {
        tracing::warn!(id, %error, "a notice stays although a poll told the same");
    }
}

/// The session that an agent's call polls. Its notice says nothing new once a poll has told its end (spec `exec.md`
/// §7.5); what a person sees is not told to the agent.
pub(super) fn polled(request: &Request) -> Option<String> {
    let text = |path: &str| request.params.pointer(path).and_then(Value::as_str);
    let polls = request.method == "tool.call"
        && text("/tool") == Some("process")
        && text("/args/action") == Some("poll");
    text("/args/sessionId").filter(|_| polls).map(str::to_owned)
}

/// Whether the answer to a poll told an end.
pub(super) fn tells_end(done: &Result<Value, Told>) -> bool {
    let Some(details) = done.as_ref().ok().and_then(|result| result.get("details")) else { return false };
    // A refusal has an error and tells of no end.
    details.get("status").and_then(Value::as_str) != Some("running")
        && details.get("error").is_none_or(Value::is_null)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(params: Value) -> Request {
        Request { id: 1.into(), method: "tool.call".to_owned(), params }
    }

    #[test]
    fn a_poll_that_told_the_end_takes_the_notice_back() {
        let poll = request(json!({ "tool": "process", "args": { "action": "poll", "sessionId": "a-b" } }));
        assert_eq!(polled(&poll).as_deref(), Some("a-b"));
        let log = request(json!({ "tool": "process", "args": { "action": "log", "sessionId": "a-b" } }));
        assert_eq!(polled(&log), None);
        assert_eq!(polled(&Request { method: "process.show".to_owned(), ..poll }), None);
        let tells = |details: Value| tells_end(&Ok(json!({ "content": [], "details": details })));
        assert!(tells(json!({ "status": "completed" })));
        assert!(tells(json!({ "status": "failed", "exitCode": 127 })));
        assert!(!tells(json!({ "status": "running" })));
        assert!(!tells(json!({ "status": "failed", "error": "No session found for a-b" })));
    }
}
