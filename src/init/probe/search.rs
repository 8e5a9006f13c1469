//! Looks below mounts for files of the host by device and inode: a name says nothing where a mount or a hard link gives
//! another.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Teller, Wanted};
use crate::wire::probe::{Attempt, Outcome};

/// Files that are looked at in all mounts together.
const MOST_FILES: usize = 500_000;
/// Time for all of them.
const PATIENCE: Duration = Duration::from_secs(20);
/// Characters of a path that are told.
const MOST_TOLD: usize = 1024;

/// Why a search did not come to its end.
#[derive(Debug, PartialEq, Eq)]
struct Unfinished;

/// What is left for all searches.
struct Budget {
    files: usize,
    until: Instant,
}

pub(super) fn run(wanted: &Wanted, teller: &mut Teller) {
    let denied: HashSet<(u64, u64)> = wanted.denied.iter().copied().collect();
    let mut budget = Budget { files: MOST_FILES, until: Instant::now() + PATIENCE };
    for root in &wanted.search {
        match search(Path::new(root), &denied, &mut budget) {
            Ok(None) => teller.tell(Attempt::DeniedBelow, root, Outcome::Absent, ""),
            Ok(Some((path, (dev, ino)))) => {
                teller.saw(Attempt::DeniedBelow, root, &format!("{dev}:{ino} {}", told(&path)));
            }
            // Told as seen, with nothing seen: that is no answer.
            Err(Unfinished) => teller.saw(Attempt::DeniedBelow, root, ""),
        }
    }
}

/// A path whose characters cannot be taken for anything else.
fn told(path: &Path) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    path.to_string_lossy().chars().map(plain).take(MOST_TOLD).collect()
}

type Found = (PathBuf, (u64, u64));

/// The first of these files at `root` or below it. What may not be read is passed over: commands see no more.
fn search(
    root: &Path,
    denied: &HashSet<(u64, u64)>,
    budget: &mut Budget,
) -> Result<Option<Found>, Unfinished> {
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        budget.files = budget.files.checked_sub(1).ok_or(Unfinished)?;
        let Some(meta) = seen(std::fs::symlink_metadata(&path))? else { continue };
        let identity = (meta.dev(), meta.ino());
        if denied.contains(&identity) {
            return Ok(Some((path, identity)));
        }
        if !meta.is_dir() {
            continue;
        }
        if Instant::now() > budget.until {
            return Err(Unfinished);
        }
        let Some(entries) = seen(std::fs::read_dir(&path))? else { continue };
        for entry in entries {
            let Some(entry) = seen(entry)? else { continue };
            if waiting.len() > MOST_FILES {
                return Err(Unfinished);
            }
            waiting.push(entry.path());
        }
    }
    Ok(None)
}

/// `None` for what is gone or may not be looked at.
fn seen<T>(result: io::Result<T>) -> Result<Option<T>, Unfinished> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(None)
        }
        Err(_) => Err(Unfinished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(files: usize) -> Budget {
        Budget { files, until: Instant::now() + PATIENCE }
    }

    #[test]
    fn found_under_any_name_and_never_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("w/a/b")).unwrap();
        std::fs::write(dir.path().join("secret"), "").unwrap();
        let meta = std::fs::metadata(dir.path().join("secret")).unwrap();
        let denied = HashSet::from([(meta.dev(), meta.ino())]);
        let look = |files| search(&dir.path().join("w"), &denied, &mut budget(files));
        std::os::unix::fs::symlink(dir.path().join("secret"), dir.path().join("w/link")).unwrap();
        assert_eq!(look(100), Ok(None));
        let name = dir.path().join("w/a/b/harmless");
        std::fs::hard_link(dir.path().join("secret"), &name).unwrap();
        assert_eq!(look(100), Ok(Some((name, (meta.dev(), meta.ino())))));
        assert_eq!(look(2), Err(Unfinished), "a search that is cut short has found nothing out");
        assert_eq!(told(Path::new("/a\nb")), "/a?b");
    }
}
