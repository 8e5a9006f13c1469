//! Which answers are offered, and what follows from one (spec `approvals.md` §9.1, §10).

use crate::config::exec::{Ask, Security};

/// What a person can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// This one run.
    AllowOnce,
    /// These arguments in this directory, for good.
    AllowAlways,
    /// No.
    Deny,
}

impl Decision {
    /// A decision by its name, exactly as surfaces send it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "allow-once" => Some(Self::AllowOnce),
            "allow-always" => Some(Self::AllowAlways),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }

    /// Its name, as surfaces send it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow-once",
            Self::AllowAlways => "allow-always",
            Self::Deny => "deny",
        }
    }
}

/// What of a command could be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Persistence {
    /// Entries of the allowlist.
    Patterns,
    /// Nothing: another run may be another program.
    OneShot,
}

/// The decisions that are offered. A person who is to see every run is not offered to see none, and what cannot be
/// remembered is not offered for good (9.03).
pub fn allowed(ask: Option<Ask>, persistence: Option<Persistence>) -> Vec<Decision> {
    let lasting = ask != Some(Ask::Always) && persistence != Some(Persistence::OneShot);
    let all = [Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
    all.into_iter().filter(|decision| lasting || *decision != Decision::AllowAlways).collect()
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Somebody decided.
    Decided(Decision),
    /// Somebody could have, and did not in time.
    TimedOut,
    /// Nobody could be asked.
    Unreachable,
    /// Something came that is no decision, or one that was not offered.
    Malformed,
}

impl Answer {
    /// A word from a surface. `deny` is always accepted; anything that was not offered is no decision (9.25).
    pub fn heard(text: &str, offered: &[Decision]) -> Self {
        match Decision::parse(text) {
            Some(Decision::Deny) => Self::Decided(Decision::Deny),
            Some(decision) if offered.contains(&decision) => Self::Decided(decision),
            _ => Self::Malformed,
        }
    }
}

/// Why a command that needed an answer does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Denial {
    /// Somebody said no.
    User,
    /// Nobody said anything, and no fallback lets it run.
    Timeout,
    /// The fallback asks for an entry, and there is none.
    TimeoutMiss,
    /// The fallback asks for an entry; there is one, and the command cannot be run as it was matched.
    TimeoutUnpinned,
    /// What came was no decision.
    Malformed,
}

impl Denial {
    /// As told to whoever asked for the run.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::User => "user-denied",
            Self::Timeout => "approval-timeout",
            Self::TimeoutMiss => "approval-timeout: allowlist-miss",
            Self::TimeoutUnpinned => "approval-timeout: execution-plan-miss",
            Self::Malformed => "malformed-verdict",
        }
    }
}

/// What follows from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It may run, once.
    Approved,
    /// It may run if the list covers it: [`State::settle`] decides.
    IfListed,
    /// It may not.
    Denied(Denial),
}

/// What follows from an answer under the fallback that holds. `needs_answer`: only a person's answer will do.
///
/// Silence of somebody who was asked is a denial, whatever the fallback says: it stands in for people who could not be
/// reached, not for people who did not agree.
pub fn state(answer: Answer, fallback: Security, needs_answer: bool) -> State {
    match (answer, fallback) {
        (Answer::Decided(Decision::Deny), _) => State::Denied(Denial::User),
        (Answer::Decided(_), _) => State::Approved,
        (Answer::Malformed, _) => State::Denied(Denial::Malformed),
        (Answer::Unreachable, Security::Full) if !needs_answer => State::Approved,
        (Answer::Unreachable, Security::Allowlist) if !needs_answer => State::IfListed,
        (Answer::Unreachable | Answer::TimedOut, _) => State::Denied(Denial::Timeout),
    }
}

impl State {
    /// The end of it. `listed`: the list covers the command; `pinned`: it can be run as it was matched.
    pub fn settle(self, listed: bool, pinned: bool) -> Result<(), Denial> {
        match self {
            Self::Denied(denial) => Err(denial),
            Self::IfListed if !listed => Err(Denial::TimeoutMiss),
            Self::IfListed if !pinned => Err(Denial::TimeoutUnpinned),
            Self::IfListed | Self::Approved => Ok(()),
        }
    }
}
