//! Questions that programs raise (spec `approvals.md` 9.07, 9.14): nothing runs here, whoever asks acts on the answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::connection::Reply;
use super::methods::told;
use crate::approvals::desk::{Desk, Question, Settled};
use crate::approvals::display::summary;
use crate::approvals::policy::{Answer, Decision, Target};
use crate::error::Report;
use crate::keeper::error::Told;
use crate::process::record::Delivery;
use crate::shell::analyse::analyse;

/// What a program asks: a closed object, so that no restriction is believed to hold that is not understood.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::keeper) struct Raised {
    id: Option<String>,
    command: String,
    command_argv: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<String>,
    host: Option<String>,
    warning_text: Option<String>,
    unavailable_decisions: Vec<Decision>,
    agent_id: Option<String>,
    resolved_path: Option<String>,
    session_key: Option<String>,
    tool_call_id: Option<String>,
    turn_source_channel: Option<String>,
    turn_source_to: Option<String>,
    turn_source_account_id: Option<String>,
    turn_source_thread_id: Option<String>,
    require_delivery_route: Option<bool>,
    timeout_ms: Option<u64>,
    two_phase: bool,
    ask: Option<String>,
    node_id: Option<String>,
    // What only shows, or says what this machine decides by itself.
    #[serde(rename = "security")]
    _security: Option<String>,
    #[serde(rename = "scope")]
    _scope: Option<String>,
    #[serde(rename = "sessionId")]
    _session_id: Option<String>,
    #[serde(rename = "runId")]
    _run_id: Option<String>,
    #[serde(rename = "commandSpans")]
    _command_spans: Option<Value>,
}

impl Raised {
    /// With the id of the line that it came on.
    pub(in crate::keeper) fn named(self, id: String) -> Self {
        Self { id: self.id.or(Some(id)), ..self }
    }

    /// As a question. Nothing of it can be remembered here: what runs elsewhere is written down there.
    pub(in crate::keeper) fn question(self) -> Result<Question, Told> {
        if self.node_id.is_some() || self.host.as_deref().is_some_and(|host| host != "gateway") {
            return Err(refusal(
                "host",
                "only questions about the gateway's host are taken",
                "leave host out",
            ));
        }
        if self.timeout_ms == Some(0) {
            return Err(refusal("timeoutMs", "0 milliseconds are no time to answer in", "give at least 1"));
        }
        if let Some(key) = self.too_long() {
            return Err(refusal(
                key,
                "it is longer than can be shown beside a command",
                "send at most 256 variables, names of 256 characters, 4096 characters of a path and of a warning",
            ));
        }
        let digest = self.digest();
        let offered = [Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
        // Whoever wants to be asked every time is not offered to be asked no more (9.03).
        let every_time = self.ask.as_deref() == Some("always");
        let offered = offered.into_iter().filter(|decision| {
            !self.unavailable_decisions.contains(decision)
                && (!every_time || *decision != Decision::AllowAlways)
        });
        Ok(Question {
            offered: offered.collect(),
            digest,
            analysis: Some(summary(&analyse(&self.command))),
            id: self.id,
            command: self.command,
            argv: self.command_argv,
            cwd: self.cwd.unwrap_or_default(),
            host: Some(Target::Gateway),
            agent: self.agent_id.unwrap_or_else(|| "main".to_owned()),
            session: self.session_key,
            call: self.tool_call_id,
            env_keys: self.env.unwrap_or_default().into_keys().collect(),
            resolved_path: self.resolved_path,
            reason: "external-request".to_owned(),
            warnings: self.warning_text.into_iter().collect(),
            delivery: Delivery {
                channel: self.turn_source_channel,
                to: self.turn_source_to,
                account: self.turn_source_account_id,
                thread: self.turn_source_thread_id,
            },
            timeout_ms: self.timeout_ms,
            unattended: self.require_delivery_route == Some(true),
            external: true,
            ..Question::default()
        })
    }

    /// What would push the command from the screen of whoever decides.
    fn too_long(&self) -> Option<&'static str> {
        let long = |text: &Option<String>, most: usize| text.as_ref().is_some_and(|text| text.len() > most);
        let names =
            |env: &BTreeMap<String, String>| env.len() > 256 || env.keys().any(|name| name.len() > 256);
        let found = [
            ("env", self.env.as_ref().is_some_and(names)),
            ("warningText", long(&self.warning_text, 4096)),
            ("cwd", long(&self.cwd, 4096)),
            ("resolvedPath", long(&self.resolved_path, 4096)),
            ("agentId", long(&self.agent_id, 256)),
            ("sessionKey", long(&self.session_key, 1024)),
            ("toolCallId", long(&self.tool_call_id, 1024)),
        ];
        found.into_iter().find(|(_, long)| *long).map(|(key, _)| key)
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let parts = (
            &self.command,
            &self.command_argv,
            &self.env,
            &self.cwd,
            &self.resolved_path,
            &self.unavailable_decisions,
            &self.ask,
        );
        hash.update(serde_json::to_vec(&parts).unwrap_or_default());
        crate::state::hex(&hash.finalize())
    }
}

fn refusal(key: &str, message: &str, fix: &str) -> Told {
    let rule = Some(format!("built-in: approvals.request {key}"));
    Report { code: "CRL-DESK-020", message: message.to_owned(), rule, fix: fix.to_owned() }.into()
}

/// Registers a question. With `twoPhase` that is all, else its end is waited for; taken back, it is cancelled.
pub(super) async fn request(desk: &Desk, asked: Raised, reply: &Reply) -> Result<Value, Told> {
    let two_phase = asked.two_phase;
    let question = asked.question()?;
    let ticket = told(desk.ask(&question))?;
    if two_phase {
        let record = told(desk.find(&ticket.id))?;
        let route = if desk.reachable() { "approval-client" } else { "none" };
        return Ok(json!({
            "status": "accepted",
            "id": ticket.id,
            "deliveryRoute": route,
            "createdAtMs": record.created_at_ms,
            "expiresAtMs": ticket.expires_at_ms,
        }));
    }
    let left = Left { desk, id: Some(&ticket.id) };
    let answer = wait(desk, &ticket.id, reply).await;
    left.answered();
    answer
}

/// Waits for the end of a question; the exact id is needed (9.26).
pub(super) async fn wait(desk: &Desk, id: &str, reply: &Reply) -> Result<Value, Told> {
    let record = told(desk.find(id))?;
    if record.id != id {
        return told(Err(crate::approvals::desk::DeskError::Unknown(id.chars().take(128).collect())));
    }
    tokio::select! {
        settled = desk.settled(id) => Ok(ended(id, &settled, record.created_at_ms, record.expires_at_ms)),
        () = reply.cancelled.cancelled() => {
            desk.cancel(id, "run-aborted");
            Ok(json!({ "id": id, "decision": null, "terminalReason": "run-aborted" }))
        }
    }
}

/// The end of a question as programs are told; a decision is null where nobody decided (9.14).
fn ended(id: &str, settled: &Settled, created: u64, expires: u64) -> Value {
    json!({
        "id": id,
        "decision": decided(settled),
        "terminalReason": settled.reason,
        "createdAtMs": created,
        "expiresAtMs": expires,
    })
}

/// What was decided. What was no decision is a denial.
pub(in crate::keeper) fn decided(settled: &Settled) -> Option<Decision> {
    match settled.answer {
        Answer::Decided(decision) => Some(decision),
        Answer::Malformed => Some(Decision::Deny),
        Answer::TimedOut | Answer::Unreachable => None,
    }
}

/// Takes a question back when whoever asks is gone.
struct Left<'a> {
    desk: &'a Desk,
    id: Option<&'a str>,
}

impl Left<'_> {
    fn answered(mut self) {
        self.id = None;
    }
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.desk.cancel(id, "run-aborted");
        }
    }
}
