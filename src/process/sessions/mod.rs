//! The table of process sessions: begun, followed, stored, found again after a restart (spec `exec.md` §5–§7).

use std::sync::Arc;
use std::time::Duration;

use crate::process::record::{Begin, Place, SessionId, View};
use crate::runner::{Link, Running};
use crate::state::StateDir;
use crate::wire::{CommandId, Stream};

/// Why a session cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// Placeholder of the skeleton.
    #[error("skeleton")]
    Skeleton,
}

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

/// The table. Clones share it.
#[derive(Clone)]
pub struct Sessions {
    inner: Arc<()>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("users", &Arc::strong_count(&self.inner)).finish()
    }
}

#[expect(unused_variables, clippy::unused_async, clippy::todo, reason = "skeleton")]
impl Sessions {
    /// Opens the table below the state directory and takes every session over that another creel left. One process at a
    /// time has it: the keeper's lock is held by the caller.
    pub async fn open(state: &StateDir, reach: Arc<dyn Reach>) -> Result<Self, ProcessError> {
        todo!()
    }
    /// Records a session before its command is started, durably: from here on a restart finds it.
    pub fn begin(&self, begin: Begin) -> Result<(SessionId, CommandId), ProcessError> {
        todo!()
    }
    /// Follows the command that was started under the id that [`Self::begin`] gave.
    pub fn follow(&self, id: &SessionId, running: Running) -> Result<(), ProcessError> {
        todo!()
    }
    /// Forgets a session whose command was never started.
    pub fn abandon(&self, id: &SessionId) -> Result<(), ProcessError> {
        todo!()
    }
    /// Lets a foreground session go on in the background: its lease ends. False where it has ended already.
    pub fn background(&self, id: &SessionId) -> Result<bool, ProcessError> {
        todo!()
    }
    /// Waits for the end, at most `within`; the view then, ended or not.
    pub async fn ended(&self, id: &SessionId, within: Option<Duration>) -> Result<View, ProcessError> {
        todo!()
    }
    /// A session of any scope.
    pub fn view(&self, id: &SessionId) -> Option<View> {
        todo!()
    }
    /// All sessions, newest start first.
    pub fn views(&self) -> Vec<View> {
        todo!()
    }
    /// The session that a call of this id began.
    pub fn by_call(&self, call: &str) -> Option<SessionId> {
        todo!()
    }
    /// The retained aggregate.
    pub fn aggregate(&self, id: &SessionId) -> Result<Aggregated, ProcessError> {
        todo!()
    }
    /// The last characters of the aggregate.
    pub fn tail(&self, id: &SessionId, chars: usize) -> Result<String, ProcessError> {
        todo!()
    }
    /// Takes what is pending.
    pub fn drain(&self, id: &SessionId) -> Result<Drained, ProcessError> {
        todo!()
    }
    /// Whether something waits for a poll.
    pub fn pending(&self, id: &SessionId) -> bool {
        todo!()
    }
    /// Waits until the session prints, ends or changes, at most `within`.
    pub async fn changed(&self, id: &SessionId, within: Duration) {
        todo!()
    }
    /// Raw output from a position on, at most `max` bytes; empty where nothing is there yet. What the spool no longer has
    /// is skipped: the first piece's `seq` tells.
    pub fn raw(&self, id: &SessionId, from: u64, max: usize) -> Result<Vec<Piece>, ProcessError> {
        todo!()
    }
    /// Sends bytes to the input, and ends it.
    pub async fn write(&self, id: &SessionId, data: Vec<u8>, eof: bool) -> Result<(), ProcessError> {
        todo!()
    }
    /// Asks for the end: TERM, KILL after the grace, nothing left. Said again it succeeds again.
    pub async fn kill(&self, id: &SessionId) -> Result<(), ProcessError> {
        todo!()
    }
    /// Gives the terminal a new size.
    pub async fn resize(&self, id: &SessionId, rows: u16, cols: u16) -> Result<(), ProcessError> {
        todo!()
    }
    /// Takes a record away: a finished one for good; a running one is ended and no longer shown.
    pub async fn remove(&self, id: &SessionId) -> Result<(), ProcessError> {
        todo!()
    }
}
