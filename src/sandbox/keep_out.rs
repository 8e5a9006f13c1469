//! Keeps creel's own files out of every sandbox: who could write them could forge proofs, approvals and
//! configuration, who could read them would find what approvals and sessions keep there (A121).

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::error::SandboxError;
use super::request::{Held, Identity};
use crate::state::StateDir;

/// The opened state directory and creel's part of it.
#[derive(Debug)]
pub(super) struct KeepOut {
    root: Held,
    own: Held,
    shown: PathBuf,
}

impl KeepOut {
    /// Opens both; the state directory may be reached through links.
    pub(super) fn new(state: &StateDir) -> Result<Self, SandboxError> {
        let own = state.own("")?;
        // A final link would be opened as itself: `/.` follows it.
        Ok(Self {
            root: Held::open_own(&state.root().join("."))?,
            own: Held::open_own(&own)?,
            shown: state.root().to_owned(),
        })
    }

    /// Refuses a directory that contains the state directory, or lies within creel's part of it. Compared by
    /// identity on the way up, so that no link and no other spelling hides it.
    pub(super) fn check(&self, source: &Held, path: &std::path::Path) -> Result<(), SandboxError> {
        if !source.is_dir {
            return Ok(());
        }
        let io = |error| SandboxError::io(path, "look at the parents of")(error);
        let around = within(&self.root.fd(), source.identity).map_err(io)?;
        if around || within(&source.fd(), self.own.identity).map_err(io)? {
            let reason = format!("it would show creel's own files in {}", self.shown.display());
            return Err(SandboxError::Workspace { path: path.to_owned(), reason });
        }
        Ok(())
    }
}

/// `start` or one of its parents is the directory `wanted`.
fn within(start: &impl AsFd, wanted: Identity) -> std::io::Result<bool> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = rustix::fs::openat(start, ".", flags, Mode::empty())?;
    loop {
        let stat = rustix::fs::fstat(&at)?;
        let here = Identity { dev: stat.st_dev, ino: stat.st_ino };
        if here == wanted {
            return Ok(true);
        }
        let parent = rustix::fs::openat(&at, "..", flags, Mode::empty())?;
        let above = rustix::fs::fstat(&parent)?;
        if (Identity { dev: above.st_dev, ino: above.st_ino }) == here {
            return Ok(false);
        }
        at = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_do_not_hide_the_state_directory() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir_all(real.join("sandboxes/slug")).unwrap();
        std::fs::create_dir(dir.path().join("beside")).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        let keep_out = KeepOut::new(&StateDir::at(dir.path().join("link"))).unwrap();
        std::fs::create_dir(real.join("creel/proof")).unwrap();
        let check = |path: PathBuf| keep_out.check(&Held::open(&path).unwrap(), &path);
        for bad in [dir.path().to_owned(), real.clone(), real.join("creel"), real.join("creel/proof")] {
            assert!(check(bad.clone()).is_err(), "{}", bad.display());
        }
        for good in [real.join("sandboxes"), real.join("sandboxes/slug"), dir.path().join("beside")] {
            check(good).unwrap();
        }
    }
}
