//! Modes and the pairs that they stand for.

use crate::config::exec::{Ask, ExecMode, Security};

/// Security and ask, and whether a reviewer looks before a person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModePolicy {
    /// How far commands are trusted.
    pub security: Security,
    /// When a person is asked.
    pub ask: Ask,
    /// A reviewer is asked first. It counts only with the pair of mode `auto`: who tightens ask means a person
    /// (spec `approvals.md` 3.05).
    pub reviewed: bool,
}

impl ModePolicy {
    /// A pair without reviewer.
    pub const fn pair(security: Security, ask: Ask) -> Self {
        Self { security, ask, reviewed: false }
    }

    /// The policy of a mode.
    pub fn of(mode: ExecMode) -> Self {
        let (security, ask) = mode.pair();
        Self { security, ask, reviewed: mode == ExecMode::Auto }
    }

    /// Whether the reviewer is asked.
    pub fn reviewer(self) -> bool {
        self.reviewed && (self.security, self.ask) == ExecMode::Auto.pair()
    }

    /// The mode that is shown for the policy (spec `approvals.md` 2.01).
    pub fn mode(self) -> ExecMode {
        match (self.security, self.ask) {
            _ if self.reviewer() => ExecMode::Auto,
            (Security::Deny, _) => ExecMode::Deny,
            (Security::Allowlist, Ask::Off) => ExecMode::Allowlist,
            (Security::Full, Ask::Off | Ask::OnMiss) => ExecMode::Full,
            _ => ExecMode::Ask,
        }
    }

    /// The mode that says the same, if there is one. What is shown may lose `always`, or that `full` asks on a miss.
    pub fn exact(self) -> Option<ExecMode> {
        let lossy = self.ask == Ask::Always || (self.security, self.ask) == (Security::Full, Ask::OnMiss);
        (!lossy).then(|| self.mode())
    }

    /// Never looser than `other`, for listed commands and for others. Where one refuses unasked what the other asks, but
    /// lets more of the rest run, neither is within the other.
    pub fn within(self, other: Self) -> bool {
        let ((listed, rest), (other_listed, other_rest)) = (self.reach(), other.reach());
        listed <= other_listed && rest <= other_rest
    }

    /// What becomes of a listed command, and of another.
    fn reach(self) -> (Reach, Reach) {
        match (self.security, self.ask) {
            (Security::Deny, _) => (Reach::Refused, Reach::Refused),
            (_, Ask::Always) => (Reach::Asked, Reach::Asked),
            (Security::Allowlist, Ask::Off) => (Reach::Runs, Reach::Refused),
            (Security::Allowlist, Ask::OnMiss) if self.reviewer() => (Reach::Runs, Reach::Reviewed),
            (Security::Allowlist, Ask::OnMiss) => (Reach::Runs, Reach::Asked),
            (Security::Full, Ask::Off | Ask::OnMiss) => (Reach::Runs, Reach::Runs),
        }
    }

    /// The stricter of both, value by value. A reviewer stays only where the result is what it was set up for.
    pub fn stricter(self, other: Self) -> Self {
        let (security, ask) = (self.security.min(other.security), self.ask.max(other.ask));
        Self { security, ask, ..self }
    }
}

/// How far a command gets, the least far first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Refused,
    Asked,
    Reviewed,
    Runs,
}

/// What an operator sets for a session (spec `approvals.md` 2.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// Nothing runs on a host.
    ReadOnly,
    /// What is not listed is asked.
    Guarded,
    /// What is not listed is reviewed, then asked.
    Workspace,
    /// Everything runs that the machine's owner lets run.
    Full,
}

impl PermissionMode {
    /// The mode of commands on hosts.
    pub const fn exec(self) -> ExecMode {
        match self {
            Self::ReadOnly => ExecMode::Deny,
            Self::Guarded => ExecMode::Ask,
            Self::Workspace => ExecMode::Auto,
            Self::Full => ExecMode::Full,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Guarded => "guarded",
            Self::Workspace => "workspace",
            Self::Full => "full",
        }
    }
}
