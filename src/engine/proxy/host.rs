//! Sources of mounts, as this process sees them. It must see the host's directories under the host's names.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::Denial;

/// Which file a source was: device and inode.
pub(super) type Seen = Vec<(u64, u64)>;

/// Refuses a source that is not there, whose path goes through a link, or that is neither file nor directory.
///
/// Links are the caller's to change: a path that the engine would follow elsewhere is refused. The engine mounts at the
/// start, so this looks at the creation, before the start, and after it: what changed meanwhile is found, unless it was
/// changed back within the start. [`super::pins`] leave no such gap.
pub(super) fn look(sources: &[PathBuf]) -> Result<Seen, Denial> {
    let one = |source: &PathBuf| {
        identify(source).map_err(|reason| Denial::new(format!("mount source {}: {reason}", source.display())))
    };
    sources.iter().map(one).collect()
}

/// Opens a source without following a link: the file itself, whatever its name comes to mean, and its kind.
pub(super) fn open(path: &Path) -> Result<(OwnedFd, FileType), String> {
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat2(CWD, path, flags, Mode::empty(), plain).map_err(|error| match error {
        rustix::io::Errno::LOOP => "a link is not followed".to_owned(),
        rustix::io::Errno::NOENT => {
            "the proxy does not see it; mount the root under the same path".to_owned()
        }
        other => other.to_string(),
    })?;
    let stat = rustix::fs::fstat(&fd).map_err(|error| error.to_string())?;
    match FileType::from_raw_mode(stat.st_mode) {
        kind @ (FileType::Directory | FileType::RegularFile) => Ok((fd, kind)),
        FileType::Symlink => Err("a link is not followed".to_owned()),
        _ => Err("it is neither a directory nor a file".to_owned()),
    }
}

fn identify(path: &Path) -> Result<(u64, u64), String> {
    let (fd, _) = open(path)?;
    let stat = rustix::fs::fstat(&fd).map_err(|error| error.to_string())?;
    Ok((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_sockets_and_nothing_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        std::fs::write(at("real/file"), "").unwrap();
        std::os::unix::fs::symlink("/", at("real/up")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("real/socket")).unwrap();
        let seen = look(&[at("real"), at("real/file")]).unwrap();
        assert_eq!(look(&[at("real"), at("real/file")]).unwrap(), seen);
        for wrong in ["real/up", "real/up/etc", "real/socket", "none"] {
            assert!(look(&[at("real"), at(wrong)]).is_err(), "{wrong}");
        }
    }
}
