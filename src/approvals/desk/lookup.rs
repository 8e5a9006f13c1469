//! Which question an id means (spec `approvals.md` 9.26).

use std::collections::HashMap;

use super::{Desk, DeskError, Live, RESTART, Record, Settled, Status, rows, shortened};
use crate::approvals::policy::Answer;

/// Fewest characters by which a question that has ended is recognised, only to say that it has.
const RECOGNISED: usize = 8;
/// Ended questions that are looked through for that.
const LOOKED: usize = 500;

/// What an id means.
#[derive(Debug)]
pub(super) enum Meant {
    /// A question in memory.
    Live(String),
    /// One that ended a while ago.
    Past(Box<Record>),
}

impl Desk {
    /// The question with this id: exact, then without white space around it, then the only one that waits and begins so.
    pub(super) fn meant(&self, live: &HashMap<String, Live>, asked: &str) -> Result<Meant, DeskError> {
        for exact in [asked, asked.trim()] {
            if live.contains_key(exact) {
                return Ok(Meant::Live(exact.to_owned()));
            }
            if let Some(record) = self.stored(exact)? {
                return Ok(Meant::Past(Box::new(record)));
            }
        }
        let begins = asked.trim().to_ascii_lowercase();
        let unknown = || DeskError::Unknown(shortened(asked));
        if begins.is_empty() {
            return Err(unknown());
        }
        let fits = |id: &str| id.to_ascii_lowercase().starts_with(&begins);
        let mut waiting: Vec<String> = live
            .values()
            .filter(|live| live.record.is_pending())
            .map(|live| live.record.id.clone())
            .collect();
        waiting.retain(|id| fits(id));
        waiting.sort();
        if waiting.len() > 1 {
            return Err(DeskError::Ambiguous(waiting));
        }
        if let Some(id) = waiting.pop() {
            return Ok(Meant::Live(id));
        }
        if begins.chars().count() < RECOGNISED {
            return Err(unknown());
        }
        let mut ended = self.history(LOOKED)?;
        ended.retain(|record| fits(&record.id));
        match (ended.pop(), ended.pop()) {
            (Some(record), None) => Ok(Meant::Past(Box::new(record))),
            _ => Err(unknown()),
        }
    }

    /// A question by its id, as it stands.
    ///
    /// # Errors
    ///
    /// [`DeskError::Unknown`] and [`DeskError::Ambiguous`].
    pub fn find(&self, asked: &str) -> Result<Record, DeskError> {
        let mut live = self.live();
        self.end_overdue(&mut live);
        match self.meant(&live, asked)? {
            Meant::Live(id) => live.get(&id).map(|live| live.record.clone()).ok_or(DeskError::Unknown(id)),
            Meant::Past(record) => Ok(*record),
        }
    }

    /// A question by its exact id, as it is recorded.
    pub(super) fn stored(&self, id: &str) -> Result<Option<Record>, DeskError> {
        let id = id.to_owned();
        Ok(self.store().run("read a question of", move |tx| rows::find(tx, &id))?)
    }

    /// How a question ended that is not in memory any more.
    pub(super) fn past(&self, id: &str) -> Settled {
        let record = self.stored(id).ok().flatten().filter(|record| !record.is_pending());
        let Some(record) = record else { return Settled::none(Answer::TimedOut, "unknown") };
        let answer = match (record.status, record.decision, record.reason.as_deref()) {
            (Status::Allowed | Status::Denied, Some(decision), _) => Answer::Decided(decision),
            (_, _, Some("no-route")) => Answer::Unreachable,
            (_, _, Some("malformed-verdict")) => Answer::Malformed,
            _ => Answer::TimedOut,
        };
        let reason = record.reason.unwrap_or_else(|| "storage-corrupt".to_owned());
        Settled { answer, reason, terms: None, grant: record.grant_id }
    }
}

/// Why an answer to an ended question that nobody decided comes too late.
pub(super) fn over(record: &Record) -> DeskError {
    let why = match (record.status, record.reason.as_deref()) {
        (_, Some(RESTART)) => {
            "creel was started again while it waited, and nothing runs; the command has to be asked for again"
        }
        (_, Some("no-route")) => "nobody could be asked, so it ended at once",
        (_, Some("malformed-verdict")) => "what came was no decision that was offered, so it was denied",
        (Status::Expired, _) => "nobody answered in time",
        (Status::Cancelled, _) => "the run that asked is gone",
        _ => "it is over",
    };
    DeskError::Expired { id: record.id.clone(), why }
}
