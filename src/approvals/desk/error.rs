//! Why a question, an answer or a grant is not taken.

use crate::approvals::policy::Decision;
use crate::error::{Diagnose, Report};
use crate::process::store::StoreError;

/// Failures of the desk. An id that was never known, one that has ended by itself, and one that somebody decided have
/// three different messages.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// No question has this id (`APPROVAL_NOT_FOUND`).
    #[error("unknown approval id {0:?}")]
    Unknown(String),
    /// It ended without a decision (`APPROVAL_NOT_FOUND`).
    #[error("approval {id} has expired: {why}")]
    Expired {
        /// Its id.
        id: String,
        /// How it ended.
        why: &'static str,
    },
    /// Somebody else decided otherwise (`APPROVAL_ALREADY_RESOLVED`).
    #[error("approval already resolved: {id} was {decided}")]
    Resolved {
        /// Its id.
        id: String,
        /// What was decided.
        decided: &'static str,
    },
    /// The beginning of several ids.
    #[error("ambiguous approval id prefix; use the full id: {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// A decision that was not offered (`APPROVAL_ALLOW_ALWAYS_UNAVAILABLE`).
    #[error("{decision} is not offered for approval {id}; {offered} is")]
    NotOffered {
        /// Its id.
        id: String,
        /// What was decided.
        decision: &'static str,
        /// What could be.
        offered: String,
    },
    /// Not a decision.
    #[error("{0:?} is no decision")]
    Word(String),
    /// An answer to another kind of question.
    #[error("approval {id} is of kind exec, and the answer is for kind {kind:?}")]
    Kind {
        /// Its id.
        id: String,
        /// What the answer says.
        kind: String,
    },
    /// An id that a caller may not choose.
    #[error("{0:?} cannot be the id of an approval")]
    Id(String),
    /// An id that was used before.
    #[error("approval id {0:?} is taken")]
    Taken(String),
    /// Nothing to ask about.
    #[error("the command of the question is empty")]
    Empty,
    /// Too long to be shown whole (`EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT`).
    #[error("the command is too long to be shown whole, and nobody may approve what is not shown")]
    Display,
    /// More questions than people can answer.
    #[error("{0} questions wait for a person already")]
    Full(usize),
    /// More calls wait for one question than anybody means.
    #[error("{most} calls wait for approval {id} already")]
    Joined {
        /// Its id.
        id: String,
        /// How many can.
        most: u32,
    },
    /// It was good for one run, and that was started (9.40).
    #[error("approval {0} is used: it was for one run")]
    Used(String),
    /// It was not used in time (9.40).
    #[error("approval {0} is too old: it had to be used within 15 seconds")]
    Late(String),
    /// It was not approved.
    #[error("approval {0} does not let anything run: it was not approved")]
    NotAllowed(String),
    /// Limits that make no sense.
    #[error("the limits of the grant cannot hold: {0}")]
    Terms(String),
    /// No grant has this id.
    #[error("unknown grant id {0:?}")]
    NoGrant(String),
    /// A grant that holds no more (18.07).
    #[error("standing grant no longer valid ({why}); the next occurrence will prompt for approval again")]
    Over {
        /// Its id.
        id: String,
        /// Why.
        why: &'static str,
    },
    /// What must be remembered cannot be: nothing is allowed then.
    #[error("approval-state-write-failed: {0}")]
    Store(#[from] StoreError),
    /// No randomness for an id.
    #[error("no id can be made: {0}")]
    Random(std::io::Error),
}

impl DeskError {
    /// The specification's word for it, where it has one.
    pub const fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Unknown(_) | Self::Expired { .. } => Some("APPROVAL_NOT_FOUND"),
            Self::Resolved { .. } => Some("APPROVAL_ALREADY_RESOLVED"),
            Self::NotOffered { .. } => Some("APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"),
            Self::Display => Some("EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT"),
            _ => None,
        }
    }

    const fn told(&self) -> (&'static str, &'static str, &'static str) {
        const PENDING: &str = "see what waits: creel approvals pending";
        const AGAIN: &str = "let the command be asked for again";
        match self {
            Self::Unknown(_) => ("CRL-DESK-001", "an id of a question that waits", PENDING),
            Self::Expired { .. } => ("CRL-DESK-002", "a question ends by itself", AGAIN),
            Self::Resolved { .. } => ("CRL-DESK-003", "the first answer counts", AGAIN),
            Self::Ambiguous(_) => ("CRL-DESK-004", "a shortened id fits one question", "write the whole id"),
            Self::NotOffered { .. } => {
                ("CRL-DESK-005", "only what is offered can be decided", "decide something that is offered")
            }
            Self::Word(_) => (
                "CRL-DESK-006",
                "decisions are allow-once, allow-always and deny",
                "write one of these words exactly",
            ),
            Self::Kind { .. } => (
                "CRL-DESK-007",
                "an answer is for one kind of question",
                "answer it as kind exec, or leave the kind out",
            ),
            Self::Id(_) => (
                "CRL-DESK-008",
                "ids are 1 to 128 characters of A-Z a-z 0-9 . _ : - and begin neither with - nor with plugin:",
                "leave the id out: one is made",
            ),
            Self::Taken(_) => ("CRL-DESK-009", "an id names one question", "leave the id out: one is made"),
            Self::Empty => ("CRL-DESK-010", "a question has a command", "send the command"),
            Self::Display => (
                "CRL-DESK-011",
                "16384 characters are shown at most",
                "put the text into a script file and run that",
            ),
            Self::Full(_) => (
                "CRL-DESK-012",
                "256 questions wait at most, 64 of one session",
                "answer some: creel approvals pending",
            ),
            Self::Joined { .. } => (
                "CRL-DESK-021",
                "32 calls wait for one question at most",
                "answer it: creel approvals pending",
            ),
            Self::Used(_) => ("CRL-DESK-013", "allow-once is for one run", AGAIN),
            Self::Late(_) => ("CRL-DESK-014", "an approval is used within 15 seconds", AGAIN),
            Self::NotAllowed(_) => ("CRL-DESK-015", "only an approval lets a command run", AGAIN),
            Self::Terms(_) => (
                "CRL-DESK-016",
                "limits stand beside allow-always, and are in the future",
                "correct the limit, or decide without limits",
            ),
            Self::NoGrant(_) => {
                ("CRL-DESK-017", "an id of a grant", "see the grants: creel approvals grants list")
            }
            Self::Over { .. } => ("CRL-DESK-018", "a grant holds within its limits", AGAIN),
            Self::Store(_) | Self::Random(_) => {
                ("CRL-DESK-019", "what is not recorded is not allowed", AGAIN)
            }
        }
    }
}

impl Diagnose for DeskError {
    fn report(&self) -> Report {
        if let Self::Store(error) = self {
            return error.report();
        }
        let (code, rule, fix) = self.told();
        let rule = match self.reason() {
            Some(reason) => format!("built-in: {rule} ({reason})"),
            None => format!("built-in: {rule}"),
        };
        Report { code, message: self.to_string(), rule: Some(rule), fix: fix.to_owned() }
    }
}

/// A decision as people read it.
pub(super) const fn told(decision: Option<Decision>) -> &'static str {
    match decision {
        Some(Decision::AllowOnce) => "allowed once",
        Some(Decision::AllowAlways) => "allowed always",
        Some(Decision::Deny) | None => "denied",
    }
}
