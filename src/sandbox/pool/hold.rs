//! Who keeps the pools of a state directory: one process, by a file lock that ends with it.

use std::fs::{File, TryLockError};
use std::io::{Seek as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use super::super::error::SandboxError;
use super::super::files::Layout;

/// How often the lock is tried before somebody else is believed to have it.
const TRIES: usize = 20;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(3);

/// This process keeps the pools while it has this.
#[derive(Debug)]
pub struct Hold {
    _file: File,
}

impl Hold {
    /// Takes the pools, unless somebody has them.
    pub async fn take(layout: &Layout) -> Result<Option<Self>, SandboxError> {
        let (mut file, path) = open(layout)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // [`holder`] has the lock for a moment; a keeper has it for long.
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(SandboxError::io(path, "lock")(error)),
            }
        }
        // For people and for `creel sandbox list`: who it is. The lock alone counts.
        let mut note = || -> std::io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        note().map_err(SandboxError::io(path, "write"))?;
        Ok(Some(Self { _file: file }))
    }
}

/// The process that keeps the pools; `None` where nobody does. Writes nothing where there is no state yet.
pub fn holder(layout: &Layout) -> Option<u32> {
    let path = layout.state().root().join("creel/pool/holder");
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            Some(std::fs::read_to_string(&path).ok()?.trim().parse().unwrap_or_default())
        }
        _ => None,
    }
}

fn open(layout: &Layout) -> Result<(File, PathBuf), SandboxError> {
    let path = layout.pool()?.join("holder");
    let file = super::super::files::private(&path).map_err(SandboxError::io(&path, "create"))?;
    Ok((file, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    #[tokio::test]
    async fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        assert_eq!(holder(&layout), None);
        let hold = Hold::take(&layout).await.unwrap().unwrap();
        assert!(Hold::take(&layout).await.unwrap().is_none());
        assert_eq!(holder(&layout), Some(std::process::id()));
        drop(hold);
        assert_eq!(holder(&layout), None);
        assert!(Hold::take(&layout).await.unwrap().is_some());
    }
}
