//! Makes directories on a resolved path without following a link that appeared on it since: creel may run as root, and
//! must not be led into making anything elsewhere.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::hold::{HoldError, classify};

/// Makes a directory and its missing parents with a mode, of which the umask takes its part. True when the last one was
/// made now.
///
/// # Errors
///
/// [`HoldError::Changed`] where a link is on the way.
pub fn make_dir(resolved: &Path, mode: u32) -> Result<bool, HoldError> {
    let failed = |errno| classify(resolved, errno);
    let mut at = open(CWD, Path::new("/")).map_err(failed)?;
    let mut made = false;
    for part in resolved.components() {
        let name = match part {
            Component::RootDir | Component::CurDir => continue,
            Component::Normal(name) => name,
            Component::ParentDir | Component::Prefix(_) => return Err(failed(Errno::INVAL)),
        };
        (at, made) = enter(&at, name, Mode::from_raw_mode(mode)).map_err(failed)?;
    }
    Ok(made)
}

/// Opens a directory in `dir`, making it where it is missing.
fn enter(dir: &OwnedFd, name: &OsStr, mode: Mode) -> Result<(OwnedFd, bool), Errno> {
    match open(dir, Path::new(name)) {
        Err(Errno::NOENT) => {}
        other => return other.map(|fd| (fd, false)),
    }
    let made = match rustix::fs::mkdirat(dir, name, mode) {
        Ok(()) => true,
        // Somebody else was faster.
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    open(dir, Path::new(name)).map(|fd| (fd, made))
}

fn open(dir: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    loop {
        match rustix::fs::openat2(&dir, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // A rename elsewhere during the walk; the kernel asks to walk again.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::paths::resolve::resolve;

    #[test]
    fn makes_what_is_missing_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        assert!(make_dir(&root.join("a/b/c"), 0o700).unwrap());
        assert!(!make_dir(&root.join("a/b/c"), 0o700).unwrap());
        assert_eq!(std::fs::metadata(root.join("a/b")).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::create_dir(root.join("elsewhere")).unwrap();
        symlink(root.join("elsewhere"), root.join("link")).unwrap();
        for path in ["link/x/y", "link/x", "link"] {
            assert!(matches!(make_dir(&root.join(path), 0o700), Err(HoldError::Changed(_))), "{path}");
        }
        assert!(std::fs::read_dir(root.join("elsewhere")).unwrap().next().is_none());
        std::fs::write(root.join("file"), "").unwrap();
        assert!(make_dir(&root.join("file/x"), 0o700).is_err());
    }
}
