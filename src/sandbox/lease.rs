//! Leases: who uses a sandbox. A lease is a locked file; when its process dies, the kernel drops the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::error::SandboxError;
use super::files::Layout;
use super::request::SandboxName;

/// A use of a sandbox: as long as it lives, the container is neither pruned nor replaced.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    _file: File,
}

impl Lease {
    /// Takes a lease. Call it under the sandbox's lock, shared or exclusive: whoever removes a container holds the
    /// exclusive lock while looking for leases.
    pub(super) fn take(layout: &Layout, name: &SandboxName) -> Result<Self, SandboxError> {
        let dir = layout.leases(name)?;
        let nonce =
            crate::state::random_hex::<4>().map_err(SandboxError::io(&dir, "read random bytes for"))?;
        let id = format!("{}-{nonce}", std::process::id());
        let draft = dir.join(format!(".{id}"));
        let path = dir.join(&id);
        // Locked before it gets its name, so that nobody ever sees it free and takes it for stale.
        let make = || -> std::io::Result<File> {
            let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
            file.try_lock()?;
            std::fs::rename(&draft, &path)?;
            Ok(file)
        };
        let file = make().map_err(SandboxError::io(&path, "create lease"))?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A lease file that stays is found unlocked and swept by the next look.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Counts the live leases and sweeps those whose process is gone.
pub(super) fn count(layout: &Layout, name: &SandboxName) -> Result<usize, SandboxError> {
    let dir = layout.leases(name)?;
    let entries = std::fs::read_dir(&dir).map_err(SandboxError::io(&dir, "list"))?;
    let paths = entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    Ok(paths.filter(|entry| live(&entry.path())).count())
}

/// Anything but a clear "nobody holds it" counts as live: a doubt must not end a running command.
fn live(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return path.exists() };
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = std::fs::remove_file(path);
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    #[test]
    fn a_lease_lives_as_long_as_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        let name = SandboxName::parse("ab").unwrap();
        assert_eq!(count(&layout, &name).unwrap(), 0);
        let one = Lease::take(&layout, &name).unwrap();
        let two = Lease::take(&layout, &name).unwrap();
        assert_eq!(count(&layout, &name).unwrap(), 2);
        drop(one);
        assert_eq!(count(&layout, &name).unwrap(), 1);
        // What a killed process leaves: the file without its lock.
        std::fs::write(layout.leases(&name).unwrap().join("999999-dead"), "").unwrap();
        assert_eq!(count(&layout, &name).unwrap(), 1);
        assert!(!layout.leases(&name).unwrap().join("999999-dead").exists());
        drop(two);
        assert_eq!(count(&layout, &name).unwrap(), 0);
    }
}
