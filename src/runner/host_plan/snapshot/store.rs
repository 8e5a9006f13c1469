//! The files of snapshots (spec `exec.md` §4.2), reached from the state directory without following a link. What is not
//! the user's own, or could have been written by another, is never handed to a shell.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// How long a snapshot is taken for what the startup files would give.
pub(super) const FRESH: Duration = Duration::from_mins(5);
/// How long a file stays.
const KEPT: Duration = Duration::from_hours(72);

/// The directory of snapshots, open.
#[derive(Debug)]
pub(super) struct Store {
    dir: OwnedFd,
    path: PathBuf,
}

/// A file that is written and not yet in place; it goes away with this value.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    store: &'a Store,
    name: String,
}

impl Store {
    /// Opens `cache/shell-snapshots` below the state directory, which must be resolved; makes what is missing. `None`
    /// where a part of the way is a link or writable for others.
    pub(super) fn open(state: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let root = rustix::fs::open(state, flags, Mode::empty()).ok()?;
        ours(&rustix::fs::fstat(&root).ok()?, 0o022)?;
        let cache = enter(&root, "cache", 0o022)?;
        let dir = enter(&cache, "shell-snapshots", 0o077)?;
        Some(Self { dir, path: state.join("cache/shell-snapshots") })
    }

    /// The snapshot of a key where it is fresh.
    pub(super) fn fresh(&self, key: &str, now: SystemTime) -> Option<PathBuf> {
        let name = format!("{key}.sh");
        let stat = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        ours(&stat, 0o077)?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1;
        let fresh = now.duration_since(modified(&stat)?).ok()? < FRESH;
        (regular && fresh).then(|| self.path.join(name))
    }

    /// Writes a file beside the snapshots.
    pub(super) fn draft(&self, content: &str) -> Option<Draft<'_>> {
        let name = format!(".{}.tmp", crate::state::random_hex::<16>().ok()?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, &name, flags, Mode::RUSR | Mode::WUSR).ok()?;
        let draft = Draft { store: self, name };
        File::from(file).write_all(content.as_bytes()).ok()?;
        Some(draft)
    }

    /// Removes files that are older than 72 hours.
    pub(super) fn prune(&self, now: SystemTime) {
        let Ok(entries) = rustix::fs::Dir::read_from(&self.dir) else { return };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            let old = |stat: Stat| {
                let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                let age = modified(&stat).and_then(|at| now.duration_since(at).ok());
                regular && age.is_some_and(|age| age > KEPT)
            };
            let own = Path::new(name).extension().is_some_and(|end| end == "sh" || end == "tmp");
            if own && rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(old) {
                let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
            }
        }
    }
}

impl Draft<'_> {
    pub(super) fn path(&self) -> PathBuf {
        self.store.path.join(&self.name)
    }

    /// Puts the file in place of the key's.
    pub(super) fn publish(self, key: &str) -> Option<PathBuf> {
        let name = format!("{key}.sh");
        rustix::fs::renameat(&self.store.dir, &self.name, &self.store.dir, &name).ok()?;
        Some(self.store.path.join(name))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // After a publication there is no such name.
        let _ = rustix::fs::unlinkat(&self.store.dir, &self.name, AtFlags::empty());
    }
}

/// Opens a directory, made private where it is missing, that belongs to this user and has none of the bits of `not`.
fn enter(at: &OwnedFd, name: &str, not: u32) -> Option<OwnedFd> {
    match rustix::fs::mkdirat(at, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(_) => return None,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let dir = rustix::fs::openat2(at, name, flags, Mode::empty(), resolve).ok()?;
    ours(&rustix::fs::fstat(&dir).ok()?, not)?;
    Some(dir)
}

fn ours(stat: &Stat, not: u32) -> Option<()> {
    (stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & not == 0).then_some(())
}

fn modified(stat: &Stat) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(stat.st_mtime).ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn state() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = crate::paths::resolve::resolve(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn private_atomic_and_of_limited_age() {
        let (_dir, root) = state();
        let store = Store::open(&root).unwrap();
        assert_eq!(store.fresh("k", SystemTime::now()), None);
        let draft = store.draft("one").unwrap();
        let at = draft.path();
        assert_eq!(std::fs::metadata(&at).unwrap().permissions().mode() & 0o777, 0o600);
        let path = draft.publish("k").unwrap();
        assert!(!at.exists());
        drop(store.draft("two").unwrap());
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let dir_mode = std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode();
        assert_eq!(dir_mode & 0o777, 0o700);
        let now = SystemTime::now();
        assert_eq!(store.fresh("k", now), Some(path.clone()));
        assert_eq!(store.fresh("k", now + FRESH), None);
        assert_eq!(store.fresh("k", now - FRESH), None, "from the future");
        store.prune(now + KEPT - Duration::from_mins(1));
        assert!(path.exists());
        std::fs::write(path.with_file_name("other.txt"), "").unwrap();
        store.prune(now + KEPT + Duration::from_mins(1));
        assert!(!path.exists() && path.with_file_name("other.txt").exists());
    }

    #[test]
    fn nothing_that_another_could_have_written() {
        let (_dir, root) = state();
        let store = Store::open(&root).unwrap();
        let path = store.draft("x").unwrap().publish("k").unwrap();
        let fresh = || store.fresh("k", SystemTime::now()).is_some();
        mode(&path, 0o640);
        assert!(!fresh(), "readable for others");
        mode(&path, 0o600);
        assert!(fresh());
        std::fs::hard_link(&path, root.join("second")).unwrap();
        assert!(!fresh(), "another name");
        std::fs::remove_file(&path).unwrap();
        symlink(root.join("second"), &path).unwrap();
        assert!(!fresh(), "a link");
        for (dir, bad) in [("cache/shell-snapshots", 0o750), ("cache", 0o770), ("", 0o777)] {
            let good = std::fs::metadata(root.join(dir)).unwrap().permissions().mode();
            mode(&root.join(dir), bad);
            assert!(Store::open(&root).is_none(), "{dir:?}");
            mode(&root.join(dir), good);
        }
        assert!(Store::open(&root).is_some());
    }

    #[test]
    fn no_link_is_followed_out_of_the_state_directory() {
        for (link, parent) in [("cache", ""), ("cache/shell-snapshots", "cache")] {
            let (_dir, root) = state();
            let (_elsewhere, away) = state();
            std::fs::create_dir_all(root.join(parent)).unwrap();
            symlink(&away, root.join(link)).unwrap();
            assert!(Store::open(&root).is_none(), "{link}");
            assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
        }
    }
}
