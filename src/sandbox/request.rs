//! What a caller asks for. Everything here was validated before; this module only gives it types.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::SandboxError;
use super::prove::Rule;
use crate::engine::Limits;
use crate::paths::hold::hold;
use crate::paths::{DenyEnv, DenyList, ValidBind};

/// The configuration key that lets a sandbox run although the kernel does not enforce a rule.
pub const ALLOW_UNENFORCED_KEY: &str = "agents.defaults.sandbox.docker.dangerouslyAllowUnenforced";

/// Processes and threads of a sandbox where the configuration sets no limit (design §4).
pub const DEFAULT_PIDS: u64 = 1024;

/// One sandbox as asked for.
#[derive(Debug, Clone)]
pub struct SandboxRequest {
    /// Final container name, installation digits included.
    pub name: SandboxName,
    /// Who shares this sandbox (spec `sandbox.md` §3.1); becomes a label.
    pub scope_key: String,
    /// The session that asks; it stays out of the labels because other sessions of the scope share the container.
    pub session_key: String,
    /// The agent that asks.
    pub agent: String,
    /// Image reference or id.
    pub image: String,
    /// The working directory of the sandbox.
    pub workspace: Workspace,
    /// Further bind mounts, already validated; no two have the same target.
    pub binds: Vec<Bind>,
    /// `path[:options]`, as in the configuration.
    pub tmpfs: Vec<String>,
    /// Network mode; validated, never empty.
    pub network: String,
    /// Root file system mounted read-only.
    pub read_only_root: bool,
    /// Limits. [`Limits::pids`] should be [`DEFAULT_PIDS`] where nothing else is configured.
    pub limits: Limits,
    /// `uid[:gid]` from the configuration; `None` derives it from the workspace's owner.
    pub user: Option<String>,
    /// Capabilities to drop.
    pub cap_drop: Vec<String>,
    /// Name servers.
    pub dns: Vec<String>,
    /// Extra `host:address` entries.
    pub extra_hosts: Vec<String>,
    /// Seccomp profile as JSON text.
    pub seccomp: Option<String>,
    /// `AppArmor` profile name.
    pub apparmor: Option<String>,
    /// GPU request.
    pub gpus: Option<String>,
    /// The set-up command's text; [`super::Meet::prepare`] runs it, here it only belongs to the identity.
    pub setup: Option<String>,
    /// A sandbox with no command and no host for this long ends itself; prune removes it. Zero never.
    pub idle_limit: Duration,
    /// A sandbox older than this is removed by prune when nobody uses it. Zero never.
    pub max_age: Duration,
    /// What a pool has to do with it.
    pub pool: PoolRole,
    /// Rules that may stay unenforced; from [`ALLOW_UNENFORCED_KEY`].
    pub allow_unenforced: Vec<Rule>,
    /// Host paths that nothing in the container may show, whatever came along with a mount. No part of the identity.
    pub deny: DenyList,
}

impl SandboxRequest {
    /// A request with creel's defaults: no network, read-only root, no capabilities, tmpfs scratch, 1024 pids,
    /// one day idle, seven days of age (spec `sandbox.md` §1.2, §1.5; design §4). Its deny list knows no homes.
    pub fn hardened(
        name: SandboxName,
        scope_key: impl Into<String>,
        image: impl Into<String>,
        workspace: Workspace,
    ) -> Self {
        let scope_key = scope_key.into();
        Self {
            name,
            session_key: scope_key.clone(),
            scope_key,
            agent: "main".to_owned(),
            image: image.into(),
            workspace,
            binds: Vec::new(),
            tmpfs: ["/tmp", "/var/tmp", "/run"].map(str::to_owned).to_vec(),
            network: "none".to_owned(),
            read_only_root: true,
            limits: Limits { pids: Some(DEFAULT_PIDS), ..Limits::default() },
            user: None,
            cap_drop: vec!["ALL".to_owned()],
            dns: Vec::new(),
            extra_hosts: Vec::new(),
            seccomp: None,
            apparmor: None,
            gpus: None,
            setup: None,
            idle_limit: Duration::from_hours(24),
            max_age: Duration::from_hours(7 * 24),
            pool: PoolRole::Apart,
            allow_unenforced: Vec::new(),
            deny: DenyList::new(&DenyEnv::default()),
        }
    }
}

/// What a pool of ready containers has to do with a sandbox (design §4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PoolRole {
    /// Nothing.
    #[default]
    Apart,
    /// Where no container is there yet, one that waits may become it.
    Draws {
        /// Whatever else a container that waits must agree in; only a digest of it is kept. It says what the set-up
        /// command ran with, so that nobody gets what was prepared with somebody else's variables.
        context: String,
    },
    /// It is to wait in a pool itself.
    Waits {
        /// The pool's key.
        key: String,
    },
}

/// A container name that is also safe as a file name: 2 to 63 of `[A-Za-z0-9_.-]`, the first a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SandboxName(String);

impl SandboxName {
    /// Accepts what every engine accepts as a container name.
    pub fn parse(name: &str) -> Result<Self, SandboxError> {
        let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        if first && (2..=63).contains(&name.len()) && name.bytes().all(word) {
            Ok(Self(name.to_owned()))
        } else {
            Err(SandboxError::BadName { name: name.escape_debug().to_string() })
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SandboxName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The directory that commands work in.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Absolute, resolved path on the host.
    pub dir: PathBuf,
    /// Mounted read-only (`workspaceAccess: ro`).
    pub read_only: bool,
    /// creel made it: it is created on demand and given to the sandbox user.
    pub owned_by_creel: bool,
    /// Absolute path in the container, also the working directory.
    pub target: String,
}

/// Device and inode: which file this is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Device number as `stat` tells it.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "device {} inode {}", self.dev, self.ino)
    }
}

/// A bind mount whose source was opened at validation. While the descriptor is held, the kernel cannot give the
/// inode number to another file, so that equal identity after the start means: it is this file.
#[derive(Debug, Clone)]
pub struct Bind {
    /// Absolute, resolved path on the host.
    pub source: PathBuf,
    /// Absolute path in the container.
    pub target: String,
    /// Mounted read-only.
    pub read_only: bool,
    /// The opened source.
    pub held: Held,
}

impl Bind {
    /// Opens the source of a bind that was judged, and holds it from here to the proof.
    ///
    /// # Errors
    ///
    /// As [`Held::open`].
    pub fn hold(valid: &ValidBind) -> Result<Self, SandboxError> {
        let source = PathBuf::from(&valid.source_resolved);
        let held = Held::open(&source)?;
        Ok(Self { source, target: valid.target.clone(), read_only: valid.read_only, held })
    }
}

/// An open descriptor of a file or directory and its identity.
#[derive(Debug, Clone)]
pub struct Held {
    /// Which file the descriptor refers to.
    pub identity: Identity,
    /// A directory, not a file.
    pub is_dir: bool,
    /// Owner and group.
    pub owner: (u32, u32),
    fd: Arc<OwnedFd>,
}

impl Held {
    fn from_fd(fd: OwnedFd) -> std::io::Result<Self> {
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Self {
            identity: Identity { dev: stat.st_dev, ino: stat.st_ino },
            is_dir: rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir(),
            owner: (stat.st_uid, stat.st_gid),
            fd: Arc::new(fd),
        })
    }

    /// Opens a resolved path without following a link in any component.
    ///
    /// # Errors
    ///
    /// When it is missing, changed since it was resolved, or neither file nor directory.
    pub fn open(path: &Path) -> Result<Self, SandboxError> {
        let source = hold(path)?;
        let fd = source.fd().try_clone().map_err(SandboxError::io(path, "keep open"))?;
        Self::from_fd(fd).map_err(SandboxError::io(path, "stat"))
    }

    /// Opens a path of creel's own: its parents may be links (a state directory on another disk), it itself not.
    pub(super) fn open_own(path: &Path) -> Result<Self, SandboxError> {
        use rustix::fs::{Mode, OFlags, open};
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = open(path, flags, Mode::empty()).map_err(std::io::Error::from);
        opened.and_then(Self::from_fd).map_err(SandboxError::io(path, "open"))
    }

    /// The descriptor, for look-ups below it.
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_as_files() {
        for good in ["ab", "openclaw-sbx-agent-main-6d9217fe-abcdef", &"x".repeat(63)] {
            assert_eq!(SandboxName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a", "..", ".a", "-a", "a/b", "a b", "a\n", "ä1", &"x".repeat(64)] {
            assert!(SandboxName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_link_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        assert!(Held::open(&real).unwrap().is_dir);
        assert!(Held::open(&dir.path().join("link")).is_err());
    }
}
