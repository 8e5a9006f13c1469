//! For which configurations pools are wanted: a file for each, whose modification time is its last use. What is in them
//! is the front door's affair.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::super::error::SandboxError;
use super::super::files::{Layout, replace};

/// A wish this young is not wished again: each time wakes the keeper.
const FRESH: Duration = Duration::from_secs(1);

/// A wish as it lies in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWish {
    /// What is wished for.
    pub text: String,
    /// When it was last wished.
    pub used: SystemTime,
    path: PathBuf,
}

impl StoredWish {
    /// Removes it, unless it was wished again meanwhile; a moment in between is lost, and costs one slow start.
    pub fn remove(&self) -> Result<(), SandboxError> {
        let used = std::fs::metadata(&self.path).and_then(|meta| meta.modified());
        if used.is_ok_and(|used| used <= self.used) {
            let _ = std::fs::remove_file(&self.path);
        }
        Ok(())
    }
}

/// Wishes, or wishes again.
pub fn leave(layout: &Layout, text: &str) -> Result<(), SandboxError> {
    let name = crate::state::hex(&Sha256::digest(text.as_bytes()));
    let path = layout.wishes()?.join(format!("{}.json", name.get(..16).unwrap_or(&name)));
    let used = std::fs::metadata(&path).and_then(|meta| meta.modified());
    if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age < FRESH)) {
        return Ok(());
    }
    if let Ok(file) = OpenOptions::new().write(true).open(&path) {
        return file.set_modified(SystemTime::now()).map_err(SandboxError::io(path, "touch"));
    }
    replace(&path, text.as_bytes())
}

/// All wishes.
pub fn read(layout: &Layout) -> Result<Vec<StoredWish>, SandboxError> {
    let dir = layout.wishes()?;
    let entries = std::fs::read_dir(&dir).map_err(SandboxError::io(&dir, "list"))?;
    let one = |entry: std::fs::DirEntry| {
        let path = entry.path();
        path.extension().filter(|extension| *extension == "json")?;
        let used = entry.metadata().ok()?.modified().ok()?;
        Some(StoredWish { text: std::fs::read_to_string(&path).ok()?, used, path })
    };
    Ok(entries.flatten().filter_map(one).collect())
}

/// Takes all wishes back.
pub fn forget(layout: &Layout) -> Result<(), SandboxError> {
    for wish in read(layout)? {
        let _ = std::fs::remove_file(&wish.path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    #[test]
    fn a_wish_is_kept_once_with_its_last_use() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        leave(&layout, "one").unwrap();
        let first = read(&layout).unwrap().remove(0);
        assert_eq!(first.text, "one");
        let old = StoredWish { used: SystemTime::UNIX_EPOCH, ..first.clone() };
        old.remove().unwrap();
        leave(&layout, "one").unwrap();
        leave(&layout, "two").unwrap();
        assert_eq!(read(&layout).unwrap().len(), 2);
        forget(&layout).unwrap();
        assert!(read(&layout).unwrap().is_empty());
    }
}
