//! What follows once a result has reached its caller, and not before: a keeper that is killed in between leaves
//! everything as it was, and the caller who comes back gets the same result.

use serde_json::Value;

use crate::keeper::error::Told;
use crate::keeper::message::Request;
use crate::process::record::SessionId;
use crate::process::sessions::Sessions;

/// Forgets what a delivered result was made of: a command in the foreground.
pub(super) fn forget(sessions: Option<&Sessions>, id: &SessionId) {
    // Another caller of the same call may have had it first.
    if let Some(Err(error)) = sessions.map(|sessions| sessions.forget(id)) {
        tracing::debug!(%id, %error, "nothing to forget");
    }
}

/// The session whose end a poll told, and whose notice says nothing new after that (spec `exec.md` §7.5).
pub(super) fn told_end(request: &Request) -> Option<String> {
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

/// Takes the notice of a session's end back.
pub(super) fn withdraw(sessions: Option<&Sessions>, id: &str) {
    if let Some(Err(error)) = sessions.map(|sessions| sessions.events().withdraw(&format!("exec:{id}"))) {
        tracing::warn!(id, %error, "a notice stays although a poll told the same");
    }
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
        assert_eq!(told_end(&poll).as_deref(), Some("a-b"));
        let log = request(json!({ "tool": "process", "args": { "action": "log", "sessionId": "a-b" } }));
        assert_eq!(told_end(&log), None);
        assert_eq!(told_end(&Request { method: "process.show".to_owned(), ..poll }), None);
        let tells = |details: Value| tells_end(&Ok(json!({ "content": [], "details": details })));
        assert!(
            tells(json!({ "status": "completed" })) && tells(json!({ "status": "failed", "exitCode": 127 }))
        );
        assert!(!tells(json!({ "status": "running" })));
        assert!(!tells(json!({ "status": "failed", "error": "No session found for a-b" })));
    }
}
