//! The automatic reviewer of mode `auto` (spec `approvals.md` §13): an external command or an HTTP endpoint that looks at what
//! is exactly fixed, and allows one run, denies, or leaves it to a person. Every failure leaves it to a person.
//!
//! | file | concern |
//! |---|---|
//! | `case` | what the reviewer is told, and in which frame; pure |
//! | `steering` | a command that speaks to the reviewer; pure |
//! | `policy` | what a model is told to go by |
//! | `verdict` | its answer, read strictly; pure |
//! | `program` | an external command is asked |
//! | `endpoint` | an HTTP endpoint is asked |
//! | `tally` | denials in a row; pure |
//!
//! Whether a command is fixed enough to be reviewed (13.01) is for the caller to say.

mod case;
mod endpoint;
mod policy;
mod program;
mod steering;
mod tally;
mod verdict;

use std::sync::{Arc, Mutex, PoisonError};

pub use case::{Analysis, Case, Origin, Said};
use tally::Tally;
use verdict::{Decision, Verdict};

use crate::config::exec::ReviewerSettings;

/// What the reviewer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewed {
    /// This one run.
    Allow {
        /// Why, shortened.
        rationale: String,
    },
    /// No; another way is safer.
    Deny {
        /// Why, shortened.
        rationale: String,
    },
    /// A person decides, and why the reviewer does not.
    Ask(String),
}

/// Why there is no answer. The texts are shown to whoever decides instead; none repeats what the reviewer sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Failure {
    #[error("no reviewer is configured (tools.exec.reviewer.command or url)")]
    Unset,
    #[error("the reviewer's endpoint needs tools.exec.reviewer.model")]
    NoModel,
    #[error("the variable {0} of tools.exec.reviewer.keyEnv is not set, or holds no key")]
    NoKey(String),
    #[error("the reviewer did not answer within {0} ms (tools.exec.reviewer.timeoutMs)")]
    TimedOut(u128),
    #[error("the command is too long to be reviewed")]
    TooLong,
    #[error("the reviewer cannot be asked: {0}")]
    Unreachable(String),
    #[error("the reviewer failed: {0}")]
    Failed(String),
    #[error("the reviewer's answer was cut short")]
    Truncated,
    #[error("the reviewer's answer is longer than {0} bytes")]
    TooMuch(usize),
    #[error("the reviewer's answer is no verdict: {0}")]
    NoVerdict(&'static str),
}

/// The reviewer that is configured, and what it has denied in a row for each session (13.15). Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Reviewer {
    tally: Arc<Mutex<Tally>>,
}

impl Reviewer {
    /// Asks about a command. What cannot be reviewed, and every third denial in a row, is for a person.
    pub async fn review(&self, settings: &ReviewerSettings, session: &str, case: &Case) -> Reviewed {
        match ask(settings, case).await {
            Ok(verdict) => self.settle(session, verdict),
            Err(failure) => Reviewed::Ask(failure.to_string()),
        }
    }

    /// A person has decided: the count of denials begins anew.
    pub fn decided(&self, session: &str) {
        self.tally().reset(session);
    }

    fn settle(&self, session: &str, verdict: Verdict) -> Reviewed {
        let Verdict { decision, rationale } = verdict;
        match decision {
            Decision::Allow => {
                self.tally().reset(session);
                Reviewed::Allow { rationale }
            }
            Decision::Deny if self.tally().denied(session) => {
                Reviewed::Ask(format!("the reviewer has denied {} times in a row: {rationale}", tally::MOST))
            }
            Decision::Deny => Reviewed::Deny { rationale },
            Decision::Ask => Reviewed::Ask(format!("the reviewer leaves it to a person: {rationale}")),
        }
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(settings: &ReviewerSettings, case: &Case) -> Result<Verdict, Failure> {
    if !settings.is_set() {
        return Err(Failure::Unset);
    }
    // Text that speaks to the reviewer never reaches it (13.09).
    if let Some(what) = steering::find(case) {
        return Ok(Verdict::steering(what));
    }
    let text = case.text().ok_or(Failure::TooLong)?;
    let limit = settings.timeout();
    let answer = async {
        match settings.url.as_deref() {
            Some(url) => endpoint::ask(url, settings, &text, &case.transcript()).await,
            None => program::ask(&settings.command, &case.for_program()).await,
        }
    };
    let answer =
        tokio::time::timeout(limit, answer).await.map_err(|_| Failure::TimedOut(limit.as_millis()))??;
    verdict::read(&answer, case.analysis.inline_eval).map_err(Failure::NoVerdict)
}

#[cfg(test)]
mod tests;
