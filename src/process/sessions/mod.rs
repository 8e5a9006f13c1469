//! The table of process sessions: begun, followed, stored, found again after a restart (spec `exec.md` §5–§7).
//!
//! | file | concern |
//! |---|---|
//! | `core`, `entry` | what is shared; one session |
//! | `open` | takes over what another creel left |
//! | `follow` | one command to its end |
//! | `adopt` | finds a command again |
//! | `behind` | waits until what was found again is as far as its init |
//! | `finish` | stores an end |
//! | `approved` | tells once of an approved command that still runs |
//! | `fold`, `kept` | text out of stored bytes: counted, capped, polled |
//! | [`Receipt`] | what a poll took, until its caller has it |
//! | `sweep` | which finished sessions go |
//! | `input` | input that may have to be sent again; pure |
//! | `name` | names of sessions; pure |
//! | `requests` | input, end, removal |
//! | `query` | programs that ask their terminal; pure |
//! | [`reach`] | finds the inits of containers and of host commands |
//!
//! The order of things, so that any creel process can be killed at any point: row → spawn; output → file →
//! acknowledgement; end and notice → database → init forgets. What is not stored here is still with init.

mod adopt;
mod approved;
mod behind;
mod core;
mod entry;
mod error;
mod finish;
mod fold;
mod follow;
mod input;
mod insist;
mod kept;
mod name;
mod open;
mod query;
pub mod reach;
mod receipt;
mod requests;
mod sweep;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::core::Core;
use self::entry::{Entry, Order};
use crate::process::keys::CursorKeys;
use crate::process::record::{Begin, Phase, Place, SessionId, View};
use crate::process::store::events::Events;
use crate::process::store::now_ms;
use crate::runner::{Link, Running};
use crate::state::StateDir;
use crate::wire::{CommandId, Stream};

pub use error::ProcessError;
pub(crate) use receipt::Fate;
pub use receipt::Receipt;
pub use sweep::{MOST_CHARS, MOST_FINISHED};

/// Finds the init of a place again, after a restart. Connections to one container are shared.
pub trait Reach: Send + Sync + 'static {
    /// The connection, or why the place is gone for good (`Gone`) or not reachable now (`Later`).
    fn reach(&self, place: &Place) -> futures_util::future::BoxFuture<'_, Result<Link, Unreached>>;
}

/// Why an init was not found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreached {
    /// The container or supervisor does not exist any more.
    Gone(String),
    /// It may exist; try again.
    Later(String),
}

/// A piece of output as it came, for terminals that attach and for screens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The stream.
    pub stream: Stream,
    /// Position in the order of both streams.
    pub seq: u64,
    /// The bytes.
    pub data: bytes::Bytes,
}

/// What a poll takes away (spec `exec.md` §7.5), made fit to be shown (§6.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drained {
    /// Pending text of both streams in order of arrival.
    pub text: String,
    /// Pending text was dropped by the pending cap since the last poll.
    pub dropped: bool,
}

/// The retained aggregate (spec `exec.md` §6.2), made fit to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aggregated {
    /// The text: the tail of both streams in order of arrival.
    pub text: String,
    /// Its beginning is gone for good.
    pub truncated: bool,
}

/// The table. Clones share it; with the last one the following stops, and the commands go on.
#[derive(Clone)]
pub struct Sessions {
    inner: Arc<Inner>,
}

struct Inner {
    core: Arc<Core>,
    tasks: Mutex<JoinSet<()>>,
    /// What should be known of the way it was opened.
    warnings: Vec<String>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("sessions", &self.inner.core.entries().len()).finish()
    }
}

impl Sessions {
    /// Opens the table below the state directory and takes every session over that another creel left. One process at a
    /// time has it: the keeper's lock is held by the caller.
    ///
    /// Returns when everything was read; commands are found again meanwhile, and are listed as running until their fate
    /// is known.
    ///
    /// # Errors
    ///
    /// When the state directory or the database in it cannot be used. A damaged database is no error: it is moved aside,
    /// see [`Self::warnings`].
    #[expect(clippy::unused_async, reason = "tasks are started, which needs a runtime")]
    pub async fn open(state: &StateDir, reach: Arc<dyn Reach>) -> Result<Self, ProcessError> {
        let opened = open::open(state, reach)?;
        let tasks = Mutex::new(JoinSet::new());
        let sessions =
            Self { inner: Arc::new(Inner { core: opened.core, tasks, warnings: opened.warnings }) };
        for entry in opened.unfinished {
            sessions.tell_of(&entry, true);
            sessions.spawn(follow::follow(Arc::clone(&sessions.inner.core), entry, None));
        }
        for entry in opened.unsettled {
            sessions.spawn(open::settle(Arc::clone(&sessions.inner.core), entry));
        }
        sessions.spawn(open::housekeeping(Arc::clone(&sessions.inner.core)));
        Ok(sessions)
    }

    /// Stops following, and returns when nothing is under way any more. The commands go on; another creel takes them over.
    pub async fn close(self) {
        let mut tasks = {
            let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        tasks.shutdown().await;
    }

    /// What should be known of the way the table was opened: a database that was moved aside, output of nobody.
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    /// What happened that conversations should hear of.
    pub fn events(&self) -> &Events {
        &self.inner.core.events
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is not kept.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn entry(&self, id: &SessionId) -> Result<Arc<Entry>, ProcessError> {
        self.inner.core.get(id).ok_or_else(|| ProcessError::Unknown { id: id.clone() })
    }

    /// Records a session before its command is started, durably: from here on a restart finds it.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded; nothing may be started then.
    pub fn begin(&self, begin: Begin) -> Result<(SessionId, CommandId), ProcessError> {
        let core = &self.inner.core;
        let command =
            crate::runner::fresh_id().map_err(|error| ProcessError::Random { reason: error.to_string() })?;
        let now = now_ms();
        let entry = {
            let mut entries = core.entries();
            let id = name::draw(now, |name| entries.contains_key(&SessionId(name.to_owned())))?;
            let entry = Arc::new(Entry::new(id, command, begin, now, core.fresh_spool(command)));
            entries.insert(entry.id.clone(), Arc::clone(&entry));
            entry
        };
        if let Err(error) = core.store.begin(&entry.id, command, &entry.begin, now) {
            core.entries().remove(&entry.id);
            return Err(error.into());
        }
        Ok((entry.id.clone(), command))
    }

    /// Follows the command that was started under the id that [`Self::begin`] gave.
    ///
    /// # Errors
    ///
    /// For an unknown session or one that is followed; the command is then ended.
    pub fn follow(&self, id: &SessionId, mut running: Running) -> Result<(), ProcessError> {
        let entry = self.entry(id)?;
        {
            let mut state = entry.lock();
            if state.waiting.is_none() {
                return Err(ProcessError::Followed { id: id.clone() });
            }
            if state.phase == Phase::Starting {
                state.phase = Phase::Foreground;
            }
        }
        running.outlive();
        entry.touch();
        self.tell_of(&entry, false);
        self.spawn(follow::follow(Arc::clone(&self.inner.core), entry, Some(running)));
        Ok(())
    }

    /// An approved command is told of while it runs.
    fn tell_of(&self, entry: &Arc<Entry>, found: bool) {
        if let Some(due) = approved::due(entry, found) {
            self.spawn(approved::tell(Arc::clone(&self.inner.core), Arc::clone(entry), due));
        }
    }

    /// Keeps a value until the command has ended: a sandbox's lease.
    ///
    /// # Errors
    ///
    /// For an unknown session.
    pub fn hold(&self, id: &SessionId, guard: impl std::any::Any + Send) -> Result<(), ProcessError> {
        let entry = self.entry(id)?;
        let mut state = entry.lock();
        if state.phase != Phase::Finished {
            state.held.0.push(Box::new(guard));
        }
        Ok(())
    }

    /// Forgets a session whose command was never started.
    ///
    /// # Errors
    ///
    /// For an unknown session or one that is followed.
    pub fn abandon(&self, id: &SessionId) -> Result<(), ProcessError> {
        let entry = self.entry(id)?;
        if entry.lock().waiting.take().is_none() {
            return Err(ProcessError::Followed { id: id.clone() });
        }
        self.inner.core.delete(&[entry])
    }

    /// Lets a foreground session go on in the background: its lease ends. False where it has ended already.
    ///
    /// # Errors
    ///
    /// For an unknown session, or when that cannot be recorded.
    pub fn background(&self, id: &SessionId) -> Result<bool, ProcessError> {
        let entry = self.entry(id)?;
        let over = |entry: &Entry| {
            let state = entry.lock();
            state.finalizing || state.phase == Phase::Finished
        };
        if over(&entry) {
            return Ok(false);
        }
        self.inner.core.store.set_phase(id, Phase::Background)?;
        {
            let mut state = entry.lock();
            if state.finalizing || state.phase == Phase::Finished {
                return Ok(false);
            }
            state.phase = Phase::Background;
            state.backgrounded = true;
        }
        let _ = entry.orders.send(Order::Release);
        entry.touch();
        Ok(true)
    }

    /// Waits for the end, at most `within`; the view then, ended or not.
    ///
    /// # Errors
    ///
    /// For an unknown session, or one that is removed meanwhile; [`ProcessError::NeverRan`] where its command was never
    /// started.
    pub async fn ended(&self, id: &SessionId, within: Option<Duration>) -> Result<View, ProcessError> {
        let entry = self.entry(id)?;
        let until = within.and_then(|within| Instant::now().checked_add(within));
        let mut changes = entry.watch();
        loop {
            changes.mark_unchanged();
            if entry.is_finished() {
                return Ok(entry.view());
            }
            if self.inner.core.get(id).is_none() {
                return Err(entry.missing());
            }
            let changed = changes.changed();
            match until {
                None => drop(changed.await),
                Some(until) => {
                    if tokio::time::timeout_at(until, changed).await.is_err() {
                        return Ok(entry.view());
                    }
                }
            }
        }
    }

    /// A session of any scope.
    pub fn view(&self, id: &SessionId) -> Option<View> {
        let entry = self.inner.core.get(id)?;
        entry.look();
        let mut state = entry.lock();
        (!state.hidden).then(|| state.view(&entry))
    }

    /// All sessions, newest start first.
    pub fn views(&self) -> Vec<View> {
        let entries = self.inner.core.all();
        let visible = |entry: Arc<Entry>| {
            let mut state = entry.lock();
            (!state.hidden).then(|| state.view(&entry))
        };
        let mut views: Vec<View> = entries.into_iter().filter_map(visible).collect();
        views.sort_by(|a, b| (b.started_at_ms, &b.id).cmp(&(a.started_at_ms, &a.id)));
        views
    }

    /// The session that a call of this id began. Its caller is taken to be there again. One that was never started is no
    /// reason not to start it now.
    pub fn by_call(&self, call: &str) -> Option<SessionId> {
        let entries = self.inner.core.all();
        let began = |entry: &&Arc<Entry>| entry.begin.call.as_deref() == Some(call) && !entry.never_started();
        let began = entries.iter().filter(began);
        let entry = began.max_by_key(|entry| entry.started_ms)?;
        let mut state = entry.lock();
        state.claimed = true;
        (!state.hidden).then(|| entry.id.clone())
    }

    /// The retained aggregate.
    ///
    /// # Errors
    ///
    /// For an unknown session, or when its output cannot be read.
    pub fn aggregate(&self, id: &SessionId) -> Result<Aggregated, ProcessError> {
        let entry = self.entry(id)?;
        self.text(&entry, entry.begin.max_aggregate)
    }

    /// The last characters of the aggregate.
    ///
    /// # Errors
    ///
    /// As for [`Self::aggregate`].
    pub fn tail(&self, id: &SessionId, chars: usize) -> Result<String, ProcessError> {
        let entry = self.entry(id)?;
        Ok(self.text(&entry, chars.min(entry.begin.max_aggregate))?.text)
    }

    #[expect(clippy::unused_self, reason = "part of the table")]
    fn text(&self, entry: &Entry, chars: usize) -> Result<Aggregated, ProcessError> {
        entry.look();
        let mut guard = entry.lock();
        let state = &mut *guard;
        state.fold.catch_up(&state.spool)?;
        let ended = state.phase == Phase::Finished || state.finalizing;
        Ok(state.fold.tail(&state.spool, chars, ended)?)
    }

    /// Takes what is pending; with the return the caller has it.
    ///
    /// # Errors
    ///
    /// For an unknown session, or when its output cannot be read.
    pub fn drain(&self, id: &SessionId) -> Result<Drained, ProcessError> {
        let (drained, receipt) = self.take(id)?;
        receipt.delivered();
        Ok(drained)
    }

    /// Takes what is pending, for a caller who does not have it before the receipt says so.
    ///
    /// # Errors
    ///
    /// As for [`Self::drain`].
    pub fn take(&self, id: &SessionId) -> Result<(Drained, Receipt), ProcessError> {
        let entry = self.entry(id)?;
        entry.look();
        let mut guard = entry.lock();
        let state = &mut *guard;
        state.fold.catch_up(&state.spool)?;
        let before = state.fold.position();
        let drained = state.fold.drain(&state.spool, state.phase == Phase::Finished)?;
        let after = state.fold.position();
        drop(guard);
        Ok((drained, Receipt::new(&self.inner.core, &entry, before, after)))
    }

    /// Whether something waits for a poll.
    pub fn pending(&self, id: &SessionId) -> bool {
        let Some(entry) = self.inner.core.get(id) else { return false };
        entry.look();
        let mut state = entry.lock();
        state.look_at_text();
        state.fold.is_pending()
    }

    /// Waits until the session prints, ends or changes, at most `within`. What happened since somebody last looked at it
    /// (a view, a poll, its output) counts.
    pub async fn changed(&self, id: &SessionId, within: Duration) {
        let Some(entry) = self.inner.core.get(id) else { return };
        let mut changes = entry.watch();
        if !entry.has_news() {
            let _ = tokio::time::timeout(within, changes.changed()).await;
        }
        entry.look();
    }

    /// A number that changes whenever the session prints, ends or changes: for several who wait at a time.
    pub fn watch(&self, id: &SessionId) -> Option<watch::Receiver<u64>> {
        self.inner.core.get(id).map(|entry| entry.watch())
    }

    /// Raw output from a position on, at most `max` bytes; empty where nothing is there yet. What the spool no longer has
    /// is skipped: the first piece's `seq` tells.
    ///
    /// # Errors
    ///
    /// For an unknown session, or when its output cannot be read.
    pub fn raw(&self, id: &SessionId, from: u64, max: usize) -> Result<Vec<Piece>, ProcessError> {
        let entry = self.entry(id)?;
        entry.look();
        let state = entry.lock();
        let (mut pieces, mut room) = (Vec::new(), max);
        state.spool.read(from, |piece| {
            let data = piece.data.get(..room.min(piece.data.len())).unwrap_or_default();
            room -= data.len();
            if !data.is_empty() {
                let data = bytes::Bytes::copy_from_slice(data);
                pieces.push(Piece { stream: piece.stream, seq: piece.seq, data });
            }
            if room == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(pieces)
    }

    /// Which bytes the arrow keys of a terminal send, as its program announced (spec `exec.md` §7.4.4).
    pub fn cursor_keys(&self, id: &SessionId) -> Option<CursorKeys> {
        let entry = self.inner.core.get(id)?;
        let mut state = entry.lock();
        state.look_at_text();
        Some(state.fold.cursor_keys())
    }

    /// What keeps a session's output from being stored or its init from being reached, where something does.
    pub fn trouble(&self, id: &SessionId) -> Option<String> {
        self.inner.core.get(id)?.lock().trouble.clone()
    }
}
