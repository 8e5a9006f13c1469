//! Questions that wait for a person (spec `approvals.md` §9): registered before they are told, answered once, joined where the
//! same question waits already; grants with a budget.
//!
//! | file | concern |
//! |---|---|
//! | `question` | what is asked and answered, what surfaces are shown; values |
//! | [`id`] | ids, their short form, their terminal-safe form; pure |
//! | `show` | texts of a question; pure |
//! | `ask` | a question begins, waits, ends by itself |
//! | `answer` | it is decided; an approval is taken for its run |
//! | `lookup` | which question an id means |
//! | `settle` | the one way in which a question ends |
//! | `presence` | who could answer |
//! | `place` | the approval socket: where it is, whether somebody listens there |
//! | `grant`, `grants` | grants with a budget, and those of scheduled runs |
//! | `standing` | grants read without a desk |
//! | `rows` | questions in creel's database |
//!
//! What waits lives in memory, because what it binds does: whoever starts finds what another process left waiting, and ends it.
//! The row in the database is what says how a question stands, and it is written before anybody is told.

mod answer;
mod ask;
mod error;
mod grant;
mod grants;
pub mod id;
mod lookup;
mod place;
mod presence;
mod question;
mod rows;
mod settle;
mod show;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

pub use answer::Answered;
pub use error::DeskError;
pub use grant::{Covers, DAY_MS, Grant, MAX_DAYS, Operation};
pub use grants::{LISTED, Revoked};
pub use place::{Place, SOCKET};
pub use presence::Watching;
pub use question::{KIND, Question, Record, Resolver, Settled, Status, Terms, Ticket};
pub use standing::standing;

use crate::process::store::events::Events;
use crate::process::store::{Store, now_ms};
use crate::state::StateDir;

/// How long a question waits where nothing else is said (9.19).
pub const LIFE: Duration = Duration::from_mins(30);
/// How long an approval of one run can be used after it was given, and an answer is known to late waiters (9.28, 9.40).
pub const REDEEM: Duration = Duration::from_secs(15);
/// Questions that wait at once, and those of one conversation.
const MOST: (usize, usize) = (256, 64);

/// Why a question ended when another creel began (9.20).
const RESTART: &str = "gateway-restart";

/// Where questions are put. Clones are the same desk.
#[derive(Debug, Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: StateDir,
    events: Events,
    live: Mutex<HashMap<String, Live>>,
    news: watch::Sender<u64>,
    watchers: AtomicUsize,
    /// The approval socket is this process's own: nobody else listens there.
    serving: AtomicBool,
}

/// A question in memory: as long as it waits, and for those who come a little late.
#[derive(Debug)]
struct Live {
    question: Question,
    record: Record,
    deadline: Instant,
    /// Calls that wait for it.
    askers: u32,
    settled: watch::Sender<Option<Settled>>,
    ended: Option<Instant>,
    consumed: bool,
}

impl Desk {
    /// Opens the desk of a state directory; questions of one that is gone are cancelled (9.20).
    ///
    /// # Errors
    ///
    /// When the database cannot be used.
    pub fn open(state: &StateDir) -> Result<Self, DeskError> {
        Self::over(state, &Events::new(Store::open(state)?.0))
    }

    /// The same over a database that is open, whose listeners then hear of questions.
    ///
    /// # Errors
    ///
    /// When the database cannot be used.
    pub fn over(state: &StateDir, events: &Events) -> Result<Self, DeskError> {
        let old = events.store().run("end old questions in", |tx| rows::cancel_old(tx, now_ms()))?;
        if old > 0 {
            tracing::info!(target: "approvals", old, "questions that waited when creel ended are cancelled");
        }
        let inner = Inner {
            state: state.clone(),
            events: events.clone(),
            live: Mutex::default(),
            news: watch::Sender::new(0),
            watchers: AtomicUsize::new(0),
            serving: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What waits, the newest first.
    pub fn pending(&self) -> Vec<Record> {
        self.records(|live| live.record.clone())
    }

    /// The same for the operator's own terminal: nothing is redacted.
    pub fn pending_here(&self) -> Vec<Record> {
        self.records(|live| live.record.plain(&live.question))
    }

    fn records(&self, record: fn(&Live) -> Record) -> Vec<Record> {
        let mut live = self.live();
        self.end_overdue(&mut live);
        let mut pending: Vec<Record> =
            live.values().filter(|live| live.record.is_pending()).map(record).collect();
        pending.sort_by(|one, other| (other.created_at_ms, &other.id).cmp(&(one.created_at_ms, &one.id)));
        pending
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.live().values().filter(|live| live.record.is_pending()).count()
    }

    /// What has ended within 30 days, the newest first (9.21).
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn history(&self, limit: usize) -> Result<Vec<Record>, DeskError> {
        Ok(self.store().run("read ended questions of", move |tx| rows::history(tx, limit))?)
    }

    /// Changes whenever a question begins or ends.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.inner.news.subscribe()
    }

    fn live(&self) -> MutexGuard<'_, HashMap<String, Live>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> &Store {
        self.inner.events.store()
    }

    fn announce(&self) {
        self.inner.news.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// An id of others, short enough for a message.
fn shortened(id: &str) -> String {
    id.chars().take(128).collect()
}
