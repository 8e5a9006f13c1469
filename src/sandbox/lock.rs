//! The lock of one sandbox: one process at a time makes, replaces or removes its container.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

use super::error::SandboxError;
use super::files::Layout;
use super::request::SandboxName;

/// Longest wait for another process. A container is made in well under a second; a set-up command may take minutes.
pub(super) const PATIENCE: Duration = Duration::from_mins(5);
/// Pause between two tries. Trying is a single system call.
const PAUSE: Duration = Duration::from_millis(3);

/// The lock, held until dropped; the kernel drops it with the process.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held for its lock")] File);

/// Waits for the exclusive lock.
///
/// It tries again and again instead of blocking a thread: a caller that gives up (a cancelled tool call, the end of
/// the program) leaves nothing behind that still waits.
pub(super) async fn exclusive(
    layout: &Layout,
    name: &SandboxName,
    patience: Duration,
) -> Result<Lock, SandboxError> {
    let start = Instant::now();
    loop {
        if let Some(lock) = try_exclusive(layout, name)? {
            return Ok(lock);
        }
        let waited = start.elapsed();
        if waited >= patience {
            return Err(SandboxError::Locked { name: name.to_string(), waited });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The exclusive lock, if nobody has it.
pub(super) fn try_exclusive(layout: &Layout, name: &SandboxName) -> Result<Option<Lock>, SandboxError> {
    let (file, path) = layout.lock_file(name)?;
    let result = file.try_lock();
    taken(file, result).map_err(SandboxError::io(path, "lock"))
}

/// A shared lock, if nobody has the exclusive one: enough to take a lease on a container that is ready.
pub(super) fn try_shared(layout: &Layout, name: &SandboxName) -> Result<Option<Lock>, SandboxError> {
    let (file, path) = layout.lock_file(name)?;
    let result = file.try_lock_shared();
    taken(file, result).map_err(SandboxError::io(path, "lock"))
}

fn taken(file: File, result: Result<(), TryLockError>) -> std::io::Result<Option<Lock>> {
    match result {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    #[tokio::test]
    async fn excludes_and_gives_up() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        let name = SandboxName::parse("ab").unwrap();
        let shared = try_shared(&layout, &name).unwrap().unwrap();
        assert!(try_shared(&layout, &name).unwrap().is_some());
        assert!(try_exclusive(&layout, &name).unwrap().is_none());
        let error = exclusive(&layout, &name, Duration::from_millis(20)).await.unwrap_err();
        assert!(matches!(error, SandboxError::Locked { .. }));
        drop(shared);
        let _held = exclusive(&layout, &name, Duration::ZERO).await.unwrap();
        assert!(try_shared(&layout, &name).unwrap().is_none());
    }
}
