//! Results of `exec` (spec `exec.md` §1.5, §5.1 to §5.3): one text for the model, data beside it. Pure.

use serde_json::{Map, Value, json};

use super::job::Job;
use crate::approvals::desk::Ticket;
use crate::approvals::host::{Asking, HostDenied};
use crate::approvals::policy::Target;
use crate::error::{Diagnose, Report};
use crate::process::ending::Ending;
use crate::process::record::View;
use crate::process::said;
use crate::process::sessions::Aggregated;
use crate::runner::{Asked, Death, ExecResult};
use crate::tools::{Context, ToolResult};

/// How a caller goes on with a command in the background.
const FOLLOW_UP: &str =
    "Use process (list, poll, log, write, send-keys, submit, paste, kill, clear, remove) to follow up.";

/// What surrounds the results of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// What the caller should know before it reads on.
    pub(super) warnings: Vec<String>,
    /// The run has the `process` tool.
    pub(super) process: bool,
    /// The image, for refusals of the sandbox.
    pub(super) image: String,
    /// Why the command did not go over init, where it did not.
    pub(super) detour: Option<String>,
    /// What the reviewer said, where it looked.
    pub(super) reviews: Option<&'static str>,
}

impl Around {
    /// A text behind the warnings.
    fn text(&self, text: &str) -> String {
        if self.warnings.is_empty() {
            return text.to_owned();
        }
        format!("{}\n\n{text}", self.warnings.join("\n"))
    }

    /// Live output of a command whose caller waits.
    pub(super) fn update(&self, view: &View, tail: &str) -> ToolResult {
        ToolResult::new(self.text(tail), running(view, tail, None))
    }

    /// A command that goes on.
    pub(super) fn background(&self, view: &View, tail: &str) -> ToolResult {
        let pid = view.pid.map_or_else(|| "n/a".to_owned(), |pid| pid.to_string());
        let text = format!("Command still running (session {}, pid {pid}). {FOLLOW_UP}", view.id);
        ToolResult::new(self.text(&text), running(view, tail, Some(FOLLOW_UP)))
    }

    /// A command that has ended.
    pub(super) fn finished(&self, view: &View, output: Aggregated) -> Option<ToolResult> {
        let end = view.end.as_ref()?;
        let begin = &view.begin;
        let ending = Ending::of(end);
        let limit = begin.timeout_ms.map(std::time::Duration::from_millis);
        let asked = Asked {
            program: "/bin/sh".to_owned(),
            workdir: begin.cwd.clone(),
            timeout: limit,
            silence: begin.silence_ms.map(std::time::Duration::from_millis),
            image: self.image.clone(),
        };
        let report = end.outcome.describe(&asked);
        let trouble = trouble(&ending, report.as_ref(), end.lost.as_deref(), !end.outcome.full.is_empty());
        let reason = said::exec_reason(&ending, limit, self.process, trouble.as_deref());
        let text = said::exec_text(&output.text, output.truncated, &ending, reason.as_deref());
        let result = ExecResult::new(&end.outcome, &begin.cwd, (output.text, output.truncated), report);
        let mut details = object(serde_json::to_value(result).unwrap_or_default());
        overlay(&mut details, &ending);
        details.insert("host".to_owned(), json!(begin.host));
        if let Some(detour) = &self.detour {
            details.insert("transportReason".to_owned(), json!(detour));
        }
        if let Some(outcome) = self.reviews {
            details.insert("approvalReviewOutcome".to_owned(), json!(outcome));
        }
        if let Some(lost) = &end.lost {
            details.insert("lost".to_owned(), json!(lost));
        }
        Some(ToolResult::new(self.text(&text), Value::Object(details)))
    }
}

/// What is said besides the classification, where that alone would leave the caller in the dark.
fn trouble(ending: &Ending, report: Option<&Report>, lost: Option<&str>, full: bool) -> Option<String> {
    let unusual = full
        || ending.failure == Some("runtime-error")
        || !matches!(
            ending.death,
            Death::Exit | Death::Signal | Death::Timeout | Death::NoOutputTimeout | Death::Cancelled
        );
    let told = report.filter(|_| unusual).map(|report| format!("{}.\nfix: {}", report.message, report.fix));
    match (told, lost) {
        (Some(told), Some(lost)) => Some(format!("{told}\n{lost}")),
        (told, lost) => told.or_else(|| lost.map(str::to_owned)),
    }
}

/// The words of the classification, one for `exec` and `process`.
fn overlay(details: &mut Map<String, Value>, ending: &Ending) {
    details.insert("status".to_owned(), json!(ending.status));
    details.insert("exitCode".to_owned(), json!(ending.code));
    details.insert("exitSignal".to_owned(), json!(ending.signal));
    details.insert("exitReason".to_owned(), json!(ending.reason));
    match ending.failure {
        Some(failure) => details.insert("failureKind".to_owned(), json!(failure)),
        None => details.remove("failureKind"),
    };
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn running(view: &View, tail: &str, follow_up: Option<&str>) -> Value {
    let mut details = object(json!({
        "status": "running",
        "sessionId": view.id.0,
        "startedAt": view.started_at_ms,
        "cwd": view.begin.cwd,
        "tail": tail,
        "host": view.begin.host,
    }));
    if let Some(pid) = view.pid {
        details.insert("pid".to_owned(), json!(pid));
    }
    if let Some(follow_up) = follow_up {
        details.insert("followUp".to_owned(), json!(follow_up));
    }
    Value::Object(details)
}

/// A refusal that is a result and no error: nothing was executed.
pub(super) fn not_executed(error: &impl Diagnose, cwd: &str) -> ToolResult {
    let report = error.report();
    let text = format!("{}.\nfix: {}", report.message.trim_end_matches('.'), report.fix);
    let details = json!({
        "status": "failed",
        "exitCode": null,
        "exitSignal": null,
        "failureKind": "runtime-error",
        "exitReason": "exit",
        "durationMs": 0,
        "aggregated": "",
        "timedOut": false,
        "noOutputTimedOut": false,
        "cwd": cwd,
        "error": text,
        "report": report,
    });
    ToolResult::new(text, details)
}

/// A person would have to decide, and there is no way to one (spec `exec.md` §1.5).
pub(super) fn unavailable(
    denied: &HostDenied,
    host: Target,
    command: &str,
    cwd: &str,
    context: &Context,
    warnings: &[String],
) -> ToolResult {
    let report = denied.report();
    let text = format!(
        "{}. Nothing was executed. Do not ask for it again: no answer can come.\nrule: {}\nfix: {}",
        report.message,
        report.rule.as_deref().unwrap_or_default(),
        report.fix
    );
    let details = json!({
        "status": "approval-unavailable",
        "reason": "no-approval-route",
        "channel": context.channel,
        "channelLabel": context.channel,
        "accountId": context.account,
        "sentApproverDms": false,
        "host": host,
        "command": command,
        "cwd": cwd,
        "nodeId": null,
        "warningText": warnings.join("\n"),
        "report": report,
    });
    ToolResult::new(text, details)
}

/// Why a command was denied: the words of its first line, and the refusal behind them where there is more to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    words: String,
    report: Option<Report>,
}

impl Reason {
    /// Words, and the refusal that they tell.
    pub(super) fn told(words: impl Into<String>, error: &impl Diagnose) -> Self {
        Self { words: words.into(), report: Some(error.report()) }
    }

    /// A refusal of what was bound, in its own words.
    pub(super) fn of(error: &impl Diagnose) -> Self {
        Self::told(error.to_string(), error)
    }

    /// A refusal by its message.
    pub(super) fn shown(error: &impl Diagnose) -> Self {
        Self::told(error.report().message, error)
    }

    /// The words of the first line.
    pub(super) fn words(&self) -> &str {
        &self.words
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self { words: words.to_owned(), report: None }
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self { words, report: None }
    }
}

/// Code, rule and fix below the line that the spec words, where there are any.
fn explained(line: String, report: Option<&Report>) -> String {
    let Some(report) = report else { return line };
    let rule = report.rule.as_ref().map(|rule| format!("\nrule: {rule}")).unwrap_or_default();
    format!("{line}\ncode: {}{rule}\nfix: {}", report.code, report.fix)
}

/// A denial in one line, as the spec words it (spec `approvals.md` 9.47).
pub(super) fn denial(id: Option<&str>, reason: &str, command: &str) -> String {
    let id = id.map(|id| format!("id={id}, ")).unwrap_or_default();
    format!("Exec denied (gateway {id}{reason}): {command}")
}

/// A command that was denied: nothing of it ran.
pub(super) fn denied(
    job: &Job<'_>,
    cwd: &str,
    id: Option<&str>,
    reason: &Reason,
    around: &Around,
) -> ToolResult {
    let words = reason.words();
    let text = explained(denial(id, words, &job.params.command), reason.report.as_ref());
    let mut details = refused(&text, cwd, words.contains("timeout"));
    details.insert("reason".to_owned(), json!(words));
    if let Some(report) = &reason.report {
        details.insert("report".to_owned(), json!(report));
    }
    details.insert("approvalId".to_owned(), json!(id));
    details.insert("warningText".to_owned(), json!(around.warnings.join("\n")));
    ToolResult::new(text, Value::Object(details))
}

/// A command that was allowed, and then was not what was decided about: nothing of it ran (spec `approvals.md` 11.04).
pub(super) fn exchanged(view: &View, report: &Report) -> ToolResult {
    let text = explained(denial(None, &report.message, &view.begin.command), Some(report));
    let mut details = refused(&text, &view.begin.cwd, false);
    details.insert("reason".to_owned(), json!(report.message));
    details.insert("report".to_owned(), json!(report));
    ToolResult::new(text, Value::Object(details))
}

/// The reviewer said no (spec `approvals.md` 13.13).
pub(super) fn review_denied(job: &Job<'_>, cwd: &str, rationale: &str, around: &Around) -> ToolResult {
    let reason = format!("auto-review-denied: {}", crate::shown::one_line(rationale));
    let text = format!(
        "{}\nThe reviewer did not let this command run. Choose another way that is really safer, or ask the user; do not \
         reword the same command to get it past the reviewer.",
        denial(None, &reason, &job.params.command)
    );
    let mut details = refused(&text, cwd, false);
    details.insert("failureKind".to_owned(), json!("auto-review-denied"));
    details.insert("approvalReviewOutcome".to_owned(), json!("denied"));
    details.insert("reason".to_owned(), json!(rationale));
    details.insert("warningText".to_owned(), json!(around.warnings.join("\n")));
    ToolResult::new(text, Value::Object(details))
}

fn refused(text: &str, cwd: &str, timed_out: bool) -> Map<String, Value> {
    object(json!({
        "status": "failed",
        "exitCode": null,
        "exitSignal": null,
        "durationMs": 0,
        "aggregated": text,
        "timedOut": timed_out,
        "cwd": cwd,
        "host": Target::Gateway,
    }))
}

/// A person is asked (spec `approvals.md` 9.45): nothing has started.
pub(super) fn pending(
    job: &Job<'_>,
    cwd: &str,
    asking: &Asking,
    ticket: &Ticket,
    around: &Around,
) -> ToolResult {
    let warnings: Vec<&str> = asking.warnings().iter().chain(&around.warnings).map(String::as_str).collect();
    let id = &ticket.id;
    let offered: Vec<&str> = asking.offered().iter().map(|decision| decision.word()).collect();
    let text = format!(
        "A person has to approve this command ({}); nothing was started. Approval id {id}, decisions: {}. The answer \
         comes by itself: do not call it again.\nTo answer: creel approvals approve {id} | creel approvals deny {id}",
        asking.reason().code(),
        offered.join(", ")
    );
    let text = if warnings.is_empty() { text } else { format!("{}\n\n{text}", warnings.join("\n")) };
    let details = json!({
        "status": "approval-pending",
        "approvalId": id,
        "approvalSlug": id.chars().take(8).collect::<String>(),
        "expiresAtMs": ticket.expires_at_ms,
        "allowedDecisions": asking.offered(),
        "host": Target::Gateway,
        "command": job.params.command,
        "cwd": cwd,
        "nodeId": null,
        "warningText": warnings.join("\n"),
        "reason": asking.reason().code(),
    });
    ToolResult::new(text, details)
}
