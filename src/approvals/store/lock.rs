//! One writer at a time, over all processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::error::StoreError;
use crate::state::StateDir;

/// How long other writers are waited for.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is tried.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock, while it is kept.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// Waits for the lock.
pub(super) fn take(state: &StateDir) -> Result<Lock, StoreError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt(state)? {
            Some(lock) => return Ok(lock),
            None if Instant::now() < end => std::thread::sleep(PAUSE),
            None => return Err(StoreError::Busy),
        }
    }
}

/// The lock, if nobody has it. The file is never removed, so that all processes lock the same one.
pub(super) fn attempt(state: &StateDir) -> Result<Option<Lock>, StoreError> {
    let path = state.own("approvals")?.join("lock");
    let io = |path: PathBuf, error: std::io::Error| StoreError::Io { path, reason: error.to_string() };
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
    let file = options.open(&path).map_err(|error| io(path.clone(), error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(io(path, error)),
    }
}
