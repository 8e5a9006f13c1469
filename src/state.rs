//! Where creel keeps its state, and the identity of this installation.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Diagnose, Report};

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// No variable names a state directory and there is no home to put the default in.
    #[error("no state directory: HOME is not set")]
    NoHome,
    /// The directory or a file in it could not be made or read.
    #[error("state directory {path}: {action}: {source}")]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// One of creel's own directories is a link or a file: what is below it belongs to somebody else.
    #[error("{path} is no directory of creel's own: it is a {kind}")]
    NotOwn {
        /// The path concerned.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Others may write into one of creel's own directories, and so exchange what it runs and believes.
    #[error("{path} is no private directory: other users may write into it")]
    Open {
        /// The path concerned.
        path: PathBuf,
    },
    /// The installation file holds something else than 32 hex digits.
    #[error("{path} does not hold an installation id")]
    BadInstallation {
        /// The file concerned.
        path: PathBuf,
    },
}

impl Diagnose for StateError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::NoHome => {
                ("CRL-STATE-001", "set CREEL_STATE_DIR to a directory that creel may write".to_owned())
            }
            Self::Io { path, .. } => (
                "CRL-STATE-002",
                format!("make {} writable for this user, or set CREEL_STATE_DIR elsewhere", path.display()),
            ),
            Self::NotOwn { path, .. } => (
                "CRL-STATE-004",
                format!(
                    "remove {}, creel makes it anew; only the state directory itself may be a link",
                    path.display()
                ),
            ),
            Self::Open { path } => (
                "CRL-STATE-005",
                format!("see that nothing in it is another's, then chmod 700 {}", path.display()),
            ),
            Self::BadInstallation { path } => (
                "CRL-STATE-003",
                format!(
                    "remove {}; containers made under the old id are then left for prune",
                    path.display()
                ),
            ),
        };
        Report { code, message: self.to_string(), rule: Some("CREEL_STATE_DIR".to_owned()), fix }
    }
}

/// Where commands beside the gateway have their supervisors' directories, below the state directory.
pub(crate) const HOST_COMMANDS: &str = "creel/host";

/// The state directory (design §1): shared with `OpenClaw`, creel's own files live below `creel/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

/// 32 hex digits, made once per state directory; containers of two installations never share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationId(String);

impl InstallationId {
    /// All 32 digits, as in the container label.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The six digits that end a container's name (design §1).
    pub fn short(&self) -> &str {
        self.0.get(..6).unwrap_or(&self.0)
    }

    /// Stands for the id that the first sandbox will make.
    pub fn none() -> Self {
        Self("0".repeat(32))
    }

    /// Reads back an id that was written by [`StateDir::installation`].
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let hex = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Self(text.to_owned()))
    }
}

impl StateDir {
    /// `$CREEL_STATE_DIR`, else `$OPENCLAW_STATE_DIR`, else `~/.openclaw`. Values come from `var`.
    pub fn locate(var: impl Fn(&str) -> Option<String>) -> Result<Self, StateError> {
        let set = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        if let Some(root) = set("CREEL_STATE_DIR").or_else(|| set("OPENCLAW_STATE_DIR")) {
            let root = std::path::absolute(&root).map_err(|source| StateError::Io {
                path: PathBuf::from(&root),
                action: "make absolute",
                source,
            })?;
            return Ok(Self { root });
        }
        let home = set("HOME").ok_or(StateError::NoHome)?;
        Ok(Self { root: Path::new(&home).join(".openclaw") })
    }

    /// A state directory at a known place (tests, embedding programs). The path must be absolute.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// creel's own files; made on demand with mode 0700. No part of the way below the state directory is a link: creel
    /// removes and changes what it finds there.
    pub fn own(&self, part: &str) -> Result<PathBuf, StateError> {
        let mut path = self.root.clone();
        for name in &Path::new("creel").join(part) {
            path.push(name);
            match own_dir(&path) {
                Ok(true) if open_to_others(&path) => return Err(StateError::Open { path }),
                Ok(true) => {}
                Ok(false) => make_dir(&path)?,
                Err(kind) => return Err(StateError::NotOwn { path, kind }),
            }
        }
        Ok(path)
    }

    /// This installation's id where it was made before; nothing is written.
    pub fn known_installation(&self) -> Option<InstallationId> {
        InstallationId::parse(&std::fs::read_to_string(self.root.join("creel/installation")).ok()?)
    }

    /// This installation's id, made on first use. Concurrent first uses agree on one id.
    pub fn installation(&self) -> Result<InstallationId, StateError> {
        let dir = self.own("")?;
        let path = dir.join("installation");
        if !path.exists() {
            write_new(&dir, &path)?;
        }
        let text = std::fs::read_to_string(&path).map_err(|source| StateError::Io {
            path: path.clone(),
            action: "read",
            source,
        })?;
        InstallationId::parse(&text).ok_or(StateError::BadInstallation { path })
    }
}

/// True for a directory, false for nothing; else what it is.
pub(crate) fn own_dir(path: &Path) -> Result<bool, &'static str> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(true),
        Ok(meta) if meta.is_symlink() => Err("link"),
        Ok(_) => Err("file"),
        Err(_) => Ok(false),
    }
}

/// Whether group or others may write into a directory.
fn open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.mode() & 0o022 != 0)
}

/// Makes a private directory and its parents.
fn make_dir(path: &Path) -> Result<(), StateError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|source| StateError::Io {
        path: path.to_owned(),
        action: "create",
        source,
    })
}

/// Writes a fresh id beside `path` and links it into place: the first of several writers wins.
fn write_new(dir: &Path, path: &Path) -> Result<(), StateError> {
    let io = |action| move |source| StateError::Io { path: path.to_owned(), action, source };
    let id = random_hex::<16>().map_err(io("read random bytes for"))?;
    let draft = dir.join(format!(".installation-{id}"));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(io("create"))?;
    file.write_all(id.as_bytes()).and_then(|()| file.sync_all()).map_err(io("write"))?;
    let linked = std::fs::hard_link(&draft, path);
    let _ = std::fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(io("create")(error)),
        _ => Ok(()),
    }
}

/// `N` random bytes as hex digits.
pub fn random_hex<const N: usize>() -> std::io::Result<String> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}

/// A random UUID, version 4.
pub(crate) fn random_uuid() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let hex = hex(&bytes);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Ok(format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)))
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_below_the_state_directory_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (real, victim) = (dir.path().join("real"), dir.path().join("victim"));
        std::fs::create_dir_all(victim.join("run/0123456789abcdef")).unwrap();
        std::fs::create_dir(&real).unwrap();
        let link = dir.path().join("state");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let state = StateDir::at(&link);
        assert!(state.own("a/b").unwrap().is_dir(), "the state directory itself may be a link");
        std::os::unix::fs::symlink(victim.join("run"), real.join("creel/run")).unwrap();
        std::fs::write(real.join("creel/file"), "").unwrap();
        for (part, at) in [("run", "creel/run"), ("run/x", "creel/run"), ("file", "creel/file")] {
            let error = state.own(part).unwrap_err();
            assert!(matches!(&error, StateError::NotOwn { path, .. } if path.ends_with(at)), "{error}");
        }
        std::fs::remove_dir_all(real.join("creel")).unwrap();
        std::os::unix::fs::symlink(&victim, real.join("creel")).unwrap();
        assert!(state.own("").is_err() && state.own("run").is_err() && state.installation().is_err());
    }

    #[test]
    fn what_others_may_write_into_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        let own = state.own("bin").unwrap();
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(state.own("bin/x"), Err(StateError::Open { path }) if path == own));
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(state.own("bin/x").is_ok());
    }

    #[test]
    fn order_of_variables() {
        let all = |name: &str| Some(format!("/x/{name}"));
        assert_eq!(StateDir::locate(all).unwrap(), StateDir::at("/x/CREEL_STATE_DIR"));
        let home = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        assert_eq!(StateDir::locate(home).unwrap(), StateDir::at("/home/u/.openclaw"));
        assert!(matches!(StateDir::locate(|_| None), Err(StateError::NoHome)));
        let blank = |name: &str| Some(if name == "HOME" { "/h" } else { " " }.to_owned());
        assert_eq!(StateDir::locate(blank).unwrap(), StateDir::at("/h/.openclaw"));
    }

    #[test]
    fn concurrent_first_uses_agree() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("s"));
        let ids: Vec<_> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..8).map(|_| scope.spawn(|| state.installation().unwrap())).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]));
        assert_eq!(ids[0].short().len(), 6);
    }
}
