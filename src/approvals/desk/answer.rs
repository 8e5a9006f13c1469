//! A question is decided, and an approval is taken for its run.

use tokio::time::Instant;

use super::error::told;
use super::lookup::{Meant, over};
use super::settle::End;
use super::{Desk, DeskError, KIND, REDEEM, Record, Resolver, Status, Terms, rows, shortened};
use crate::approvals::policy::{Answer, Decision};
use crate::process::store::now_ms;

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// It decided. Else the same had been decided before.
    pub applied: bool,
    /// The question as it stands.
    pub approval: Record,
}

impl Desk {
    /// Decides a question. The first answer counts; the same one again is no error (9.23).
    ///
    /// # Errors
    ///
    /// Unknown, ambiguous, over, decided otherwise, or not offered: the question then stands as it stood. Leave that cannot be
    /// recorded is not given.
    pub fn answer(
        &self,
        asked: &str,
        decision: Decision,
        terms: Option<&Terms>,
        by: &Resolver,
    ) -> Result<Answered, DeskError> {
        let limited = terms.is_some_and(|terms| !terms.is_empty());
        if limited && decision != Decision::AllowAlways {
            return Err(DeskError::Terms(format!("{} has none", decision.word())));
        }
        let mut live = self.live();
        self.end_overdue(&mut live);
        let id = match self.meant(&live, asked)? {
            Meant::Live(id) => id,
            Meant::Past(record) => return again(*record, decision),
        };
        let Some(asked) = live.get_mut(&id) else { return Err(DeskError::Unknown(id)) };
        if !asked.record.is_pending() {
            return again(asked.record.clone(), decision);
        }
        offered(&asked.record, decision)?;
        self.settle(asked, &End::decided(decision, terms, by))?;
        Ok(Answered { applied: true, approval: asked.record.clone() })
    }

    /// Decides a question with a word from outside, by its exact id: what is no decision that was offered, or one for another
    /// kind of question, denies it, so that it does not stay open for a later word (9.25).
    ///
    /// # Errors
    ///
    /// Unknown ids.
    pub fn verdict(&self, id: &str, kind: &str, word: &str, by: &Resolver) -> Result<Answered, DeskError> {
        let mut live = self.live();
        self.end_overdue(&mut live);
        let Some(asked) = live.get_mut(id) else {
            drop(live);
            let record = self.stored(id)?.ok_or_else(|| DeskError::Unknown(shortened(id)))?;
            return Ok(Answered { applied: false, approval: record });
        };
        if !asked.record.is_pending() {
            return Ok(Answered { applied: false, approval: asked.record.clone() });
        }
        let heard = if kind == KIND {
            Answer::heard(word, &asked.record.allowed_decisions)
        } else {
            Answer::Malformed
        };
        let end = match heard {
            Answer::Decided(decision) => End::decided(decision, None, by),
            _ => {
                End { by: by.clone(), ..End::without(Status::Denied, Answer::Malformed, "malformed-verdict") }
            }
        };
        self.settle(asked, &end)?;
        Ok(Answered { applied: true, approval: asked.record.clone() })
    }

    /// Takes an approval for a run, soon after the decision (9.40). One for a single run is taken once; so is leave that a
    /// fallback gave where nobody could be asked (9.41). One for good is there for every call that had joined the question;
    /// where a grant was made of it, each takes one run of the grant too.
    ///
    /// # Errors
    ///
    /// Where it cannot be had, or that it was taken cannot be recorded: nothing may run then.
    pub fn redeem(&self, id: &str, by: &str) -> Result<(), DeskError> {
        let mut live = self.live();
        let Some(asked) = live.get_mut(id) else {
            drop(live);
            let record = self.stored(id)?.ok_or_else(|| DeskError::Unknown(shortened(id)))?;
            return Err(too_late(&record));
        };
        let settled = asked.settled.borrow().clone();
        let Some((settled, ended)) = settled.zip(asked.ended) else {
            return Err(DeskError::NotAllowed(id.to_owned()));
        };
        let for_good = match settled.answer {
            Answer::Decided(Decision::AllowAlways) => true,
            Answer::Decided(Decision::AllowOnce) | Answer::Unreachable => false,
            Answer::Decided(Decision::Deny) | Answer::TimedOut | Answer::Malformed => {
                return Err(DeskError::NotAllowed(id.to_owned()));
            }
        };
        if Instant::now() > ended + REDEEM {
            return Err(DeskError::Late(id.to_owned()));
        }
        if asked.consumed && !for_good {
            return Err(DeskError::Used(id.to_owned()));
        }
        if let Some(grant) = &settled.grant {
            self.use_grant(grant)?;
        }
        // Taken even where that cannot be recorded: it is not offered a second time.
        let first = !std::mem::replace(&mut asked.consumed, true);
        let (named, by, now) = (id.to_owned(), by.to_owned(), now_ms());
        let taken = self.store().run("use an approval of", move |tx| rows::consume(tx, &named, &by, now))?;
        if first && !taken {
            return Err(DeskError::Used(id.to_owned()));
        }
        if first {
            asked.record.consumed_at_ms = Some(now);
        }
        Ok(())
    }
}

impl Desk {
    /// Notes what became of a run that was approved: whoever decided, and whoever begins after a crash, is told. `failure`: why
    /// nothing was started.
    pub fn outcome(&self, id: &str, failure: Option<&str>) {
        let text = failure.map_or_else(|| "started".to_owned(), |why| format!("{}{why}", rows::NOT_STARTED));
        if let Some(asked) = self.live().get_mut(id) {
            asked.record.outcome = Some(text.clone());
        }
        let named = id.to_owned();
        let noted = self.store().run("note a run in", move |tx| rows::outcome(tx, &named, &text));
        if let Err(error) = noted {
            tracing::warn!(target: "approvals", id, %error, "what became of an approval is not recorded");
        }
    }
}

/// An answer to a question that has ended.
fn again(record: Record, decision: Decision) -> Result<Answered, DeskError> {
    match record.decision {
        Some(known) if known == decision => Ok(Answered { applied: false, approval: record }),
        Some(known) => Err(DeskError::Resolved { id: record.id, decided: told(Some(known)) }),
        None => Err(over(&record)),
    }
}

fn offered(record: &Record, decision: Decision) -> Result<(), DeskError> {
    if decision == Decision::Deny || record.allowed_decisions.contains(&decision) {
        return Ok(());
    }
    let words: Vec<&str> = record.allowed_decisions.iter().map(|decision| decision.word()).collect();
    Err(DeskError::NotOffered { id: record.id.clone(), decision: decision.word(), offered: words.join(", ") })
}

/// Why an approval that is not in memory any more lets nothing run.
fn too_late(record: &Record) -> DeskError {
    match (record.status, record.consumed_at_ms) {
        (Status::Allowed, Some(_)) => DeskError::Used(record.id.clone()),
        (Status::Allowed, None) => DeskError::Late(record.id.clone()),
        (Status::Denied, _) if record.decision.is_some() => DeskError::NotAllowed(record.id.clone()),
        _ => over(record),
    }
}
