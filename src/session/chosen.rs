//! The files that keep what sessions have chosen: one for each, private, replaced at once under a lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Change, Overrides, SessionKey};
use crate::error::{Diagnose, Report};
use crate::state::{StateDir, StateError};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024;
/// How long another change is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a session's choices are not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ChosenError {
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The file system refuses.
    #[error("{path}, where session {session} keeps its choices: {reason}")]
    Io {
        /// The session.
        session: String,
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// The file is not as creel writes it. What a session had closed must not open by that.
    #[error("{path} does not hold the choices of session {session}: {reason}")]
    Corrupt {
        /// The session.
        session: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another change is under way.
    #[error("another creel is changing what session {0} has chosen")]
    Busy(String),
}

impl Diagnose for ChosenError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::State(error) => return error.report(),
            Self::Io { path, .. } => {
                ("CRL-SESSION-020", format!("make {} readable and writable for this user", path.display()))
            }
            Self::Corrupt { path, .. } => (
                "CRL-SESSION-021",
                format!("remove {}; the session then has the configuration's settings", path.display()),
            ),
            Self::Busy(_) => ("CRL-SESSION-022", "try again".to_owned()),
        };
        Report { code, message: self.to_string(), rule: Some("session options".to_owned()), fix }
    }
}

/// A file's content. The key stands in it because the name is only its digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    session: String,
    overrides: Overrides,
}

/// What a session has chosen; nothing where it never did. Nothing is written.
///
/// # Errors
///
/// When the file is there and cannot be understood: it may have closed what the configuration opens.
pub fn of(state: &StateDir, session: &SessionKey) -> Result<Overrides, ChosenError> {
    let path = state.root().join("creel/sessions").join(name(session));
    read(&path, session)
}

/// Changes what a session has chosen, and returns all of it. A session without choices has no file.
///
/// # Errors
///
/// As [`of`], and when it cannot be written; it is as it was then.
pub fn change(state: &StateDir, session: &SessionKey, change: &Change) -> Result<Overrides, ChosenError> {
    let dir = state.own("sessions")?;
    let _lock = lock(state, session)?;
    let path = dir.join(name(session));
    let chosen = read(&path, session)?.changed(change);
    let io = |error: std::io::Error| fault(session, &path, &error);
    if chosen.is_empty() {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
            _ => return Ok(chosen),
        }
    }
    let stored = Stored { session: session.as_str().to_owned(), overrides: chosen };
    let text = serde_json::to_vec_pretty(&stored).map_err(|error| io(error.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(&dir).map_err(io)?;
    file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(io)?;
    file.persist(&path).map_err(|error| io(error.error))?;
    File::open(&dir).and_then(|dir| dir.sync_all()).map_err(io)?;
    Ok(stored.overrides)
}

fn name(session: &SessionKey) -> String {
    format!("{}.json", super::digest(session.as_str()))
}

fn fault(session: &SessionKey, path: &Path, error: &std::io::Error) -> ChosenError {
    ChosenError::Io { session: session.as_str().to_owned(), path: path.to_owned(), reason: error.to_string() }
}

fn read(path: &Path, session: &SessionKey) -> Result<Overrides, ChosenError> {
    let corrupt = |reason: String| ChosenError::Corrupt {
        session: session.as_str().to_owned(),
        path: path.to_owned(),
        reason,
    };
    let io = |error: std::io::Error| fault(session, path, &error);
    let options =
        OpenOptions::new().read(true).custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK).clone();
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Overrides::default()),
        Err(error) => return Err(io(error)),
    };
    let meta = file.metadata().map_err(io)?;
    let own = meta.uid() == rustix::process::geteuid().as_raw() || meta.uid() == 0;
    if !own || meta.mode() & 0o022 != 0 {
        return Err(corrupt("other users may have written it (owner or mode)".to_owned()));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(io)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(corrupt(format!("it is larger than {MAX_BYTES} bytes")));
    }
    let stored: Stored = serde_json::from_str(&text).map_err(|error| corrupt(error.to_string()))?;
    if stored.session != session.as_str() {
        return Err(corrupt("it names another session".to_owned()));
    }
    Ok(stored.overrides)
}

/// One lock for all sessions of a state directory: changes are rare and short.
fn lock(state: &StateDir, session: &SessionKey) -> Result<File, ChosenError> {
    let path = state.own("lock")?.join("sessions");
    let io = |error: std::io::Error| fault(session, &path, &error);
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(io)?;
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Err(ChosenError::Busy(session.as_str().to_owned())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::config::exec::{Ask, Security};
    use crate::session::AgentId;

    fn key(name: &str) -> SessionKey {
        SessionKey::parse(name, &AgentId::main()).unwrap()
    }

    fn set(words: &[&str]) -> Change {
        Change::parse(words.iter().copied()).unwrap()
    }

    #[test]
    fn choices_are_kept_for_one_session_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        assert!(of(&state, &key("a")).unwrap().is_empty());
        assert!(!dir.path().join("creel").exists(), "looking writes nothing");
        let chosen = change(&state, &key("a"), &set(&["security=deny", "ask=always"])).unwrap();
        assert_eq!((chosen.security, chosen.ask), (Some(Security::Deny), Some(Ask::Always)));
        assert_eq!(of(&state, &key("a")).unwrap(), chosen);
        assert!(of(&state, &key("b")).unwrap().is_empty());
        let files: Vec<_> = std::fs::read_dir(dir.path().join("creel/sessions")).unwrap().flatten().collect();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
        change(&state, &key("a"), &set(&["security=unset", "ask=unset"])).unwrap();
        assert_eq!(std::fs::read_dir(dir.path().join("creel/sessions")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_understood_is_refused_and_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        change(&state, &key("a"), &set(&["security=deny"])).unwrap();
        let file = dir.path().join("creel/sessions").join(name(&key("a")));
        let other = dir.path().join("creel/sessions").join(name(&key("b")));
        std::fs::copy(&file, &other).unwrap();
        assert!(matches!(of(&state, &key("b")), Err(ChosenError::Corrupt { .. })));
        std::fs::write(&file, "{").unwrap();
        assert!(matches!(of(&state, &key("a")), Err(ChosenError::Corrupt { .. })));
        assert!(change(&state, &key("a"), &set(&["ask=off"])).is_err());
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert!(of(&state, &key("a")).is_err(), "links are not followed");
    }

    #[test]
    fn changes_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        std::thread::scope(|scope| {
            for words in [["security=deny"], ["ask=always"], ["node=n"], ["elevated=off"]] {
                let state = &state;
                scope.spawn(move || change(state, &key("a"), &set(&words)).unwrap());
            }
        });
        let chosen = of(&state, &key("a")).unwrap();
        assert!(chosen.security.is_some() && chosen.ask.is_some() && chosen.node.is_some());
        assert!(chosen.elevated.is_some());
    }
}
