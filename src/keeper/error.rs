//! Why the keeper cannot be had, or does not do what it is asked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Diagnose, Report};

/// Failures of the keeper, and of the way to it.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// Its program does not start.
    #[error("the keeper cannot be started: {0}")]
    Start(std::io::Error),
    /// The state directory cannot be watched.
    #[error("the state directory cannot be watched: {0}")]
    Watch(std::io::Error),
    /// Its socket cannot be made or reached.
    #[error("{path}: {action}: {source}")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// It was started and does not answer.
    #[error("the keeper was started and does not answer: {0}")]
    NoAnswer(String),
    /// Somebody else is at the other end of the socket.
    #[error("the other end of the keeper's socket belongs to user {0}")]
    Stranger(u32),
    /// A command of an agent speaks about approvals.
    #[error(
        "a command that creel runs on this machine cannot answer approvals: a person does, outside of it"
    )]
    Agent,
    /// A line that is no request.
    #[error("not a request: {0}")]
    Malformed(String),
    /// A line longer than [`super::MAX_REQUEST`].
    #[error("a line of more than {0} bytes")]
    TooLong(usize),
    /// A method that there is not.
    #[error("there is no method {0:?}")]
    Method(String),
    /// Parameters that do not fit their method.
    #[error("parameters of {method}: {reason}")]
    Params {
        /// The method.
        method: String,
        /// Why they do not fit.
        reason: String,
    },
    /// The connection ended before the answer, and what was asked may not be asked twice.
    #[error("the keeper ended before it answered; whether {0} was done is not known")]
    Unknown(String),
    /// More connections or requests than are served at once.
    #[error("{what}: more than {limit} at once")]
    Busy {
        /// Of what.
        what: &'static str,
        /// How many are served.
        limit: usize,
    },
    /// What came is no answer of a keeper.
    #[error("what answers at the keeper's socket is no keeper of this version: {0}")]
    Strange(String),
    /// The session is not known.
    #[error("no session {0:?}")]
    NoSession(String),
    /// The caller means another engine than the keeper.
    #[error("the keeper was started for another engine ({keeper}) than this call means ({caller})")]
    OtherEngine {
        /// The keeper's.
        keeper: String,
        /// The caller's.
        caller: String,
    },
    /// The keeper is about to end.
    #[error("the keeper is ending")]
    Ending,
    /// The keeper's own refusal or that of a tool, carried over the connection.
    #[error("{}", .0.message)]
    Told(Told),
}

impl Diagnose for KeeperError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Start(_) => (
                "CRL-KEEPER-001",
                "built-in: one keeper for each state directory",
                "run `creel keeper` to see why it does not start",
            ),
            Self::Watch(_) => (
                "CRL-KEEPER-002",
                "CREEL_STATE_DIR",
                "raise fs.inotify.max_user_instances, or put the state directory on a local file system",
            ),
            Self::Socket { .. } => (
                "CRL-KEEPER-003",
                "CREEL_STATE_DIR",
                "make the state directory writable for this user, and /proc readable where its path is long",
            ),
            Self::NoAnswer(_) => (
                "CRL-KEEPER-004",
                "CREEL_STATE_DIR",
                "read creel/keeper.log in the state directory, or run `creel keeper` to see why",
            ),
            Self::Stranger(_) => (
                "CRL-KEEPER-005",
                "built-in: keeper and caller are the same user, or one is root",
                "use a state directory of your own (CREEL_STATE_DIR)",
            ),
            Self::Agent => (
                "CRL-KEEPER-018",
                "built-in: an agent does not answer its own approvals",
                "answer in a terminal that no command of an agent has opened",
            ),
            Self::Malformed(_) => (
                "CRL-KEEPER-006",
                "built-in: one JSON object with id, method and params on each line",
                "send {\"id\":1,\"method\":\"keeper.status\"}",
            ),
            Self::TooLong(_) => ("CRL-KEEPER-007", "built-in: length of a line", "send less in one request"),
            Self::Method(_) => {
                ("CRL-KEEPER-008", "built-in: methods of the keeper", "see docs/operations.md")
            }
            Self::Params { .. } => {
                ("CRL-KEEPER-009", "built-in: parameters of the method", "correct the named parameter")
            }
            Self::Unknown(_) => (
                "CRL-KEEPER-010",
                "built-in: input is never sent twice by itself",
                "look with `creel process log`, then say it again where it did not arrive",
            ),
            Self::Busy { .. } => (
                "CRL-KEEPER-012",
                "built-in: bounds of the keeper",
                "wait for the calls that run, then try again",
            ),
            Self::Strange(_) => (
                "CRL-KEEPER-013",
                "built-in: keeper and command line are of one build",
                "end the other one with its own `creel keeper stop`",
            ),
            Self::NoSession(_) => (
                "CRL-KEEPER-014",
                "built-in: sessions of this state directory",
                "see `creel process list` for those that there are",
            ),
            Self::Ending => ("CRL-KEEPER-015", "built-in: a keeper that ends takes nothing on", "try again"),
            Self::OtherEngine { .. } => (
                "CRL-KEEPER-017",
                "DOCKER_HOST, DOCKER_CONTEXT, or --engine of `creel keeper`",
                "end it with `creel keeper stop`, which the next call starts anew with its own engine; or name the same \
                 engine",
            ),
            Self::Told(told) => return told.report(),
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix: fix.to_owned() }
    }
}

/// A refusal as it travels: the one shape of [`Report`], and the text for the model where a tool threw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Stable code.
    pub code: String,
    /// What was refused or failed.
    pub message: String,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The smallest safe change that helps.
    #[serde(default)]
    pub fix: String,
    /// The error as the model reads it, where a tool threw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Told {
    /// The refusal as it was made at the other end. Codes live as long as the program: the few that there are come
    /// back as what they were.
    pub fn report(&self) -> Report {
        Report {
            code: code(&self.code),
            message: self.message.clone(),
            rule: self.rule.clone(),
            fix: self.fix.clone(),
        }
    }
}

/// Codes that were told, each kept once.
static CODES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// Codes that are kept, and the length of one: what talks at the other end may be of another build.
const MAX_CODES: usize = 1024;
const MAX_CODE: usize = 64;

fn code(text: &str) -> &'static str {
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = codes.get(text) {
        return known;
    }
    if codes.len() >= MAX_CODES || text.len() > MAX_CODE {
        return "CRL-KEEPER-016";
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    codes.insert(kept);
    kept
}

impl From<Report> for Told {
    fn from(report: Report) -> Self {
        let Report { code, message, rule, fix } = report;
        Self { code: code.to_owned(), message, rule, fix, text: None }
    }
}

impl From<KeeperError> for Told {
    fn from(error: KeeperError) -> Self {
        match error {
            KeeperError::Told(told) => told,
            other => other.report().into(),
        }
    }
}

impl From<crate::tools::ToolError> for Told {
    fn from(error: crate::tools::ToolError) -> Self {
        let text = Some(error.text);
        Self { text, ..error.report.into() }
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}]", self.text.as_ref().unwrap_or(&self.message), self.code)?;
        if let Some(rule) = &self.rule {
            write!(f, "\n  rule: {rule}")?;
        }
        if !self.fix.is_empty() {
            write!(f, "\n  fix:  {}", self.fix)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_has_one_code_its_own() {
        let inner = KeeperError::NoSession("x".to_owned()).report();
        let carried = KeeperError::Told(Told::from(inner.clone())).report();
        assert_eq!(carried, inner);
        assert!(!carried.to_string().contains("KEEPER-016"), "{carried}");
        let odd = Told { code: "X".repeat(100), ..Told::from(inner) };
        assert_eq!(odd.report().code, "CRL-KEEPER-016");
    }
}
