//! Mounts of the proxy's own that stand in for the sources of a container until it has started.
//!
//! The engine looks a source up by its name when the container starts, and whoever can write beside it chooses what it
//! finds. A pin is made from the very file that was judged, by its descriptor, in a directory that nobody else can write
//! to. The engine is told the pin's name; what happens to the source's name changes nothing any more. After the start the
//! container has a mount of its own, and the pin goes.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxAttributes, StatxFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags};

use super::{Denial, ProxyError, host};
use crate::state::random_hex;

/// Containers that may wait for their start.
const MAX_CONTAINERS: usize = 256;
/// Mounts of one container.
const MAX_MOUNTS: usize = 600;

/// The directory of the pins: one directory in it for each container that waits for its start.
#[derive(Debug)]
pub(super) struct Pins {
    dir: PathBuf,
}

/// The pins of one container; released on drop, unless they are kept.
#[derive(Debug)]
pub(super) struct Pinned {
    dir: PathBuf,
    /// What the engine is to mount, in the order of the sources.
    pub(super) sources: Vec<PathBuf>,
    kept: bool,
}

impl Pins {
    /// Takes the directory over, made where it is missing: what is left in it is an earlier proxy's. Tries whether a pin
    /// can be made.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Pins`] for a directory that others may write to, and where this process may not mount.
    pub(super) fn open(dir: &Path) -> Result<Self, ProxyError> {
        let wrong = |reason: String| ProxyError::Pins { dir: dir.to_owned(), reason };
        if !dir.exists() {
            std::fs::DirBuilder::new().mode(0o700).create(dir).map_err(|error| wrong(error.to_string()))?;
        }
        let meta = std::fs::symlink_metadata(dir).map_err(|error| wrong(error.to_string()))?;
        let own = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw();
        if !own || meta.mode() & 0o077 != 0 {
            return Err(wrong("it is no directory that this user alone may enter".to_owned()));
        }
        let pins = Self { dir: dir.to_owned() };
        pins.release_all();
        let tried = pins.pin(&[dir.to_owned()]);
        tried.map_err(|denial| wrong(denial.reason().to_owned()))?;
        Ok(pins)
    }

    /// Pins the sources of a container that is about to be made.
    pub(super) fn pin(&self, sources: &[PathBuf]) -> Result<Pinned, Denial> {
        let failed = |error: std::io::Error| Denial::new(format!("{}: {error}", self.dir.display()));
        if sources.len() > MAX_MOUNTS {
            return Err(Denial::new(format!("a sandbox mounts at most {MAX_MOUNTS} things")));
        }
        if self.all().map_err(failed)?.len() >= MAX_CONTAINERS {
            return Err(Denial::new(format!("{MAX_CONTAINERS} containers wait for their start already")));
        }
        let name = random_hex::<8>().map_err(|error| Denial::new(error.to_string()))?;
        let dir = self.dir.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&dir).map_err(failed)?;
        let mut pinned = Pinned { dir, sources: Vec::new(), kept: false };
        for (number, source) in sources.iter().enumerate() {
            let place = pinned.dir.join(number.to_string());
            let opened = host::open(source)
                .map_err(|reason| Denial::new(format!("mount source {}: {reason}", source.display())))?;
            mount(&opened, &place)
                .map_err(|error| Denial::new(format!("mount source {}: {error}", source.display())))?;
            pinned.sources.push(place);
        }
        Ok(pinned)
    }

    /// The pins of a container that is about to start; refused where they are not all there, and nothing else.
    pub(super) fn of(&self, sources: &[PathBuf]) -> Result<Option<Pinned>, Denial> {
        let Some(dir) = sources.first().and_then(|first| first.parent()) else { return Ok(None) };
        let ours = |source: &PathBuf| source.parent() == Some(dir) && is_mount(source);
        if dir.parent() != Some(self.dir.as_path()) || !sources.iter().all(ours) {
            let reason =
                "the container's mounts are pinned no more; it is started once, by the proxy that made it";
            return Err(Denial::new(reason));
        }
        Ok(Some(Pinned { dir: dir.to_owned(), sources: sources.to_vec(), kept: true }))
    }

    /// Releases every pin. A container that still waits cannot be started then.
    pub(super) fn release_all(&self) {
        for one in self.all().unwrap_or_default() {
            release(&one);
        }
    }

    fn all(&self) -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(&self.dir)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }
}

impl Pinned {
    /// They stay: the container was made and waits for its start.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }

    /// They go: the container has started, or is gone.
    pub(super) fn release(mut self) {
        self.kept = false;
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !self.kept {
            release(&self.dir);
        }
    }
}

/// Mounts what a descriptor is on at `place`, with what is mounted below it.
fn mount((source, kind): &(OwnedFd, FileType), place: &Path) -> std::io::Result<()> {
    if *kind == FileType::Directory {
        std::fs::create_dir(place)?;
    } else {
        std::fs::File::create_new(place)?;
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = rustix::mount::open_tree(source, "", flags)?;
    rustix::mount::move_mount(&tree, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

fn is_mount(path: &Path) -> bool {
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS);
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Unmounts and removes the pins of a container. What is still busy goes with its last user.
fn release(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_mount(&path)
            && let Err(error) = rustix::mount::unmount(&path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        {
            tracing::warn!(path = %path.display(), %error, "a pin stays");
            continue;
        }
        // Never what is mounted there: these fail on anything that is not empty.
        let _ = std::fs::remove_dir(&path);
        if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() == 0) {
            let _ = std::fs::remove_file(&path);
        }
    }
    let _ = std::fs::remove_dir(dir);
}
