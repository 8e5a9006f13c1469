//! A descriptor on a resolved source, held until the mount that the engine made was compared with it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::error::{Diagnose, Report};

/// What a path is, beyond its name. Two descriptors with one identity are the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourceIdentity {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Type and permissions, as `stat` has them.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Owning group.
    pub gid: u32,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// A source that is open: it cannot be replaced unnoticed, nor its inode number reused.
#[derive(Debug)]
pub struct HeldSource {
    fd: OwnedFd,
    path: PathBuf,
    identity: SourceIdentity,
}

/// Why a source cannot be held.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HoldError {
    /// It does not exist. The engine would refuse it, or make it as root.
    #[error("{0} does not exist")]
    Missing(PathBuf),
    /// A link stands where none stood when the path was resolved.
    #[error("{0} changed since it was checked: a symbolic link is on the way")]
    Changed(PathBuf),
    /// It is neither file nor directory.
    #[error("{0} is neither a file nor a directory")]
    Special(PathBuf),
    /// The operating system refuses.
    #[error("{path} cannot be opened: {reason}")]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
}

impl Diagnose for HoldError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Missing(path) => ("CRL-HOLD-001", format!("make {} first", path.display())),
            Self::Changed(_) => {
                ("CRL-HOLD-002", "run again; if it stays so, find out who changes the path".to_owned())
            }
            Self::Special(_) => ("CRL-HOLD-003", "mount a file or a directory".to_owned()),
            Self::Io { path, .. } => {
                ("CRL-HOLD-004", format!("make {} reachable for this user", path.display()))
            }
        };
        Report { code, message: self.to_string(), rule: Some("held mount sources".to_owned()), fix }
    }
}

/// Opens a resolved path without following any link, and notes what it is.
///
/// `O_PATH`: no right to read is needed, and opening has no side effect. A mount point is opened as what is
/// mounted there, which is also what a bind of it shows.
pub fn hold(resolved: &Path) -> Result<HeldSource, HoldError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let fd = loop {
        match rustix::fs::openat2(CWD, resolved, flags, Mode::empty(), resolve) {
            Ok(fd) => break fd,
            // A rename elsewhere during the walk; the kernel asks to walk again.
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(classify(resolved, errno)),
        }
    };
    let identity = identity(&fd).map_err(|errno| classify(resolved, errno))?;
    match FileType::from_raw_mode(identity.mode) {
        FileType::Directory | FileType::RegularFile => {
            Ok(HeldSource { fd, path: resolved.to_owned(), identity })
        }
        FileType::Symlink => Err(HoldError::Changed(resolved.to_owned())),
        _ => Err(HoldError::Special(resolved.to_owned())),
    }
}

/// The identity of anything open.
pub fn identity(fd: impl std::os::fd::AsFd) -> rustix::io::Result<SourceIdentity> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(SourceIdentity {
        dev: stat.st_dev,
        ino: stat.st_ino,
        mode: stat.st_mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        is_dir: FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
    })
}

impl HeldSource {
    /// The descriptor.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was found there.
    pub fn identity(&self) -> SourceIdentity {
        self.identity
    }

    /// Whether the path still leads to what is held.
    pub fn still_there(&self) -> bool {
        hold(&self.path).is_ok_and(|now| self.same(now.identity))
    }

    /// Whether `other` is the file that is held. Permissions may have changed meanwhile; the file has not.
    pub fn same(&self, other: SourceIdentity) -> bool {
        (self.identity.dev, self.identity.ino, self.identity.is_dir) == (other.dev, other.ino, other.is_dir)
    }
}

pub(super) fn classify(path: &Path, errno: rustix::io::Errno) -> HoldError {
    match errno {
        rustix::io::Errno::NOENT => HoldError::Missing(path.to_owned()),
        rustix::io::Errno::LOOP => HoldError::Changed(path.to_owned()),
        _ => HoldError::Io { path: path.to_owned(), reason: errno.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::resolve::resolve;

    #[test]
    fn holds_what_was_resolved_and_notices_a_swap() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        let source = root.join("src");
        std::fs::create_dir(&source).unwrap();
        let held = hold(&source).unwrap();
        assert!(held.identity().is_dir && held.still_there());
        std::fs::rename(&source, root.join("away")).unwrap();
        assert!(!held.still_there());
        std::os::unix::fs::symlink("away", &source).unwrap();
        assert!(matches!(hold(&source), Err(HoldError::Changed(_))));
        assert!(matches!(hold(&source.join("x")), Err(HoldError::Changed(_))));
        assert!(held.same(hold(&root.join("away")).unwrap().identity()));
        assert!(matches!(hold(&root.join("none")), Err(HoldError::Missing(_))));
    }

    #[test]
    fn no_magic_links_no_special_files() {
        assert!(matches!(hold(Path::new("/proc/self/root")), Err(HoldError::Changed(_))));
        assert!(matches!(hold(Path::new("/dev/null")), Err(HoldError::Special(_))));
    }
}
