//! What follows once a result has reached its caller, and not before: a keeper that is killed in between leaves
//! everything as it was, and the caller who comes back gets the same result.

use serde_json::Value;

use crate::keeper::error::Told;
use crate::keeper::message::Request;
use crate::process::sessions::Sessions;

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The call of this id has its result: nothing is kept of a command in the foreground.
    Forget(String),
    /// The end of this session was told by a poll: its notice says nothing new (spec `exec.md` §7.5).
    Withdraw(String),
}

impl After {
    /// What may follow a request.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let text = |path: &str| request.params.pointer(path).and_then(Value::as_str).map(str::to_owned);
        if request.method != "tool.call" {
            return None;
        }
        match text("/tool")?.as_str() {
            "exec" | "bash" => Some(Self::Forget(text("/context/callId")?)),
            "process" if text("/args/action")? == "poll" => Some(Self::Withdraw(text("/args/sessionId")?)),
            _ => None,
        }
    }

    /// What does follow, by the result.
    pub(super) fn with(self, done: &Result<Value, Told>) -> Option<Self> {
        let details = done.as_ref().ok().and_then(|result| result.get("details"));
        match &self {
            // An error is a last word too.
            Self::Forget(_) => Some(self),
            Self::Withdraw(_) => {
                let details = details?;
                let ended = details.get("status").and_then(Value::as_str) != Some("running");
                // A refusal has an error and tells of no end.
                (ended && details.get("error").is_none_or(Value::is_null)).then_some(self)
            }
        }
    }

    /// Does it. What fails costs a repeated notice, or a record that goes with its time.
    pub(super) fn run(self, sessions: Option<&Sessions>) {
        let Some(sessions) = sessions else { return };
        match self {
            Self::Forget(call) => {
                if let Some(id) = sessions.by_call(&call)
                    && let Err(error) = sessions.forget(&id)
                {
                    tracing::warn!(%id, %error, "a delivered result stays recorded");
                }
            }
            Self::Withdraw(id) => {
                if let Err(error) = sessions.events().withdraw(&format!("exec:{id}")) {
                    tracing::warn!(id, %error, "a notice stays although a poll told the same");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(params: Value, details: Value) -> Option<After> {
        let request = Request { id: 1.into(), method: "tool.call".to_owned(), params };
        After::of(&request)?.with(&Ok(json!({ "content": [], "details": details })))
    }

    #[test]
    fn a_poll_that_told_the_end_takes_the_notice_back() {
        let poll = json!({ "tool": "process", "args": { "action": "poll", "sessionId": "a-b" } });
        let taken = Some(After::Withdraw("a-b".to_owned()));
        assert_eq!(after(poll.clone(), json!({ "status": "completed" })), taken);
        assert_eq!(after(poll.clone(), json!({ "status": "failed", "exitCode": 127 })), taken);
        assert_eq!(after(poll.clone(), json!({ "status": "running" })), None);
        assert_eq!(after(poll, json!({ "status": "failed", "error": "No session found for a-b" })), None);
        let log = json!({ "tool": "process", "args": { "action": "log", "sessionId": "a-b" } });
        assert_eq!(after(log, json!({ "status": "completed" })), None);
    }

    #[test]
    fn a_result_of_exec_is_forgotten_by_its_call() {
        let exec = json!({ "tool": "exec", "args": {}, "context": { "callId": "one" } });
        assert_eq!(after(exec, json!({})), Some(After::Forget("one".to_owned())));
        assert_eq!(after(json!({ "tool": "exec", "args": {} }), json!({})), None);
    }
}
