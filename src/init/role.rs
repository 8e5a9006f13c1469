//! Where this init stands, and what follows from it.

use std::time::Duration;

use super::tree::Reach;

/// How long a sandbox keeps a result that nobody has taken over: creel restarts in seconds, and its sandboxes serve
/// other commands meanwhile.
const KEEP_IN_SANDBOX: Duration = Duration::from_mins(10);
/// Beside the gateway nothing else is served, and a person may be away for a night.
const KEEP_BESIDE: Duration = Duration::from_hours(24);
/// A supervisor beside the gateway to which nobody has given a command: whoever started it is gone.
const UNUSED: Duration = Duration::from_secs(30);

/// Where this init stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// PID 1 of a sandbox: everything in its pid namespace is its own. Ends after this long without a command and
    /// without a host; zero is never.
    Pid1(Duration),
    /// Beside the gateway, for one command: of the machine's processes only its descendants are its own.
    Beside {
        /// The kernel's out-of-memory killer takes the command before anything else (spec `exec.md` §4.1).
        expendable: bool,
    },
}

impl Role {
    /// Which processes it may look at and signal.
    pub(super) fn reach(self) -> Reach {
        match self {
            Self::Pid1(_) => Reach::Namespace,
            Self::Beside { .. } => Reach::Below,
        }
    }

    /// It has one command and ends with it.
    pub(super) fn is_beside(self) -> bool {
        matches!(self, Self::Beside { .. })
    }

    /// How long it stays without a command and without a host; `None` is for ever.
    pub(super) fn idle(self) -> Option<Duration> {
        match self {
            Self::Pid1(idle) => (!idle.is_zero()).then_some(idle),
            Self::Beside { .. } => Some(UNUSED),
        }
    }

    /// How long it keeps a result that nobody takes over.
    pub(super) fn keep(self) -> Duration {
        match self {
            Self::Pid1(_) => KEEP_IN_SANDBOX,
            Self::Beside { .. } => KEEP_BESIDE,
        }
    }

    /// Its commands have their `oom_score_adj` raised.
    pub(super) fn expendable(self) -> bool {
        matches!(self, Self::Beside { expendable: true })
    }
}
