//! What is said over the approval socket, a JSON object on each line (spec `approvals.md` §1.6). Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approvals::document::Token;

/// Longest line.
pub(super) const MAX: usize = 16 * 1024 * 1024;

/// What a client says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Said {
    /// It wants a decision.
    Request { token: String, id: String, request: Value },
    /// It wants a run, and proves that it knows the secret without telling it.
    Exec {
        id: String,
        nonce: String,
        ts: u64,
        hmac: String,
        #[serde(rename = "requestJson")]
        request_json: String,
    },
}

/// The run that is wanted. What the caller says about approvals is not looked at: this machine decides by its own.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Wanted {
    pub(super) command: Vec<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: Option<BTreeMap<String, String>>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) needs_screen_recording: Option<bool>,
    pub(super) agent_id: Option<String>,
    pub(super) session_key: Option<String>,
}

/// What a user interface answers.
#[derive(Debug, Deserialize)]
pub(super) struct Decided {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    decision: Value,
}

impl Decided {
    /// The word on a line about question `id`; `None` for lines about something else, another question among that.
    pub(super) fn read(line: &[u8], id: &str) -> Option<String> {
        let said: Self = serde_json::from_slice(line).ok()?;
        let word = said.decision.as_str().map_or_else(|| said.decision.to_string(), str::to_owned);
        (said.kind == "decision" && said.id.is_none_or(|said| said == id)).then_some(word)
    }
}

/// A question on its way to a user interface.
#[derive(Serialize)]
pub(super) struct Ask<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    token: &'a str,
    id: &'a str,
    request: &'a Value,
}

impl<'a> Ask<'a> {
    pub(super) fn of(token: &'a Token, id: &'a str, request: &'a Value) -> Self {
        Self { kind: "request", token: &token.0, id, request }
    }
}

/// A value as a line.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}
