//! Why a session cannot be kept or used.

use crate::error::{Diagnose, Report};
use crate::process::record::SessionId;
use crate::process::spool::SpoolError;
use crate::process::store::StoreError;
use crate::state::StateError;

/// Why a session cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// The index.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// There is no such session, or no more.
    #[error("there is no session {id}")]
    Unknown {
        /// As it was asked for.
        id: SessionId,
    },
    /// The creel that recorded it died before its command was started.
    #[error("the command of session {id} was never started")]
    NeverRan {
        /// The session.
        id: SessionId,
    },
    /// It has ended.
    #[error("session {id} has ended")]
    Ended {
        /// The session.
        id: SessionId,
    },
    /// It has not ended.
    #[error("session {id} still runs")]
    Running {
        /// The session.
        id: SessionId,
    },
    /// Its command has ended and its result is being stored.
    #[error("session {id} is finalizing")]
    Finalizing {
        /// The session.
        id: SessionId,
    },
    /// Its command is followed already.
    #[error("session {id} is followed already")]
    Followed {
        /// The session.
        id: SessionId,
    },
    /// Its input takes nothing (any more).
    #[error("session {id} stdin is not writable")]
    InputClosed {
        /// The session.
        id: SessionId,
    },
    /// The program does not read.
    #[error("session {id} took {taken} of {of} bytes: the program does not read its input")]
    InputFull {
        /// The session.
        id: SessionId,
        /// Bytes of this request that are on their way or taken.
        taken: usize,
        /// Bytes of this request.
        of: usize,
    },
    /// Its init cannot be reached at the moment.
    #[error("session {id} cannot be reached: {reason}")]
    Unreachable {
        /// The session.
        id: SessionId,
        /// Why.
        reason: String,
    },
    /// No random bytes for a name.
    #[error("the system gives no random bytes: {reason}")]
    Random {
        /// The operating system's reason.
        reason: String,
    },
}

impl Diagnose for ProcessError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::State(error) => return error.report(),
            Self::Store(error) => return error.report(),
            Self::Spool(error) => return error.report(),
            Self::Unknown { .. } => (
                "CRL-PROC-001",
                "tools.exec.cleanupMs",
                "list the sessions; a finished one is kept for a while only, and only an exec result names one",
            ),
            Self::Ended { .. } => {
                ("CRL-PROC-002", "built-in: what has ended takes nothing", "poll or log it for its result")
            }
            Self::Running { .. } => {
                ("CRL-PROC-003", "built-in: only finished sessions are cleared", "kill or remove it instead")
            }
            Self::Finalizing { .. } => {
                ("CRL-PROC-004", "built-in: a result is stored before it is told", "poll it for its result")
            }
            Self::Followed { .. } => {
                ("CRL-PROC-005", "built-in: one command for each session", "begin another session")
            }
            Self::InputClosed { .. } => (
                "CRL-PROC-006",
                "built-in: input is open with pty or background",
                "start the command with pty: true or background: true, and do not close its input before",
            ),
            Self::InputFull { .. } => (
                "CRL-PROC-007",
                "built-in: at most 256 KiB of input wait for a program",
                "see with poll what the program does, then send the rest",
            ),
            Self::Unreachable { .. } => (
                "CRL-PROC-008",
                "built-in: a command is reached over its init",
                "call again; creel keeps trying, and its limits hold meanwhile",
            ),
            Self::NeverRan { .. } => (
                "CRL-PROC-010",
                "built-in: a session is recorded before its command is started",
                "call exec again: the command did not run",
            ),
            Self::Random { .. } => (
                "CRL-PROC-009",
                "built-in: nobody guesses a session's name",
                "check that getrandom works on this machine",
            ),
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix: fix.to_owned() }
    }
}
