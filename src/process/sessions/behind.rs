//! What another creel left is some way behind at first: its init kept what happened meanwhile. Whoever asks waits for
//! that, a little.

use std::sync::Arc;
use std::time::Duration;

use super::Sessions;
use super::core::Core;
use super::entry::Entry;
use crate::process::record::{Place, SessionId};
use crate::wire;

/// How long that is waited for. An init that is not met by then may take much longer, or never be met.
const WITHIN: Duration = Duration::from_secs(2);

impl Sessions {
    /// Returns when a session, or each of them, has what its init held when this creel came, or two seconds have passed.
    /// After the first time it returns at once.
    pub async fn caught_up(&self, only: Option<&SessionId>) {
        let core = &self.inner.core;
        let mut behind = core.all();
        behind.retain(|entry| only.is_none_or(|id| *id == entry.id) && entry.lock().behind);
        if behind.is_empty() {
            return;
        }
        if tokio::time::timeout(WITHIN, all(core, &behind)).await.is_err() {
            tracing::debug!("not every init was met in time");
        }
        for entry in behind {
            entry.lock().behind = false;
        }
    }
}

async fn all(core: &Core, behind: &[Arc<Entry>]) {
    let mut places: Vec<(&Place, Vec<wire::Entry>)> = Vec::new();
    for entry in behind {
        until(core, entry, |met, _| met).await;
        let place = &entry.begin.place;
        if !places.iter().any(|(known, _)| *known == place) {
            places.push((place, held(core, place).await));
        }
        let commands = places.iter().find(|(known, _)| *known == place).map(|(_, commands)| commands);
        let command = commands.and_then(|all| all.iter().find(|one| one.id == entry.command));
        if let Some(command) = command {
            until(core, entry, |_, stored| command.running && stored >= command.written).await;
        }
    }
}

/// What the init of a place holds.
async fn held(core: &Core, place: &Place) -> Vec<wire::Entry> {
    let Ok(link) = core.reach.reach(place).await else { return Vec::new() };
    link.table().await.unwrap_or_default()
}

/// Waits until a session has ended or is gone, or this is so of whether its init was met and how much is stored.
async fn until(core: &Core, entry: &Entry, so: impl Fn(bool, u64) -> bool) {
    let mut changes = entry.watch();
    loop {
        changes.mark_unchanged();
        let now = {
            let state = entry.lock();
            so(state.met, state.spool.end())
        };
        if now || entry.is_finished() || core.get(&entry.id).is_none() {
            return;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
