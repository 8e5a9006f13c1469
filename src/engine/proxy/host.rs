//! Sources of mounts, as this process sees them. It must see the host's directories under the host's names.

use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::Denial;

/// Refuses a source that is not there, whose path goes through a link, or that is neither file nor directory.
///
/// Links are the caller's to change: a path that the engine would follow elsewhere is refused. Between this look and the
/// engine's mount lies a moment in which a caller that can write below a root may still exchange a directory for a link.
pub(super) fn look(sources: &[PathBuf]) -> Result<(), Denial> {
    sources.iter().try_for_each(|source| {
        kind(source).map_err(|reason| Denial::new(format!("mount source {}: {reason}", source.display())))
    })
}

fn kind(path: &Path) -> Result<(), String> {
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
        FileType::Directory | FileType::RegularFile => Ok(()),
        _ => Err("it is neither a directory nor a file".to_owned()),
    }
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
        look(&[at("real"), at("real/file")]).unwrap();
        for wrong in ["real/up", "real/up/etc", "real/socket", "none"] {
            assert!(look(&[at("real"), at(wrong)]).is_err(), "{wrong}");
        }
    }
}
