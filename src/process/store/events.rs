//! What happened that a conversation should hear of (spec `exec.md` §12): kept until told, or until nobody cares.

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{Store, StoreError, now_ms};
use crate::process::record::Delivery;

/// Events of one conversation that wait at most; the oldest goes (spec `exec.md` §12.1).
pub const QUEUE: usize = 20;
/// Denials of one conversation that wait at most, beside [`QUEUE`].
pub const FOLLOW_UPS: usize = 8;
/// How long an event is of interest, in milliseconds: a day.
pub const LIFE_MS: u64 = 24 * 60 * 60 * 1000;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A background command ended (spec `exec.md` §12.1).
    ExecExit,
    /// An approved command still runs (§12.4).
    ExecRunning,
    /// An approved command ended (§12.4).
    ExecFinished,
    /// Internal: a denial that the agent waits for; never wakes (§12.4).
    FollowUp,
    /// A question waits for a person (spec `approvals.md` §9.10). Withdrawn when it ends.
    ApprovalRequested,
    /// A question has ended (§9.10).
    ApprovalResolved,
}

impl EventKind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::ExecExit, "exec-exit"),
        (Self::ExecRunning, "exec-running"),
        (Self::ExecFinished, "exec-finished"),
        (Self::FollowUp, "follow-up"),
        (Self::ApprovalRequested, "approval-requested"),
        (Self::ApprovalResolved, "approval-resolved"),
    ];

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// What surrounds an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventContext {
    /// What it belongs to: `exec:<sessionId>` or the approval's id.
    pub key: String,
    /// Where it goes.
    pub delivery: Delivery,
    /// The conversation is to be woken for it; a subagent's is not.
    pub wake: bool,
}

/// An event that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The conversation.
    pub session_key: String,
    /// What it is.
    pub kind: EventKind,
    /// What is said.
    pub text: String,
    /// What surrounds it.
    pub context: EventContext,
}

/// A stored event. Times in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its place in the order of all events; never used twice.
    pub seq: u64,
    /// The conversation.
    pub session_key: String,
    /// What it is.
    pub kind: EventKind,
    /// What is said.
    pub text: String,
    /// What surrounds it.
    pub context: EventContext,
    /// When it happened.
    pub created_ms: u64,
    /// When nobody is told any more.
    pub expires_ms: u64,
    /// When somebody took it.
    pub delivered_ms: Option<u64>,
}

/// The events of one state directory. Clones share them.
#[derive(Debug, Clone)]
pub struct Events {
    store: Store,
    news: watch::Sender<u64>,
}

impl Events {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, news: watch::Sender::new(0) }
    }

    /// Changes with every event: for those who wait for the next one.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The database they are in.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn announce(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Stores an event; its place in the order.
    pub fn insert(&self, event: NewEvent) -> Result<u64, StoreError> {
        let now = now_ms();
        let seq = self.store.run("store an event in", move |tx| insert(tx, &event, now))?;
        self.announce();
        Ok(seq)
    }

    /// Stores an event, unless one of its kind and context is there already.
    pub fn insert_once(&self, event: NewEvent) -> Result<(), StoreError> {
        let now = now_ms();
        self.store.run("store an event in", move |tx| insert_once(tx, &event, now))?;
        self.announce();
        Ok(())
    }

    /// At most `limit` events after `seq` that were not delivered and have not expired, of one conversation or of all.
    pub fn since(&self, seq: u64, session_key: Option<&str>, limit: usize) -> Result<Vec<Event>, StoreError> {
        let key = session_key.map(str::to_owned);
        let now = now_ms();
        self.store.run("read events of", move |tx| {
            let mut query = tx.prepare_cached(
                "SELECT seq, session_key, kind, text, context_json, created_ms, expires_ms, delivered_ms FROM events \
                 WHERE seq > ?1 AND (?2 IS NULL OR session_key = ?2) AND delivered_ms IS NULL AND expires_ms > ?3 \
                 ORDER BY seq LIMIT ?4",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = query.query_map((signed(seq), key, signed(now), limit), read)?;
            // A kind that only a later creel knows is its own business.
            rows.filter_map(Result::transpose).collect()
        })
    }

    /// Notes that these were delivered: they are not told again.
    pub fn delivered(&self, seqs: &[u64]) -> Result<(), StoreError> {
        let (seqs, now) = (seqs.to_vec(), now_ms());
        self.store.run("mark events in", move |tx| {
            let mut mark = tx.prepare_cached(
                "UPDATE events SET delivered_ms = ?2 WHERE seq = ?1 AND delivered_ms IS NULL",
            )?;
            seqs.iter().try_for_each(|seq| mark.execute((signed(*seq), signed(now))).map(drop))
        })
    }

    /// Takes back what waits under a context key: it was told another way. How many there were.
    pub fn withdraw(&self, context_key: &str) -> Result<usize, StoreError> {
        let key = context_key.to_owned();
        self.store.run("withdraw events from", move |tx| {
            tx.execute("DELETE FROM events WHERE context_key = ?1 AND delivered_ms IS NULL", [key])
        })
    }

    /// Removes what was delivered or has expired.
    pub fn expire(&self) -> Result<usize, StoreError> {
        let now = now_ms();
        self.store.run("expire events in", move |tx| {
            tx.execute("DELETE FROM events WHERE expires_ms <= ?1 OR delivered_ms IS NOT NULL", [signed(now)])
        })
    }
}

/// As [`Events::insert_once`], as part of a transaction.
pub(crate) fn insert_once(
    tx: &rusqlite::Transaction<'_>,
    event: &NewEvent,
    now: u64,
) -> rusqlite::Result<()> {
    let known: i64 = tx.query_row(
        "SELECT count(*) FROM events WHERE context_key = ?1 AND kind = ?2",
        (&event.context.key, event.kind.name()),
        |row| row.get(0),
    )?;
    if known == 0 {
        insert(tx, event, now)?;
    }
    Ok(())
}

/// Stores an event as part of a transaction, and lets the conversation's oldest go where too many wait.
pub(crate) fn insert(tx: &rusqlite::Transaction<'_>, event: &NewEvent, now: u64) -> rusqlite::Result<u64> {
    let context = serde_json::to_string(&event.context).unwrap_or_default();
    tx.execute(
        "INSERT INTO events (session_key, kind, text, context_json, context_key, created_ms, expires_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            &event.session_key,
            event.kind.name(),
            &event.text,
            context,
            &event.context.key,
            signed(now),
            signed(now.saturating_add(LIFE_MS)),
        ),
    )?;
    let seq = tx.last_insert_rowid();
    // Denials do not push out what ended, nor the other way round.
    let follows = event.kind == EventKind::FollowUp;
    let most = if follows { FOLLOW_UPS } else { QUEUE };
    tx.execute(
        "DELETE FROM events WHERE session_key = ?1 AND delivered_ms IS NULL AND (kind = ?3) = ?4 AND seq NOT IN \
         (SELECT seq FROM events WHERE session_key = ?1 AND delivered_ms IS NULL AND (kind = ?3) = ?4 \
         ORDER BY seq DESC LIMIT ?2)",
        (&event.session_key, i64::try_from(most).unwrap_or(i64::MAX), EventKind::FollowUp.name(), follows),
    )?;
    Ok(unsigned(seq))
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Event>> {
    let kind: String = row.get(2)?;
    let Some(kind) = EventKind::of(&kind) else { return Ok(None) };
    let context: String = row.get(4)?;
    Ok(Some(Event {
        seq: unsigned(row.get(0)?),
        session_key: row.get(1)?,
        kind,
        text: row.get(3)?,
        context: serde_json::from_str(&context).unwrap_or_default(),
        created_ms: unsigned(row.get(5)?),
        expires_ms: unsigned(row.get(6)?),
        delivered_ms: row.get::<_, Option<i64>>(7)?.map(unsigned),
    }))
}

/// `SQLite` has signed numbers only; no time and no count here comes near the border.
pub(in crate::process) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(in crate::process) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    fn event(session: &str, key: &str, text: &str) -> NewEvent {
        let context = EventContext { key: key.to_owned(), wake: true, ..EventContext::default() };
        let (session_key, text) = (session.to_owned(), text.to_owned());
        NewEvent { session_key, kind: EventKind::ExecExit, text, context }
    }

    #[test]
    fn denials_push_out_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let events = Events::new(Store::open(&StateDir::at(dir.path())).unwrap().0);
        let finished = NewEvent { kind: EventKind::ExecFinished, ..event("a", "one", "finished") };
        events.insert(finished).unwrap();
        for number in 0..60 {
            let denied =
                NewEvent { kind: EventKind::FollowUp, ..event("a", &format!("q{}", number / 2), "denied") };
            events.insert_once(denied).unwrap();
        }
        let known = events.since(0, Some("a"), 100).unwrap();
        assert_eq!(known.len(), 1 + FOLLOW_UPS);
        assert_eq!(known[0].text, "finished");
        let keys: std::collections::HashSet<_> = known.iter().map(|event| &event.context.key).collect();
        assert_eq!(keys.len(), known.len(), "one for each question");
    }

    #[test]
    fn events_are_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        let events = Events::new(Store::open(&state).unwrap().0);
        let mut news = events.news();
        let first = events.insert(event("a", "exec:one", "1")).unwrap();
        assert!(news.has_changed().unwrap());
        news.mark_unchanged();
        let second = events.insert(event("b", "exec:two", "2")).unwrap();
        let texts = |since: u64, key: Option<&str>| {
            let events = events.since(since, key, 10).unwrap();
            events.into_iter().map(|event| event.text).collect::<Vec<_>>()
        };
        assert_eq!(
            (texts(0, None), texts(first, None), texts(0, Some("a"))),
            (vec!["1".to_owned(), "2".to_owned()], vec!["2".to_owned()], vec!["1".to_owned()])
        );
        events.delivered(&[first]).unwrap();
        assert_eq!(texts(0, None), ["2"]);
        assert_eq!(events.withdraw("exec:two").unwrap(), 1);
        assert_eq!(texts(0, None), [""; 0]);
        assert_eq!(events.expire().unwrap(), 1);
        // A number is never used again, also not by the next process.
        drop(events);
        let events = Events::new(Store::open(&state).unwrap().0);
        assert!(events.insert(event("a", "k", "3")).unwrap() > second);
    }

    #[test]
    fn a_conversation_keeps_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let events = Events::new(Store::open(&StateDir::at(dir.path())).unwrap().0);
        events.insert(event("other", "k", "stays")).unwrap();
        for number in 0..QUEUE + 3 {
            events.insert(event("a", "k", &number.to_string())).unwrap();
        }
        let kept = events.since(0, Some("a"), 100).unwrap();
        assert_eq!((kept.len(), kept[0].text.as_str()), (QUEUE, "3"));
        assert_eq!(events.since(0, Some("other"), 100).unwrap().len(), 1);
    }
}
