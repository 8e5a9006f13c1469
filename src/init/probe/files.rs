//! Writing outside, and paths of the host.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::{Teller, Wanted, errno, outcome};
use crate::wire::probe::Attempt;

pub(super) fn run(wanted: &Wanted, teller: &mut Teller) {
    for path in &wanted.write {
        let result = write(Path::new(path), &wanted.nonce).map_err(|error| errno(&error));
        teller.result(Attempt::Write, path, result);
    }
    for path in &wanted.host {
        match std::fs::symlink_metadata(path) {
            Ok(meta) => {
                teller.saw(Attempt::HostPath, path, &format!("{}:{}", meta.dev(), meta.ino()));
            }
            Err(error) => teller.tell(Attempt::HostPath, path, outcome(Err(errno(&error))), ""),
        }
    }
}

/// A new file in a directory; of a file the mode as it is, and its end opened for writing.
fn write(path: &Path, nonce: &str) -> io::Result<()> {
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        let name = path.join(format!(".creel-probe-{nonce}"));
        OpenOptions::new().write(true).create_new(true).open(&name)?;
        return std::fs::remove_file(&name);
    }
    // Asked before the file itself: a program that runs cannot be opened for writing wherever it is.
    std::fs::set_permissions(path, Permissions::from_mode(meta.mode()))?;
    OpenOptions::new().append(true).open(path).map(|_: File| ())
}
