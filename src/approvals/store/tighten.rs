//! The document's mode mended, without trusting by that what others may have written.

use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use super::file::{put, untrusted_text};
use super::look::look;
use super::{StoreError, lock};
use crate::error::Report;
use crate::state::StateDir;

/// Gives the document mode 0600.
///
/// A file that holds already holds afterwards. One that is refused because others may have written it begins to hold with
/// its mode: only where it says what the last good copy says, and then that copy takes its place, so that nobody writes
/// on through a descriptor.
///
/// # Errors
///
/// Where a person has to look at the file first, and where the file system refuses. The file is as it was then.
pub fn tighten(state: &StateDir) -> Result<(), StoreError> {
    let raw = look(state);
    let path = &raw.path;
    let io = |error: std::io::Error| StoreError::Io { path: path.clone(), reason: error.to_string() };
    if raw.text.is_ok() {
        let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOFOLLOW;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(io)?;
        return file.set_permissions(Permissions::from_mode(0o600)).map_err(io);
    }
    let _lock = lock::take(state)?;
    let raw = look(state);
    match (&raw.last_good, untrusted_text(&raw.path)) {
        (Some(good), Ok(Some(text))) if *good == text => put(&raw.path, good).map_err(io),
        _ => Err(StoreError::Refused(unknown(&raw.path))),
    }
}

fn unknown(path: &Path) -> Report {
    Report {
        code: "CRL-APPROVALS-015",
        message: format!(
            "the mode of {} stays: others may have written it, and it is not the last good copy; look at what it says, then \
             creel approvals set --file",
            path.display()
        ),
        rule: Some(path.display().to_string()),
        fix: format!("look at what it says, then creel approvals set --file {}", path.display()),
    }
}
