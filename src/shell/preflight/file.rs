//! Reads the script.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::Place;

/// Largest script that is read, in bytes.
const MAX_BYTES: u64 = 512 * 1024;

/// The text of a script inside the directory; nothing where it is not to be read. A pipe or a device does not block.
pub(super) fn read(path: &str, place: &Place<'_>) -> Option<String> {
    let relative = inside(Path::new(path), place)?;
    let directory =
        rustix::fs::open(place.host, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .ok()?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let found = rustix::fs::openat2(&directory, &relative, flags, Mode::empty(), inside).ok()?;
    let stat = rustix::fs::fstat(&found).ok()?;
    let size = u64::try_from(stat.st_size).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || size > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(found).take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let whole = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES);
    whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The path below the directory.
fn inside(path: &Path, place: &Place<'_>) -> Option<PathBuf> {
    if path.is_relative() {
        return Some(path.to_owned());
    }
    let below = |directory: &Path| path.strip_prefix(directory).ok().map(Path::to_owned);
    match place.guest {
        Some(guest) => below(guest),
        None => below(place.host),
    }
}
