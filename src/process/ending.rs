//! How a session ended, in the words that results use (spec `exec.md` §5.3, §7.3, §7.5). Pure.

use serde::Serialize;

use super::record::End;
use crate::runner::{Death, Outcome, StartFailure, classify, signal_name};

/// Whether agents take a result for an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It ended as commands do, whatever its exit code said.
    Completed,
    /// It could not be run, or did not come to its own end.
    Failed,
}

impl Status {
    /// As results write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// The classified end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// What agents go by.
    pub status: Status,
    /// `exitReason`: what ended it.
    pub reason: &'static str,
    /// `failureKind`: why it counts as failed; `None` where it does not.
    pub failure: Option<&'static str>,
    /// Its exit code; none where a limit ended it.
    pub code: Option<i32>,
    /// Name of the signal that ended it, such as `SIGTERM`.
    pub signal: Option<String>,
    /// The cause as creel knows it: finer than `reason`.
    pub death: Death,
    /// It was ended because somebody asked for it, and nothing of it is left as far as can be known.
    pub stopped: bool,
    /// It was to be ended, and something may be left.
    pub unconfirmed: bool,
}

impl Ending {
    /// Of a finished session.
    pub fn of(end: &End) -> Self {
        let mut ending = Self::from_outcome(&end.outcome);
        let cancelled = ending.death == Death::Cancelled && end.requested;
        let lost = end.lost.is_some();
        ending.unconfirmed |= cancelled && lost;
        ending.stopped = cancelled && !ending.unconfirmed;
        if lost && ending.status == Status::Completed {
            (ending.status, ending.failure) = (Status::Failed, Some("runtime-error"));
        }
        ending
    }

    /// Of a command that no session keeps.
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let (failure, reason) = classify(outcome);
        let limit = matches!(outcome.death, Death::Timeout | Death::NoOutputTimeout);
        let asked = limit || outcome.death == Death::Cancelled;
        let gone = outcome.processes.is_none_or(|all| all.proven_gone);
        Self {
            status: if failure.is_none() { Status::Completed } else { Status::Failed },
            reason,
            failure,
            code: code(outcome).filter(|_| !limit),
            signal: outcome.signal.map(signal_name),
            death: outcome.death,
            stopped: false,
            unconfirmed: asked && !gone,
        }
    }

    /// A limit on its time or its silence ended it.
    pub fn timed_out(&self) -> bool {
        matches!(self.death, Death::Timeout | Death::NoOutputTimeout)
    }

    /// Its limit on silence ended it.
    pub fn silent(&self) -> bool {
        self.death == Death::NoOutputTimeout
    }

    /// What `poll` and `log` say of it: a stop that was asked for is no failure (spec `exec.md` §7.2).
    pub fn polled(&self) -> Status {
        if self.stopped { Status::Completed } else { self.status }
    }

    /// `code 3`, `signal SIGTERM` or `unknown exit code`.
    pub fn how(&self) -> String {
        match (&self.signal, self.code) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, Some(code)) => format!("code {code}"),
            (None, None) => "unknown exit code".to_owned(),
        }
    }
}

/// A program that is missing has the code that a shell gives it.
fn code(outcome: &Outcome) -> Option<i32> {
    match outcome.start_failure {
        Some(StartFailure::NotFound) => Some(127),
        Some(StartFailure::NotExecutable) => Some(126),
        Some(_) => None,
        None => outcome.code,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::process::fixture::{finished, outcome, stopped};
    use crate::process::record::View;
    use crate::runner::Processes;

    fn of(view: &View) -> Ending {
        Ending::of(view.end.as_ref().unwrap())
    }

    #[test]
    fn the_table_of_exits() {
        let rows = [
            (Death::Exit, Some(0), None, "exit", None, "code 0"),
            (Death::Exit, Some(3), None, "exit", None, "code 3"),
            (Death::Exit, Some(137), None, "exit", None, "code 137"),
            (Death::Exit, Some(126), None, "exit", Some("shell-not-executable"), "code 126"),
            (Death::Exit, Some(127), None, "exit", Some("shell-command-not-found"), "code 127"),
            (Death::Signal, None, Some(11), "signal", Some("signal"), "signal SIGSEGV"),
            (Death::Signal, None, Some(40), "signal", Some("signal"), "signal SIG40"),
            (Death::Memory, Some(137), None, "exit", None, "code 137"),
            (Death::Memory, None, Some(9), "signal", Some("signal"), "signal SIGKILL"),
            (Death::Timeout, None, Some(15), "overall-timeout", Some("overall-timeout"), "signal SIGTERM"),
            (Death::Timeout, Some(0), None, "overall-timeout", Some("overall-timeout"), "unknown exit code"),
            (
                Death::NoOutputTimeout,
                None,
                Some(9),
                "no-output-timeout",
                Some("no-output-timeout"),
                "signal SIGKILL",
            ),
            (Death::Cancelled, None, Some(15), "manual-cancel", Some("aborted"), "signal SIGTERM"),
            (Death::SandboxStopped, None, None, "runtime-error", Some("runtime-error"), "unknown exit code"),
            (Death::SupervisorLost, None, Some(9), "runtime-error", Some("runtime-error"), "signal SIGKILL"),
            (Death::NotStarted, None, None, "spawn-error", Some("runtime-error"), "unknown exit code"),
        ];
        for (death, code, signal, reason, failure, how) in rows {
            let ending = of(&finished(death, code, signal));
            assert_eq!(
                (ending.reason, ending.failure, ending.how().as_str()),
                (reason, failure, how),
                "{death:?}"
            );
            let status = if failure.is_none() { Status::Completed } else { Status::Failed };
            assert_eq!((ending.status, ending.polled()), (status, status), "{death:?}");
        }
    }

    #[test]
    fn a_missing_program_has_the_code_of_a_shell() {
        let missing = |failure| {
            let outcome =
                Outcome { start_failure: Some(failure), ..outcome(Death::NotStarted, Some(-1), None) };
            let ending = Ending::from_outcome(&outcome);
            (ending.code, ending.failure)
        };
        assert_eq!(missing(StartFailure::NotFound), (Some(127), Some("shell-command-not-found")));
        assert_eq!(missing(StartFailure::NotExecutable), (Some(126), Some("shell-not-executable")));
        assert_eq!(missing(StartFailure::Workdir), (None, Some("runtime-error")));
    }

    #[test]
    fn a_stop_that_was_asked_for_is_no_failure_once_it_is_confirmed() {
        let ending = of(&stopped(None, Some(15)));
        assert_eq!(
            (ending.status, ending.polled(), ending.stopped),
            (Status::Failed, Status::Completed, true)
        );
        let mut view = stopped(None, Some(9));
        view.end.as_mut().unwrap().outcome.processes = Some(Processes::default());
        let ending = of(&view);
        assert_eq!((ending.polled(), ending.stopped, ending.unconfirmed), (Status::Failed, false, true));
        let mut view = stopped(None, None);
        view.end.as_mut().unwrap().lost = Some("gone".to_owned());
        assert_eq!(of(&view).polled(), Status::Failed);
        // It was asked for, but the command was faster.
        let mut view = finished(Death::Exit, Some(0), None);
        view.end.as_mut().unwrap().requested = true;
        assert_eq!((of(&view).stopped, of(&view).status), (false, Status::Completed));
    }
}
