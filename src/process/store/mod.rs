//! What must outlive creel: the index of process sessions and the events about them, in `<state>/creel/creel.db`
//! (design §7, §10).
//!
//! | file | concern |
//! |---|---|
//! | `schema` | tables, and the steps from one layout to the next |
//! | `open` | the file: private, checked, moved aside where it is damaged |
//! | `rows` | sessions and their ends as rows |
//! | [`events`] | what happened and who has been told |
//!
//! One thread writes, each piece of work is one transaction. A commit survives the death of every creel process; it
//! does not wait for the disk, so a power failure may undo the last of them: the commands died with it.

mod error;
pub mod events;
mod open;
pub(super) mod rows;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use error::StoreError;
pub(crate) use error::full;

use crate::state::StateDir;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The database. Clones share it; its thread ends with the last, after everything it was given.
#[derive(Debug, Clone)]
pub struct Store {
    writer: Arc<Writer>,
}

#[derive(Debug)]
struct Writer {
    path: PathBuf,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens it, makes it where there is none. A damaged one is moved aside, and where to is told.
    ///
    /// # Errors
    ///
    /// When it cannot be made or read, or a later creel made it.
    pub fn open(state: &StateDir) -> Result<(Self, Option<PathBuf>), StoreError> {
        let path = state.own("")?.join("creel.db");
        let (mut connection, aside) = open::open(&path)?;
        let (jobs, work) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new()
            .name("creel-store".to_owned())
            .spawn(move || {
                while let Ok(job) = work.recv() {
                    job(&mut connection);
                }
            })
            .map_err(|source| StoreError::Io { path: path.clone(), action: "start the writer of", source })?;
        let writer = Writer { path, jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)) };
        Ok((Self { writer: Arc::new(writer) }, aside))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.writer.path
    }

    /// Does `work` as one transaction and waits for it: a fraction of a millisecond.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R> + Send + 'static,
    ) -> Result<R, StoreError> {
        let (sender, answer) = mpsc::sync_channel(1);
        self.give(Box::new(move |connection| {
            let _ = sender.send(transact(connection, work));
        }))?;
        let result = answer.recv().map_err(|_| StoreError::Gone { path: self.writer.path.clone() })?;
        result.map_err(|source| self.failed(action, source))
    }

    /// As [`Self::run`] for those who must not block.
    pub(crate) async fn done<R: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R> + Send + 'static,
    ) -> Result<R, StoreError> {
        let (sender, answer) = tokio::sync::oneshot::channel();
        self.give(Box::new(move |connection| {
            let _ = sender.send(transact(connection, work));
        }))?;
        let result = answer.await.map_err(|_| StoreError::Gone { path: self.writer.path.clone() })?;
        result.map_err(|source| self.failed(action, source))
    }

    /// As [`Self::run`] for what nobody waits for: a failure is logged.
    pub(crate) fn note(
        &self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) {
        let given = self.give(Box::new(move |connection| {
            if let Err(error) = transact(connection, work) {
                tracing::warn!(%error, action, "not stored");
            }
        }));
        if let Err(error) = given {
            tracing::warn!(%error, action, "not stored");
        }
    }

    fn give(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.writer.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = jobs.as_ref().map(|jobs| jobs.send(job));
        sent.and_then(Result::ok).ok_or_else(|| StoreError::Gone { path: self.writer.path.clone() })
    }

    fn failed(&self, action: &'static str, source: rusqlite::Error) -> StoreError {
        StoreError::Sql { path: self.writer.path.clone(), action, source }
    }
}

fn transact<R>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R>,
) -> rusqlite::Result<R> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = work(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
