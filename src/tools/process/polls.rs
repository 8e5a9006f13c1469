//! What polls remember between calls (spec `exec.md` §7.5): how often in a row nothing was new, and what the last one
//! brought, in case its answer was lost on the way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::process::record::SessionId;
use crate::process::said::IdleThreshold;
use crate::process::sessions::{Fate, Receipt};

/// Sessions that are remembered. Beyond them, those that a table no longer knows are forgotten.
const MANY: usize = 256;

/// When to look again after something new, or after the first poll, in milliseconds.
const SOON: u64 = 5000;

/// When to look again after the first, second … poll in a row that brought nothing.
const LATER: &[u64] = &[10_000, 30_000, 60_000];

/// The memory. Clones share it; a new one is empty, which costs a repeated hint and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Polls {
    threshold: IdleThreshold,
    memory: Arc<Mutex<HashMap<SessionId, Memory>>>,
}

/// Of one session.
#[derive(Debug, Default)]
struct Memory {
    /// Polls in a row that brought nothing; `None` before the first poll.
    empty: Option<usize>,
    /// What the last poll took away, and for which call.
    given: Option<Given>,
}

/// What a call was given.
#[derive(Debug)]
struct Given {
    call: String,
    taken: Taken,
    /// It is given anew where it never arrived.
    fates: Vec<Fate>,
}

/// What a poll took away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The text, as the table gave it.
    pub(super) text: String,
    /// Some was left out before it.
    pub(super) dropped: bool,
    /// What tells that it has arrived.
    pub(super) receipts: Vec<Receipt>,
}

impl Taken {
    /// With what came after it.
    pub(super) fn and(mut self, rest: Self) -> Self {
        self.text += &rest.text;
        self.dropped |= rest.dropped;
        self.receipts.extend(rest.receipts);
        self
    }
}

impl Polls {
    /// With another idea of how long a session that waits for input is silent.
    pub fn with_threshold(threshold: IdleThreshold) -> Self {
        Self { threshold, ..Self::default() }
    }

    /// How long a session must be silent to count as waiting for input.
    pub fn threshold(&self) -> IdleThreshold {
        self.threshold
    }

    /// Notes whether a poll of a running session brought something, and says when to look again, in milliseconds.
    pub(super) fn retry_in(&self, id: &SessionId, brought: bool) -> u64 {
        let mut memory = self.lock();
        let entry = memory.entry(id.clone()).or_default();
        let (count, retry) = match (brought, entry.empty) {
            (true, _) | (false, None) => (0, SOON),
            (false, Some(count)) => {
                let step = count.min(LATER.len().saturating_sub(1));
                (count + 1, LATER.get(step).copied().unwrap_or(SOON))
            }
        };
        entry.empty = Some(count);
        retry
    }

    /// Begins the steps anew: after an exit, `kill`, `clear` and `remove`.
    pub(super) fn reset(&self, id: &SessionId) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.empty = None;
        }
    }

    /// Forgets a session that is gone.
    pub(super) fn forget(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    /// What the last poll took away, where this is the same call said again, and it was not given back.
    pub(super) fn again(&self, id: &SessionId, call: Option<&str>) -> Option<Taken> {
        let memory = self.lock();
        let given = memory.get(id)?.given.as_ref()?;
        let stands = Some(given.call.as_str()) == call && !given.fates.iter().any(Fate::is_back);
        stands.then(|| given.taken.clone())
    }

    /// Keeps what a poll took away until the next call. Without an id of the call it could not be asked for again.
    pub(super) fn keep(&self, id: &SessionId, call: Option<&str>, taken: &Taken) {
        let given = call.map(|call| Given {
            call: call.to_owned(),
            // The receipts end with the answer.
            taken: Taken { text: taken.text.clone(), dropped: taken.dropped, receipts: Vec::new() },
            fates: taken.receipts.iter().map(Receipt::fate).collect(),
        });
        self.lock().entry(id.clone()).or_default().given = given;
    }

    /// Forgets sessions that are gone, once there are many.
    pub(super) fn prune(&self, known: impl Fn(&SessionId) -> bool) {
        let mut memory = self.lock();
        if memory.len() > MANY {
            memory.retain(|id, _| known(id));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
