//! Changes the configuration file: under a lock, judged before it is written, replaced at once.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::edit::EditError;
use super::{ConfigError, Located, document};
use crate::error::{Diagnose, Report};
use crate::paths::resolve;
use crate::state::{StateDir, StateError};

/// How long another change is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Mode of a new file: it may hold secrets.
const MODE: u32 = 0o600;

/// Why a change was not made; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The text cannot be changed so.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file cannot be read, or the result would not be valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The file system refuses.
    #[error("configuration file {path} cannot be written: {reason}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// Another change is under way.
    #[error("another creel is changing the configuration")]
    Busy,
    /// Something else wrote the file in between.
    #[error("configuration file {0} was changed by something else at the same time")]
    Changed(PathBuf),
}

impl Diagnose for StoreError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Config(error) => return error.report(),
            Self::State(error) => return error.report(),
            Self::Edit(error) => return edit_report(error),
            Self::Io { path, .. } => {
                ("CRL-CONFIG-009", path.display().to_string(), "make its directory writable for this user")
            }
            Self::Busy => ("CRL-CONFIG-010", "configuration lock".to_owned(), "try again"),
            Self::Changed(path) => {
                ("CRL-CONFIG-011", path.display().to_string(), "look at the file, then try again")
            }
        };
        Report { code, message: self.to_string(), rule: Some(rule), fix: fix.to_owned() }
    }
}

fn edit_report(error: &EditError) -> Report {
    let (code, key, fix) = match error {
        EditError::Syntax(_) => {
            ("CRL-CONFIG-003", String::new(), "correct it; `creel config validate` names the place")
        }
        EditError::Absent(key) => {
            ("CRL-CONFIG-006", key.clone(), "see `creel config get`, which prints all that is written")
        }
        EditError::NotA { key, .. } => {
            ("CRL-CONFIG-007", key.clone(), "remove what is in the way, or name another key")
        }
        EditError::Gap { key, .. } => ("CRL-CONFIG-007", key.clone(), "name the next element"),
        EditError::Twice(key) | EditError::Layout(key) => {
            ("CRL-CONFIG-008", key.clone(), "change the file by hand")
        }
    };
    Report { code, message: error.to_string(), rule: (!key.is_empty()).then_some(key), fix: fix.to_owned() }
}

/// Changes the file's text with `change`. `judge` looks at the text before and after, and what it refuses is not
/// written. True when something changed.
pub fn update(
    located: &Located,
    state: &StateDir,
    judge: impl FnOnce(&str, &str) -> Result<(), ConfigError>,
    change: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<bool, StoreError> {
    let _lock = lock(state)?;
    let before = match document::read(located) {
        Err(ConfigError::Missing { .. }) | Ok(None) => None,
        other => other?,
    };
    let after = change(before.as_deref().unwrap_or_default())?;
    if before.as_deref() == Some(&after) {
        return Ok(false);
    }
    judge(before.as_deref().unwrap_or("{}"), &after)?;
    write(&located.path, before.as_deref(), &after)?;
    Ok(true)
}

/// One lock for each state directory; it is never removed, so that all processes lock the same file.
fn lock(state: &StateDir) -> Result<File, StoreError> {
    let path = state.own("lock")?.join("configuration");
    let io = |error: std::io::Error| StoreError::Io { path: path.clone(), reason: error.to_string() };
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(MODE).open(&path).map_err(io)?;
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
}

/// Replaces the file, keeping its mode and owner; behind a link the target is replaced.
fn write(path: &Path, before: Option<&str>, after: &str) -> Result<(), StoreError> {
    let real = resolve::resolve(path)
        .map_err(|error| StoreError::Io { path: path.to_owned(), reason: error.to_string() })?;
    let io = |error: std::io::Error| StoreError::Io { path: real.clone(), reason: error.to_string() };
    let dir = real.parent().unwrap_or(Path::new("/"));
    let old = std::fs::metadata(&real).ok();
    if old.is_none() {
        std::fs::create_dir_all(dir).map_err(io)?;
    }
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(io)?;
    file.write_all(after.as_bytes()).map_err(io)?;
    let mode = old.as_ref().map_or(MODE, |old| old.permissions().mode() & 0o7777);
    if let Some(old) = &old
        && rustix::process::geteuid().is_root()
    {
        let owner = (rustix::fs::Uid::from_raw(old.uid()), rustix::fs::Gid::from_raw(old.gid()));
        rustix::fs::fchown(file.as_file(), Some(owner.0), Some(owner.1)).map_err(|error| io(error.into()))?;
    }
    file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    if std::fs::read_to_string(&real).ok().as_deref() != before {
        return Err(StoreError::Changed(real));
    }
    file.persist(&real).map_err(|error| io(error.error))?;
    // The new name is durable only when its directory is.
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(io)
}
