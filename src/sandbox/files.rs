//! Where a sandbox keeps its files below `<state>/creel/`.
//!
//! | path | what |
//! |---|---|
//! | `run/<run id>/` | rendezvous directory, mounted read-only; parent 0700, itself 0755 |
//! | `bin/<digest>/creel-init` | the copy of init that is mounted |
//! | `bin/known/<stat values>` | digest of a binary that was read before |
//! | `proof/<name>.json` | record of the proof; no container can reach it |
//! | `used/<name>` | its modification time is the last use |
//! | `mark/<what>` | its modification time is when something that happens seldom was last done |
//! | `lock/<name>` | lock of the sandbox; never removed, so that all processes lock the same file |
//! | `pool/<name>.json` | a container that waits, see `pool` |
//! | `pool/want/<digest>.json` | a configuration that a pool is wanted for |
//! | `pool/holder` | lock of whoever keeps the pools |
//! | `lease/<name>/` | one locked file for each user of the sandbox |

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::error::SandboxError;
use super::init_binary::stat_key;
use super::request::SandboxName;
use crate::state::StateDir;

/// Name of a rendezvous directory: 16 random hex digits, new for each container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunId(String);

impl RunId {
    /// A fresh one.
    pub fn new() -> Result<Self, SandboxError> {
        let id = crate::state::random_hex::<8>().map_err(SandboxError::io("/dev/urandom", "read"))?;
        Ok(Self(id))
    }

    /// Reads back a label; anything but 16 hex digits is refused because it becomes a path.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The paths of one state directory.
#[derive(Debug, Clone)]
pub struct Layout {
    state: StateDir,
}

impl Layout {
    /// The layout below `state`.
    pub fn new(state: &StateDir) -> Self {
        Self { state: state.clone() }
    }

    /// The state directory.
    pub fn state(&self) -> &StateDir {
        &self.state
    }

    /// Path of a rendezvous directory.
    pub fn run(&self, id: &RunId) -> Result<PathBuf, SandboxError> {
        Ok(self.state.own("run")?.join(id.as_str()))
    }

    /// Makes a rendezvous directory that the sandbox user may read, behind a parent that other users may not enter.
    pub fn make_run(&self, id: &RunId) -> Result<PathBuf, SandboxError> {
        let path = self.run(id)?;
        std::fs::create_dir(&path).map_err(SandboxError::io(&path, "create"))?;
        open_to_all(&path)?;
        Ok(path)
    }

    /// Removes a rendezvous directory with the sockets in it; one that is gone already is fine.
    pub fn remove_run(&self, id: &RunId) -> Result<(), SandboxError> {
        let path = self.run(id)?;
        gone(std::fs::remove_dir_all(&path)).map_err(SandboxError::io(path, "remove"))
    }

    /// Names of all rendezvous directories, with the time each was made.
    pub fn runs(&self) -> Result<Vec<(RunId, SystemTime)>, SandboxError> {
        let dir = self.state.own("run")?;
        let entries = std::fs::read_dir(&dir).map_err(SandboxError::io(&dir, "list"))?;
        let one = |entry: std::fs::DirEntry| {
            let id = RunId::parse(entry.file_name().to_str()?)?;
            // Nothing of creel's, and not in the way of what is.
            entry.file_type().ok().filter(std::fs::FileType::is_dir)?;
            Some((id, entry.metadata().ok()?.modified().ok()?))
        };
        Ok(entries.flatten().filter_map(one).collect())
    }

    /// Directory of an init binary.
    pub(super) fn bin(&self, digest: &str) -> Result<PathBuf, SandboxError> {
        let path = self.state.own(&format!("bin/{digest}"))?;
        open_to_all(&path)?;
        Ok(path)
    }

    /// Digest of a binary that was installed before and did not change since.
    pub(super) fn known_digest(&self, source: &Path) -> Option<String> {
        let digest =
            std::fs::read_to_string(self.state.own("bin/known").ok()?.join(stat_key(source)?)).ok()?;
        let hex = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        (hex && self.bin(&digest).ok()?.join("creel-init").is_file()).then_some(digest)
    }

    /// Remembers the digest of a binary.
    pub(super) fn remember_digest(&self, source: &Path, digest: &str) -> Result<(), SandboxError> {
        let Some(key) = stat_key(source) else { return Ok(()) };
        replace(&self.state.own("bin/known")?.join(key), digest.as_bytes())
    }

    /// Path of the proof record.
    pub(super) fn proof(&self, name: &SandboxName) -> Result<PathBuf, SandboxError> {
        Ok(self.state.own("proof")?.join(format!("{name}.json")))
    }

    /// Directory of the leases.
    pub(super) fn leases(&self, name: &SandboxName) -> Result<PathBuf, SandboxError> {
        Ok(self.state.own(&format!("lease/{name}"))?)
    }

    /// Marks the sandbox as used now.
    pub(super) fn touch(&self, name: &SandboxName) -> Result<(), SandboxError> {
        let path = self.state.own("used")?.join(name.as_str());
        let file = private(&path).map_err(SandboxError::io(&path, "create"))?;
        file.set_modified(SystemTime::now()).map_err(SandboxError::io(path, "touch"))
    }

    /// Whether something that happens seldom was last done longer ago than this; then it counts as done now. Of two
    /// processes both may do it. Where that cannot be noted it is not due: it would happen every time.
    pub(super) fn due_again(&self, what: &str, pause: Duration) -> bool {
        let Ok(path) = self.state.own("mark").map(|dir| dir.join(what)) else { return false };
        let last = std::fs::metadata(&path).and_then(|meta| meta.modified());
        let now = SystemTime::now();
        // A time in the future is no reason to wait for it.
        let recent =
            last.is_ok_and(|last| last <= now && now.duration_since(last).is_ok_and(|ago| ago < pause));
        !recent && private(&path).and_then(|file| file.set_modified(now)).is_ok()
    }

    /// When the sandbox was last used; `None` when that is not known.
    pub(super) fn last_used(&self, name: &SandboxName) -> Option<SystemTime> {
        std::fs::metadata(self.state.own("used").ok()?.join(name.as_str())).ok()?.modified().ok()
    }

    /// Removes what is kept about a container that is gone. The lock stays.
    pub(super) fn forget(&self, name: &SandboxName, run: Option<&RunId>) -> Result<(), SandboxError> {
        for path in [self.proof(name)?, self.state.own("used")?.join(name.as_str())] {
            gone(std::fs::remove_file(&path)).map_err(SandboxError::io(path, "remove"))?;
        }
        run.map_or(Ok(()), |run| self.remove_run(run))
    }

    /// Directory of the pools.
    pub(super) fn pool(&self) -> Result<PathBuf, SandboxError> {
        Ok(self.state.own("pool")?)
    }

    /// Directory of the wishes for pools.
    pub(super) fn wishes(&self) -> Result<PathBuf, SandboxError> {
        Ok(self.state.own("pool/want")?)
    }

    /// The lock file of a sandbox, not yet locked.
    pub(super) fn lock_file(&self, name: &SandboxName) -> Result<(File, PathBuf), SandboxError> {
        let path = self.state.own("lock")?.join(name.as_str());
        let file = private(&path).map_err(SandboxError::io(&path, "create"))?;
        Ok((file, path))
    }
}

/// Removes everything that is kept under a name, its lock included. Only for a name that nobody will use again: whoever
/// waits for the lock would hold a file that the next one does not see.
///
/// # Errors
///
/// When a file cannot be removed; what is gone already is fine.
pub fn erase(state: &StateDir, name: &SandboxName) -> Result<(), SandboxError> {
    let layout = Layout::new(state);
    layout.forget(name, None)?;
    let leases = layout.leases(name)?;
    gone(std::fs::remove_dir_all(&leases)).map_err(SandboxError::io(leases, "remove"))?;
    let lock = state.own("lock")?.join(name.as_str());
    gone(std::fs::remove_file(&lock)).map_err(SandboxError::io(lock, "remove"))
}

/// Opens or makes a file that only this user may read.
pub(super) fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

/// Replaces a file at once, private to this user.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), SandboxError> {
    let write = || -> std::io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(SandboxError::io(path, "write"))
}

/// Mode 0755 whatever the umask is.
fn open_to_all(path: &Path) -> Result<(), SandboxError> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .map_err(SandboxError::io(path, "change the mode of"))
}

/// A file that somebody else removed is removed.
fn gone(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_rendezvous_is_open_behind_a_closed_parent() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        let id = RunId::new().unwrap();
        let path = layout.make_run(&id).unwrap();
        assert_eq!(mode(&path), 0o755);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(layout.runs().unwrap()[0].0, id);
        layout.remove_run(&id).unwrap();
        layout.remove_run(&id).unwrap();
        assert!(layout.runs().unwrap().is_empty());
    }

    #[test]
    fn a_label_never_becomes_another_path() {
        for bad in ["", "../../etc/passwd0", "0123456789abcde/", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert_eq!(RunId::parse(bad), None);
        }
        assert!(RunId::parse("0123456789abcdef").is_some());
    }

    #[test]
    fn seldom_things_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        assert!(layout.due_again("x", Duration::from_mins(5)));
        assert!(!layout.due_again("x", Duration::from_mins(5)));
        assert!(layout.due_again("y", Duration::from_mins(5)));
        assert!(layout.due_again("x", Duration::ZERO));
        let later = SystemTime::now() + Duration::from_hours(1);
        private(&dir.path().join("s/creel/mark/x")).unwrap().set_modified(later).unwrap();
        assert!(layout.due_again("x", Duration::from_mins(5)), "a clock that was set back");
    }

    #[test]
    fn use_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&StateDir::at(dir.path().join("s")));
        let name = SandboxName::parse("ab").unwrap();
        assert_eq!(layout.last_used(&name), None);
        layout.touch(&name).unwrap();
        assert!(layout.last_used(&name).unwrap().elapsed().unwrap().as_secs() < 60);
        layout.forget(&name, None).unwrap();
        assert_eq!(layout.last_used(&name), None);
    }
}
