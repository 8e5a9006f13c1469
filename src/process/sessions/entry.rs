//! One session in the table: what is fixed, how it stands, and the way to the task that follows its command.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use tokio::sync::{mpsc, oneshot, watch};

use super::ProcessError;
use super::fold::Fold;
use crate::process::record::{Begin, End, Phase, SessionId, View};
use crate::process::spool::{Spool, SpoolError};
use crate::process::store::rows::Row;
use crate::runner::Death;
use crate::wire::{CommandId, Stream};

/// What is asked of the task that follows a command.
#[derive(Debug)]
pub(super) enum Order {
    /// Bytes for the input, and its end.
    Write { data: Vec<u8>, eof: bool, answer: oneshot::Sender<Result<(), ProcessError>> },
    /// End the command. Who asked is in the state.
    Kill,
    /// Another size for the terminal.
    Resize { rows: u16, cols: u16 },
    /// It lives without its owner from here on.
    Release,
}

/// A session. Its lock is never held across an await.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: SessionId,
    pub(super) command: CommandId,
    pub(super) begin: Begin,
    pub(super) started_ms: u64,
    pub(super) orders: mpsc::UnboundedSender<Order>,
    state: Mutex<State>,
    version: watch::Sender<u64>,
    /// The version that somebody has looked at.
    seen: AtomicU64,
}

/// How a session stands.
#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) backgrounded: bool,
    /// Its init has said that it knows the command.
    pub(super) confirmed: bool,
    /// Its command has ended, its end is being stored.
    pub(super) finalizing: bool,
    /// It was forgotten, because its command was never started.
    pub(super) never_ran: bool,
    /// It was removed while it ran.
    pub(super) hidden: bool,
    /// Somebody asked for its end.
    pub(super) requested: bool,
    /// Its caller did not come back after a restart.
    pub(super) deserted: bool,
    /// Its caller came back after a restart.
    pub(super) claimed: bool,
    /// Another creel began it, and what its init held then may not all be here.
    pub(super) behind: bool,
    /// When this creel stored its end; 0 where another did.
    pub(super) stored_ms: u64,
    /// Its result has reached its caller, and is kept in case that asks again.
    pub(super) delivered: bool,
    /// Its init was met by this creel.
    pub(super) met: bool,
    pub(super) pid: Option<i32>,
    pub(super) input_closed: bool,
    pub(super) last_output_ms: u64,
    pub(super) end: Option<End>,
    /// What keeps its output from being stored, or its init from being reached.
    pub(super) trouble: Option<String>,
    pub(super) spool: Spool,
    pub(super) fold: Fold,
    /// Until the command is followed.
    pub(super) waiting: Option<mpsc::UnboundedReceiver<Order>>,
    /// What must live as long as the command.
    pub(super) held: Held,
    /// Flags of an end that was read back: its text need not be read for them.
    pub(super) known: Option<(u64, bool)>,
}

/// Guards of any kind.
#[derive(Default)]
pub(super) struct Held(pub(super) Vec<Box<dyn Any + Send>>);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Held").field(&self.0.len()).finish()
    }
}

impl Entry {
    /// A session that is about to start.
    pub(super) fn new(
        id: SessionId,
        command: CommandId,
        begin: Begin,
        started_ms: u64,
        spool: Spool,
    ) -> Self {
        let (orders, waiting) = mpsc::unbounded_channel();
        let fold = Fold::new(begin.max_pending, begin.tty.is_some(), 0, false);
        let state = State {
            phase: Phase::Starting,
            backgrounded: false,
            confirmed: false,
            finalizing: false,
            never_ran: false,
            hidden: false,
            requested: false,
            deserted: false,
            claimed: true,
            behind: false,
            stored_ms: 0,
            delivered: false,
            met: false,
            pid: None,
            input_closed: false,
            last_output_ms: started_ms,
            end: None,
            trouble: None,
            spool,
            fold,
            waiting: Some(waiting),
            held: Held::default(),
            known: None,
        };
        let version = watch::Sender::new(0);
        let state = Mutex::new(state);
        Self { id, command, begin, started_ms, orders, state, version, seen: AtomicU64::new(0) }
    }

    /// A session that another creel left behind.
    pub(super) fn found(row: Row, spool: Spool) -> Self {
        let entry = Self::new(row.id, row.command, row.begin, row.started_ms, spool);
        {
            let mut state = entry.lock();
            let begin = &entry.begin;
            state.phase = row.phase;
            state.backgrounded = row.backgrounded;
            state.confirmed = row.confirmed;
            state.hidden = row.hidden;
            state.requested = row.requested;
            state.claimed = row.backgrounded;
            state.input_closed = row.input_closed;
            state.behind = row.end.is_none();
            state.fold = Fold::new(begin.max_pending, begin.tty.is_some(), row.drained, row.overflowed);
            let changed = state.spool.changed().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let changed = changed.and_then(|time| u64::try_from(time.as_millis()).ok());
            state.last_output_ms = changed.unwrap_or(row.started_ms);
            if let Some(end) = row.end {
                state.known = Some((end.chars, end.lost_output));
                state.pid = end.pid;
                state.end = Some(end.end);
            }
        }
        entry
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves at worst a count that is too low.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something changed: whoever waits looks again.
    pub(super) fn touch(&self) {
        self.version.send_modify(|version| *version = version.wrapping_add(1));
    }

    /// The number of changes so far, for those who wait for the next.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Somebody looks at it now: only later changes are news.
    pub(super) fn look(&self) {
        self.seen.store(*self.version.borrow(), Ordering::Relaxed);
    }

    /// It changed since somebody looked at it.
    pub(super) fn has_news(&self) -> bool {
        *self.version.borrow() != self.seen.load(Ordering::Relaxed)
    }

    /// It has ended and its result is stored.
    pub(super) fn is_finished(&self) -> bool {
        self.lock().phase == Phase::Finished
    }

    /// It has ended without ever having run.
    pub(super) fn never_started(&self) -> bool {
        self.lock().end.as_ref().is_some_and(|end| end.outcome.death == Death::NotStarted)
    }

    /// Why it is not in the table any more.
    pub(super) fn missing(&self) -> ProcessError {
        let id = self.id.clone();
        if self.lock().never_ran { ProcessError::NeverRan { id } } else { ProcessError::Unknown { id } }
    }

    /// A complete and consistent copy.
    pub(super) fn view(&self) -> View {
        self.lock().view(self)
    }
}

impl State {
    /// Stores a piece of output, and what its text tells before the oldest may go.
    pub(super) fn append(&mut self, stream: Stream, seq: u64, data: &[u8]) -> Result<(), SpoolError> {
        if self.spool.is_about_to_roll() {
            self.fold.catch_up(&self.spool)?;
        }
        self.spool.append(stream, seq, data)
    }

    /// Input still goes somewhere.
    pub(super) fn takes_input(&self, begin: &Begin) -> bool {
        (begin.stdin || begin.tty.is_some())
            && !self.input_closed
            && !self.finalizing
            && self.phase != Phase::Finished
    }

    /// Characters printed, and whether the front of the aggregate is gone.
    pub(super) fn printed(&mut self, begin: &Begin) -> (u64, bool) {
        if let Some(known) = self.known {
            return known;
        }
        self.look_at_text();
        let chars = self.fold.chars();
        let most = u64::try_from(begin.max_aggregate).unwrap_or(u64::MAX);
        (chars, chars > most || self.spool.first() > 0)
    }

    /// Counts what has come; output that cannot be read is told in the log, and by whoever wants the text itself.
    pub(super) fn look_at_text(&mut self) {
        if let Err(error) = self.fold.catch_up(&self.spool) {
            tracing::warn!(%error, "output cannot be read back");
        }
    }

    pub(super) fn view(&mut self, entry: &Entry) -> View {
        let (_, lost_output) = self.printed(&entry.begin);
        View {
            id: entry.id.clone(),
            begin: entry.begin.clone(),
            phase: self.phase,
            backgrounded: self.backgrounded,
            finalizing: self.finalizing,
            started_at_ms: entry.started_ms,
            pid: self.pid,
            stdin_writable: self.takes_input(&entry.begin),
            last_output_ms: self.last_output_ms,
            written: self.spool.end(),
            lost_output,
            lost_pending: self.fold.overflowed(),
            end: self.end.clone(),
        }
    }
}
