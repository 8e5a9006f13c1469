//! Sessions as people see them: of every agent, with their agent.

use serde::{Deserialize, Serialize};

use crate::approvals::policy::Target;
use crate::process::record::{Phase, View};
use crate::runner::Death;

/// One session. Times in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its name.
    pub session_id: String,
    /// Its agent.
    pub agent: String,
    /// Its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `sandbox`, `gateway` or `node`.
    pub host: String,
    /// `running`, `completed` or `failed`.
    pub status: String,
    /// Its caller still waits for it.
    pub foreground: bool,
    /// When it began.
    pub started_at: u64,
    /// How long it has run.
    pub runtime_ms: u64,
    /// When it last printed.
    pub last_output_at: u64,
    /// Where it began.
    pub cwd: String,
    /// What was asked for.
    pub command: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Rows and columns of its terminal; absent for pipes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<(u16, u16)>,
    /// Its input takes more.
    pub stdin_writable: bool,
    /// Bytes that it printed.
    pub written: u64,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Ending>,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// When.
    pub ended_at: u64,
    /// Exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_signal: Option<i32>,
    /// What ended it.
    pub cause: Death,
    /// Somebody asked for its end.
    pub requested: bool,
    /// Why its result could not be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Exit status of `creel process attach`.
    pub exit_status: u8,
}

impl Row {
    /// A session as it stands at `now_ms`.
    pub(super) fn of(view: &View, now_ms: u64) -> Self {
        let View { id, begin, end, .. } = view;
        let ending = end.as_ref().map(|end| Ending {
            ended_at: end.at_ms,
            exit_code: end.outcome.code,
            exit_signal: end.outcome.signal,
            cause: end.outcome.death,
            requested: end.requested,
            lost: end.lost.clone(),
            exit_status: end.outcome.exit_status(),
        });
        let status = match &ending {
            None => "running",
            Some(end) if end.lost.is_none() && completed(end) => "completed",
            Some(_) => "failed",
        };
        let until = ending.as_ref().map_or(now_ms, |end| end.ended_at);
        Self {
            session_id: id.to_string(),
            agent: begin.agent.clone(),
            session: begin.session_key.clone(),
            host: host(begin.host).to_owned(),
            status: status.to_owned(),
            foreground: matches!(view.phase, Phase::Starting | Phase::Foreground),
            started_at: view.started_at_ms,
            runtime_ms: until.saturating_sub(view.started_at_ms),
            last_output_at: view.last_output_ms,
            cwd: begin.cwd.clone(),
            command: begin.command.clone(),
            title: begin.title.clone(),
            pid: view.pid,
            tty: begin.tty,
            stdin_writable: view.stdin_writable,
            written: view.written,
            end: ending,
        }
    }
}

fn completed(end: &Ending) -> bool {
    end.cause == Death::Exit && !matches!(end.exit_code, None | Some(126 | 127))
}

fn host(target: Target) -> &'static str {
    match target {
        Target::Sandbox => "sandbox",
        Target::Gateway => "gateway",
        Target::Node => "node",
    }
}
