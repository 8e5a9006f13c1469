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
    /// What may follow a request. A call without an id gets one, by which its command can be forgotten.
    pub(super) fn of(request: &mut Request) -> Option<Self> {
        name(request);
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

/// Gives a call an id that nobody can come back with.
fn name(request: &mut Request) {
    let Some(params) = request.params.as_object_mut().filter(|_| request.method == "tool.call") else {
        return;
    };
    let context = params.entry("context").or_insert_with(|| Value::Object(serde_json::Map::default()));
    let Some(context) = context.as_object_mut() else { return };
    let id = context.entry("callId").or_insert(Value::Null);
    if id.is_null()
        && let Ok(digits) = crate::state::random_hex::<16>()
    {
        *id = format!("{ONCE}{digits}").into();
    }
}

/// What the ids of calls begin with whose caller gave none.
pub(super) const ONCE: &str = "once-";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(params: Value, details: Value) -> Option<After> {
        let mut request = Request { id: 1.into(), method: "tool.call".to_owned(), params };
        After::of(&mut request)?.with(&Ok(json!({ "content": [], "details": details })))
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
        let once = after(json!({ "tool": "exec", "args": {} }), json!({}));
        assert!(matches!(once, Some(After::Forget(id)) if id.starts_with(ONCE)));
    }
}
