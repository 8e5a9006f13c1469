//! A question about a command, and what follows from its answer (spec `approvals.md` §9.1, §10).

use super::eligible::eligible;
use super::error::names;
use super::{Cleared, Launch, Looked, Standing};
use crate::approvals::explain::words::one_shot;
use crate::approvals::host_permit::Ground;
use crate::approvals::policy::answer::{allowed, state};
use crate::approvals::policy::judge::Judged;
use crate::approvals::policy::{Answer, Decision, Denial, Persistence, Reason};
use crate::approvals::remember::{Remembered, runs_project};
use crate::config::exec::{Ask, Security};

/// What an approval of a program that does what the project says does not cover.
const PROJECT: &str =
    "Warning: files of the project decide what this runs; they are not bound, and may change until it runs.";

/// Whether the reviewer is asked before a person is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// The policy has none.
    Off,
    /// It may be asked.
    Eligible,
    /// It may not, and why.
    Skipped(&'static str),
}

/// A question. Made by [`super::decide`] alone, so that no answer clears what was not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    reason: Reason,
    offered: Vec<Decision>,
    warnings: Vec<String>,
    /// No fallback and no grant stands in for a person (10.03).
    needs_answer: bool,
    listed: bool,
    pinned: bool,
    always: bool,
    fallback: Security,
    review: Review,
}

impl Asking {
    pub(super) fn about(
        judged: &Judged,
        reason: Reason,
        standing: &Standing<'_>,
        looked: &Looked<'_>,
    ) -> Self {
        let assessed = looked.assessed;
        let facts = assessed.facts(looked.enforced.is_err());
        let patterns = matches!(looked.remembered, Remembered::Entries(entries) if !entries.is_empty());
        let lasting = patterns
            && facts.analysed
            && !facts.inline_eval
            && !facts.suppresses
            && !facts.unpinned
            && !facts.environment
            && !facts.unseen;
        let persistence = if lasting { Persistence::Patterns } else { Persistence::OneShot };
        let review = eligible(standing.policy, assessed);
        let mut asking = Self {
            reason,
            offered: allowed(Some(standing.policy.ask), Some(persistence)),
            warnings: Vec::new(),
            needs_answer: judged.needs_answer() || assessed.heredoc,
            listed: facts.listed && !facts.environment,
            pinned: looked.enforced.is_ok(),
            always: standing.policy.ask == Ask::Always,
            fallback: standing.effective.ask_fallback.value,
            review,
        };
        asking.warn(looked);
        asking
    }

    fn warn(&mut self, looked: &Looked<'_>) {
        let assessed = looked.assessed;
        if let (true, Some(form)) = (assessed.strict_inline, &assessed.inline) {
            self.warnings.push(format!(
                "Warning: strict inline-eval mode requires reviewer or explicit approval for {form}."
            ));
        }
        if let Err(refused) = &assessed.analysis {
            self.warnings.push(format!(
                "Warning: what this command runs cannot be told ({}); an approval holds for exactly this text.",
                refused.obstacle.told()
            ));
        }
        if assessed.unseen {
            self.warnings.push(format!("Warning: {}.", super::error::UNSEEN));
        }
        if assessed.suppresses {
            self.warnings.push(
                "Warning: this command changes which findings of the security audit are shown.".to_owned(),
            );
        }
        if !assessed.sets.is_empty() {
            let names = names(&assessed.sets);
            self.warnings.push(format!("Warning: the call sets {names}; no entry says anything about that."));
        }
        if let (true, Err(why)) = (assessed.satisfied, looked.enforced) {
            self.warnings.push(format!("Warning: it is listed, and cannot be run exactly as listed: {why}."));
        }
        if assessed.parts.iter().any(runs_project) {
            self.warnings.push(PROJECT.to_owned());
        }
        if let (false, Remembered::OneShot(why)) = (self.always, looked.remembered) {
            let why: Vec<&str> = why.iter().map(|why| one_shot(*why)).collect();
            self.warnings.push(format!("Always is not offered: {}.", why.join("; ")));
        }
        if let Review::Skipped(why) = self.review {
            self.warnings.push(why.to_owned());
        }
    }

    /// Why it is asked.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// What can be decided.
    pub fn offered(&self) -> &[Decision] {
        &self.offered
    }

    /// What whoever decides should know first.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether the reviewer is asked first.
    pub fn review(&self) -> &Review {
        &self.review
    }

    /// Whether only a person's answer will do.
    pub fn needs_answer(&self) -> bool {
        self.needs_answer
    }

    /// What the list says: whether it covers the command.
    pub fn listed(&self) -> bool {
        self.listed
    }

    /// Something that it runs can be changed by whoever runs here: nothing is approved for good (11.10).
    pub fn withhold(&mut self, why: &str) {
        let before = self.offered.len();
        self.offered.retain(|decision| *decision != Decision::AllowAlways);
        if self.offered.len() < before {
            self.warnings.push(why.to_owned());
        }
    }

    /// The reviewer left it to a person: silence cannot stand in for that (13.14).
    pub fn deferred(&mut self, why: &str) {
        self.needs_answer = true;
        self.review = Review::Off;
        self.warnings.push(format!("The reviewer left this to a person: {why}"));
    }

    /// The reviewer allowed this one run (13.12); `None` where it had no say.
    pub fn reviewed(&self) -> Option<Cleared> {
        (self.review == Review::Eligible).then(|| Cleared::new(Ground::Reviewed, Launch::Seen))
    }

    /// Whether a grant for this operation can stand in for the answer (9.43).
    pub fn grantable(&self) -> bool {
        !self.always && !self.needs_answer
    }

    /// A grant of an operation covers it.
    pub fn granted(&self, id: &str) -> Option<Cleared> {
        self.grantable().then(|| Cleared::new(Ground::Grant(id.to_owned()), Launch::Seen))
    }

    /// What follows from an answer to the question of this id.
    ///
    /// # Errors
    ///
    /// Why the command does not run.
    pub fn answered(&self, answer: Answer, id: &str, by: Option<&str>) -> Result<Cleared, Denial> {
        let answer = match answer {
            Answer::Decided(decision) if decision != Decision::Deny && !self.offered.contains(&decision) => {
                Answer::Malformed
            }
            other => other,
        };
        state(answer, self.fallback, self.needs_answer).settle(self.listed, self.pinned)?;
        Ok(match answer {
            Answer::Decided(decision) => {
                let ground = Ground::Approved { id: id.to_owned(), decision, by: by.map(str::to_owned) };
                Cleared::new(ground, Launch::Seen)
            }
            _ if self.listed && self.pinned => Cleared::new(Ground::Fallback, Launch::Pinned),
            _ => Cleared::new(Ground::Fallback, Launch::Seen),
        })
    }
}
