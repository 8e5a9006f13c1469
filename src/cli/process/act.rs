//! What the `process` tool does, for a person: in the scope of the session's own agent.

use serde_json::{Value, json};

use super::{Desk, Verb, read};
use crate::cli::print;
use crate::error::Failure;
use crate::keeper::repeatable_action;
use crate::tools::ToolResult;

/// Exit status when the session does not allow it, or what was waited for did not come in time.
const REFUSED: u8 = 1;

pub(super) async fn run(desk: &Desk, verb: Verb) -> Result<u8, Failure> {
    let Some((session, mut params)) = params(verb) else { return Ok(0) };
    let row = desk.row(&session).await?;
    if let Some(params) = params.as_object_mut() {
        params.insert("sessionId".to_owned(), row.session_id.clone().into());
    }
    let repeat = repeatable_action(params.get("action").and_then(Value::as_str).unwrap_or_default());
    let asked = json!({ "agent": row.agent, "args": params });
    let told = desk.keepers.request("process.act", asked, repeat).await?;
    let refused = told.pointer("/details/error").is_some_and(|error| !error.is_null());
    let timed_out = told.pointer("/details/outcome").and_then(Value::as_str) == Some("timed-out");
    if desk.json {
        print::json(&told);
    } else {
        let result: ToolResult = read(told)?;
        // A terminal's lines end with both characters; one of them is enough here.
        print::line(&result.text().replace("\r\n", "\n"));
    }
    Ok(if refused || timed_out { REFUSED } else { 0 })
}

/// The call's parameters as an agent would write them.
fn params(verb: Verb) -> Option<(String, Value)> {
    let (session, mut params) = match verb {
        Verb::List | Verb::Attach { .. } => return None,
        Verb::Poll { session, timeout } => (session, json!({ "action": "poll", "timeout": timeout })),
        Verb::Log { session, offset, limit } => {
            (session, json!({ "action": "log", "offset": offset, "limit": limit }))
        }
        Verb::Write { session, text, eof } => {
            (session, json!({ "action": "write", "data": text.unwrap_or_default(), "eof": eof }))
        }
        Verb::SendKeys { session, keys, hex, literal } => {
            (session, json!({ "action": "send-keys", "keys": keys, "hex": hex, "literal": literal }))
        }
        Verb::Submit { session } => (session, json!({ "action": "submit" })),
        Verb::Paste { session, text, plain } => {
            (session, json!({ "action": "paste", "text": text, "bracketed": !plain }))
        }
        Verb::Kill { session } => (session, json!({ "action": "kill" })),
        Verb::Clear { session } => (session, json!({ "action": "clear" })),
        Verb::Remove { session } => (session, json!({ "action": "remove" })),
        Verb::Screen { session } => (session, json!({ "action": "screen" })),
        Verb::Wait { session, text, regex, quiet, exit, timeout } => {
            let exit = exit.then_some(true);
            let all = json!({
                "action": "wait", "text": text, "regex": regex, "quiet": quiet, "exit": exit, "timeout": timeout
            });
            (session, all)
        }
    };
    if let Some(params) = params.as_object_mut() {
        // What was not said is absent: the tool would read null as 0 or as false.
        params.retain(|_, value| !value.is_null());
    }
    Some((session, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_said_is_absent() {
        let verb = Verb::Poll { session: "warm-fox".to_owned(), timeout: None };
        let (session, params) = params(verb).unwrap();
        assert_eq!(session, "warm-fox");
        assert_eq!(params, json!({ "action": "poll" }));
    }
}
