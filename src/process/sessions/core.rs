//! What the table and the tasks of its sessions share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::entry::Entry;
use super::{ProcessError, Reach};
use crate::process::record::SessionId;
use crate::process::spool::{Budget, Spool};
use crate::process::store::Store;
use crate::process::store::events::Events;
use crate::wire::CommandId;

pub(super) struct Core {
    pub(super) store: Store,
    pub(super) events: Events,
    pub(super) reach: Arc<dyn Reach>,
    /// Directory of the spools.
    pub(super) spools: PathBuf,
    pub(super) budget: Budget,
    entries: Mutex<HashMap<SessionId, Arc<Entry>>>,
}

impl Core {
    pub(super) fn new(store: Store, reach: Arc<dyn Reach>, spools: PathBuf, budget: Budget) -> Self {
        let events = Events::new(store.clone());
        Self { store, events, reach, spools, budget, entries: Mutex::default() }
    }

    pub(super) fn entries(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Entry>>> {
        // Every change is one insertion or removal.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All sessions, as they are now.
    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        self.entries().values().cloned().collect()
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<Arc<Entry>> {
        self.entries().get(id).cloned()
    }

    /// Directory of a command's output.
    pub(super) fn spool_dir(&self, command: CommandId) -> PathBuf {
        self.spools.join(command.to_string())
    }

    pub(super) fn fresh_spool(&self, command: CommandId) -> Spool {
        Spool::fresh(self.spool_dir(command), &self.budget)
    }

    /// The init of a session has said that it knows the command. A request to start one may be lost with the creel that
    /// sent it; from here on an init that does not know the command has lost it.
    pub(super) fn confirm(&self, entry: &Entry) {
        let new = !std::mem::replace(&mut entry.lock().confirmed, true);
        if new {
            self.store.note_confirmed(&entry.id);
        }
    }

    /// Forgets sessions with their output. The rows go first: output without a row is swept at the next start.
    pub(super) fn delete(&self, gone: &[Arc<Entry>]) -> Result<(), ProcessError> {
        if gone.is_empty() {
            return Ok(());
        }
        self.store.forget(gone.iter().map(|entry| entry.id.clone()).collect())?;
        {
            let mut entries = self.entries();
            for entry in gone {
                entries.remove(&entry.id);
            }
        }
        for entry in gone {
            let removed = entry.lock().spool.remove();
            entry.touch();
            removed?;
        }
        Ok(())
    }
}
