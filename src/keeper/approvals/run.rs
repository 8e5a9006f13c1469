//! Programs that ask for a run (spec `approvals.md` 1.27): the machine's own policy decides about it as about any other.

use std::sync::PoisonError;

use serde_json::{Value, json};

use super::Shared;
use super::lines::Wanted;
use super::proof::Doubt;
use crate::approvals::document::Token;
use crate::process::store::now_ms;
use crate::tools::Context;

/// The line.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) nonce: String,
    pub(super) ts: u64,
    pub(super) hmac: String,
    pub(super) request_json: String,
}

/// Runs what is asked for, where it is believed and allowed.
pub(super) async fn run(shared: &Shared, token: &Token, line: Line) -> Value {
    let Line { id, nonce, ts, hmac, request_json } = line;
    let believed = {
        let mut nonces = shared.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.believe(token, (&nonce, ts, &request_json), &hmac, now_ms())
    };
    let refused = |reason: &str, message: &str| json!({ "type": "exec-res", "id": id, "ok": false, "error": { "reason": reason, "message": message } });
    if let Err(doubt) = believed {
        tracing::warn!(target: "approvals", ?doubt, "a run at the approval socket is not believed");
        return match doubt {
            Doubt::Proof => refused("unauthorized", "the line is not signed with the secret of the socket"),
            Doubt::Time => refused("ttl", "the line is not of the last 60 seconds"),
            Doubt::Replay => refused("replay", "a line with this nonce was taken already"),
            Doubt::Full => refused("busy", "too many lines within a minute"),
        };
    }
    let wanted = match serde_json::from_str::<Wanted>(&request_json) {
        Ok(wanted) if wanted.command.is_empty() => return refused("invalid", "the command has no words"),
        Ok(wanted) if wanted.needs_screen_recording == Some(true) => {
            return refused("unavailable", "this machine records no screen");
        }
        Ok(wanted) => wanted,
        Err(error) => return refused("invalid", &format!("requestJson cannot be read: {error}")),
    };
    let (params, context) = call(wanted);
    // Dropped with its caller, the call is taken back.
    let cancel = shared.stop.child_token();
    let _guard = cancel.clone().drop_guard();
    match shared.toolbox.call("exec", params, &context, None, cancel).await {
        Ok(result) => match payload(&result.details) {
            Some(payload) => json!({ "type": "exec-res", "id": id, "ok": true, "payload": payload }),
            None => refused("denied", &result.text()),
        },
        Err(error) => refused("unavailable", &error.text),
    }
}

fn call(wanted: Wanted) -> (Value, Context) {
    let mut params = json!({ "command": crate::shell::quote::line(&wanted.command), "host": "gateway" });
    if let Some(map) = params.as_object_mut() {
        let seconds = wanted.timeout_ms.map(|ms| Value::from(ms.div_ceil(1000).max(1)));
        let env = wanted.env.filter(|env| !env.is_empty()).map(|env| json!(env));
        let given = [("workdir", wanted.cwd.map(Value::from)), ("timeout", seconds), ("env", env)];
        map.extend(given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    let context = Context {
        agent: wanted.agent_id,
        session: wanted.session_key,
        approval_surface: true,
        without: vec!["process".to_owned()],
        ..Context::default()
    };
    (params, context)
}

/// The result of a run; `None` where nothing ran.
fn payload(details: &Value) -> Option<Value> {
    if details.get("exitReason").is_none() || details.get("error").is_some() {
        return None;
    }
    let code = details.get("exitCode").cloned().unwrap_or(Value::Null);
    Some(json!({
        "success": code == 0,
        "exitCode": code,
        "timedOut": details.get("timedOut").cloned().unwrap_or(Value::Bool(false)),
        "stdout": details.get("aggregated").cloned().unwrap_or_default(),
        "stderr": "",
        "error": null,
    }))
}
