//! Reading, and what was read kept in memory while no file changes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::file::put;
use super::local::Local;
use super::look::{Raw, Stamp, kept, look};
use super::{StoreError, lock};
use crate::approvals::document::{Standing, unmarked};
use crate::state::StateDir;

/// The most state directories that are kept in memory.
const MOST: usize = 64;

/// What was read, and when it holds.
struct Cached {
    stamp: Stamp,
    settled: bool,
    raw: Raw,
    local: Local,
}

type Cache = Mutex<HashMap<PathBuf, Cached>>;

fn cache() -> &'static Cache {
    static CACHE: OnceLock<Cache> = OnceLock::new();
    CACHE.get_or_init(Cache::default)
}

/// The document that holds now. A file that cannot be used gives the last good one, and without one nothing runs.
///
/// A change of a file shows at once. Where nothing has changed, six files are looked at and none is read.
pub fn read(state: &StateDir) -> Local {
    let (stamp, settled) = Stamp::of(state);
    let mut cache = cache().lock().unwrap_or_else(PoisonError::into_inner);
    let known = cache.get(state.root());
    if let Some(known) = known.filter(|known| known.settled && known.stamp == stamp) {
        return known.local.clone();
    }
    let mut raw = look(state);
    let local = match known.filter(|known| known.raw == raw) {
        Some(known) => known.local.clone(),
        None => Local::of(&raw, next_revision()),
    };
    if let (Standing::Current, Ok(Some(text))) = (&local.held.standing, &raw.text)
        && raw.last_good.as_ref() != Some(text)
    {
        match keep(state, text) {
            Ok(true) => raw.last_good = Some(text.clone()),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(target: "approvals", %error, "the last good approvals document could not be kept");
            }
        }
    }
    // What the row says later is its owner's to decide.
    if raw.moved() && forget(state).unwrap_or_default() {
        raw.last_good = None;
    }
    if cache.len() >= MOST {
        cache.clear();
    }
    cache.insert(state.root().to_owned(), Cached { stamp, settled, raw, local: local.clone() });
    local
}

/// The document that holds now, and nothing is written: no last good copy is kept of it.
pub fn peek(state: &StateDir) -> Local {
    Local::of(&look(state), next_revision())
}

/// Whether the file names the agent `main` as former versions did (spec `approvals.md` 1.09).
pub fn names_main_default(local: &Local) -> bool {
    let text = super::file::text_of(&local.path).ok().flatten();
    let value = text.and_then(|text| serde_json::from_str::<serde_json::Value>(unmarked(&text)).ok());
    value.and_then(|value| Some(value.get("agents")?.get("default").is_some())).unwrap_or_default()
}

/// Numbers what was read.
pub(super) fn next_revision() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Keeps a text as the last good one, unless a writer is at work, who does it.
fn keep(state: &StateDir, text: &str) -> Result<bool, StoreError> {
    let Some(_lock) = lock::attempt(state)? else { return Ok(false) };
    keep_locked(state, text)?;
    Ok(true)
}

/// Forgets the last good text, unless a writer is at work.
fn forget(state: &StateDir) -> Result<bool, StoreError> {
    let Some(_lock) = lock::attempt(state)? else { return Ok(false) };
    let path = kept(state);
    std::fs::remove_file(&path)
        .map(|()| true)
        .map_err(|error| StoreError::Io { path, reason: error.to_string() })
}

/// The same for whoever holds the lock.
pub(super) fn keep_locked(state: &StateDir, text: &str) -> Result<(), StoreError> {
    let path = kept(state);
    put(&path, text).map_err(|error| StoreError::Io { path, reason: error.to_string() })
}
