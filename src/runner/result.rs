//! The result object of `exec` (spec `exec.md` §1.5, §5.3) with creel's own fields beside it. Pure.

use serde::Serialize;

use super::outcome::{
    Capabilities, Certainty, Death, HeldLimits, Outcome, Processes, StartFailure, Transport, Usage,
};
use crate::error::Report;

/// `details` of a finished call, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecResult {
    /// `completed` or `failed`.
    pub status: &'static str,
    /// The command's exit code.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended it.
    pub exit_signal: Option<String>,
    /// Kind of failure; absent when completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<&'static str>,
    /// `exit`, `signal`, `overall-timeout`, …
    pub exit_reason: &'static str,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// Both streams in order of arrival, the last 200 000 characters.
    pub aggregated: String,
    /// Ended by the time limit.
    pub timed_out: bool,
    /// Ended for printing nothing.
    pub no_output_timed_out: bool,
    /// Directory in the container.
    pub cwd: String,
    /// The beginning of `aggregated` was dropped.
    pub truncated: bool,
    /// What ended it, in creel's own words.
    pub cause: Death,
    /// How sure that is.
    pub certainty: Certainty,
    /// The step that kept it from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_failure: Option<StartFailure>,
    /// Resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Processes>,
    /// Bytes of standard output.
    pub stdout_bytes: u64,
    /// Bytes of standard error.
    pub stderr_bytes: u64,
    /// Temporary file systems that were full.
    pub full: Vec<String>,
    /// How the call's own limits were held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<HeldLimits>,
    /// The road taken.
    pub transport: Transport,
    /// Why not over init, where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport_reason: Option<String>,
    /// What that road can do.
    pub capabilities: Capabilities,
    /// What to tell a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

impl ExecResult {
    /// Puts it together; `aggregated` as [`super::Aggregate::finish`] gives it.
    pub fn new(outcome: &Outcome, cwd: &str, aggregated: (String, bool), report: Option<Report>) -> Self {
        let (failure_kind, exit_reason) = classify(outcome);
        let (aggregated, truncated) = aggregated;
        Self {
            status: if failure_kind.is_some() { "failed" } else { "completed" },
            exit_code: outcome.code.filter(|_| outcome.death != Death::Timeout),
            exit_signal: outcome.signal.map(signal_name),
            failure_kind,
            exit_reason,
            duration_ms: u64::try_from(outcome.wall.as_millis()).unwrap_or(u64::MAX),
            aggregated,
            timed_out: outcome.death == Death::Timeout,
            no_output_timed_out: outcome.death == Death::NoOutputTimeout,
            cwd: cwd.to_owned(),
            truncated,
            cause: outcome.death,
            certainty: outcome.certainty,
            start_failure: outcome.start_failure,
            usage: outcome.usage,
            processes: outcome.processes,
            stdout_bytes: outcome.stdout_bytes,
            stderr_bytes: outcome.stderr_bytes,
            full: outcome.full.clone(),
            limits: outcome.limits,
            transport: outcome.transport,
            transport_reason: None,
            capabilities: outcome.transport.capabilities(),
            report,
        }
    }
}

/// Upstream's words: kind of failure (none for completed) and reason.
pub(crate) fn classify(outcome: &Outcome) -> (Option<&'static str>, &'static str) {
    match outcome.death {
        Death::Timeout => (Some("overall-timeout"), "overall-timeout"),
        Death::NoOutputTimeout => (Some("no-output-timeout"), "no-output-timeout"),
        Death::OutputLimit => (Some("runtime-error"), "output-limit"),
        Death::CpuLimit => (Some("runtime-error"), "cpu-limit"),
        Death::MemoryLimit => (Some("runtime-error"), "memory-limit"),
        Death::ProcessLimit => (Some("runtime-error"), "process-limit"),
        Death::Cancelled => (Some("aborted"), "manual-cancel"),
        Death::NotStarted => match outcome.start_failure {
            Some(StartFailure::NotFound | StartFailure::Shell) => {
                (Some("shell-command-not-found"), "spawn-error")
            }
            Some(StartFailure::NotExecutable) => (Some("shell-not-executable"), "spawn-error"),
            _ => (Some("runtime-error"), "spawn-error"),
        },
        Death::OwnerLost | Death::SupervisorLost | Death::SandboxStopped | Death::EngineLost => {
            (Some("runtime-error"), "runtime-error")
        }
        Death::Exit | Death::Signal | Death::Memory | Death::Pids => match (outcome.code, outcome.signal) {
            (Some(126), _) => (Some("shell-not-executable"), "exit"),
            (Some(127), _) => (Some("shell-command-not-found"), "exit"),
            (Some(_), _) => (None, "exit"),
            (None, Some(_)) => (Some("signal"), "signal"),
            (None, None) => (Some("aborted"), "aborted"),
        },
    }
}

/// `SIGTERM`; `SIG34` for those without a name.
pub(crate) fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("SIG{signal}"), |name| name.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::wire::{Cause, Exit};

    fn result(exit: Exit) -> ExecResult {
        ExecResult::new(&Outcome::from_exit(exit, true), "/workspace", (String::new(), false), None)
    }

    #[test]
    fn classification_follows_the_specification() {
        let of = |cause, code, signal| {
            let result = result(Exit { cause, code, signal, alone: true, ..Exit::default() });
            (result.status, result.failure_kind, result.exit_code, result.exit_signal)
        };
        let sig = |name: &str| Some(name.to_owned());
        assert_eq!(of(Cause::Ended, 0, 0), ("completed", None, Some(0), None));
        assert_eq!(of(Cause::Ended, 3, 0), ("completed", None, Some(3), None));
        assert_eq!(of(Cause::Ended, 126, 0), ("failed", Some("shell-not-executable"), Some(126), None));
        assert_eq!(of(Cause::Ended, 127, 0), ("failed", Some("shell-command-not-found"), Some(127), None));
        assert_eq!(of(Cause::Ended, -1, 9), ("failed", Some("signal"), None, sig("SIGKILL")));
        assert_eq!(of(Cause::Timeout, -1, 15), ("failed", Some("overall-timeout"), None, sig("SIGTERM")));
        assert_eq!(of(Cause::Timeout, 0, 0), ("failed", Some("overall-timeout"), None, None));
    }
}
