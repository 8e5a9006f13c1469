//! One file: read without following links below the state directory, replaced at once and durably.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::error::StoreError;
use crate::approvals::document::MAX_BYTES;

/// Mode of what creel writes: the document holds a secret, and the policy of the machine.
const MODE: u32 = 0o600;

/// The text of a file, `None` where there is none.
///
/// Refused: a link (whoever can change its target decides what runs; the state directory itself may be one), anything
/// that is no regular file, and a file that others than this user, root or the owner of its directory may have written.
pub(super) fn text_of(path: &Path) -> Text {
    read(path, trusted)
}

/// The same, whoever may have written it: to compare, never to hold.
pub(super) fn untrusted_text(path: &Path) -> Text {
    read(path, |_, _| Ok(()))
}

fn read(path: &Path, accept: impl FnOnce(&Path, &std::fs::Metadata) -> Result<(), String>) -> Text {
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOFOLLOW;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) if path.is_symlink() => return Err("it is a link; put the file itself there".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    let meta = file.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    accept(path, &meta)?;
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(Some(text))
}

fn trusted(path: &Path, meta: &std::fs::Metadata) -> Result<(), String> {
    let own = meta.uid() == rustix::process::geteuid().as_raw() || meta.uid() == 0;
    let of_dir = || path.parent().and_then(|dir| dir.metadata().ok()).map(|dir| dir.uid());
    if !own && of_dir() != Some(meta.uid()) {
        return Err(format!("it belongs to another user (uid {})", meta.uid()));
    }
    if meta.mode() & 0o002 != 0 {
        return Err(format!(
            "every user may write it (mode {:o}); look at what it says, then chmod o-w it",
            meta.mode() & 0o7777
        ));
    }
    Ok(())
}

/// What [`text_of`] says.
pub(super) type Text = Result<Option<String>, String>;

/// Replaces a file where it still is what [`text_of`] said `before`; false where it is not. Whoever calls holds the lock.
pub(super) fn replace(path: &Path, before: &Text, after: &str) -> Result<bool, StoreError> {
    let io = |error: std::io::Error| StoreError::Io { path: path.to_owned(), reason: error.to_string() };
    let old = path.symlink_metadata().ok();
    if let Some(meta) = old.as_ref().filter(|meta| meta.is_file() && meta.mode() & 0o222 == 0) {
        return Err(StoreError::ReadOnly { path: path.to_owned(), mode: meta.mode() & 0o7777 });
    }
    let draft = draft(path);
    let written = write_new(&draft, after, old.as_ref()).map_err(io);
    let same = || text_of(path) == *before;
    let done = written.and_then(|()| {
        if same() { std::fs::rename(&draft, path).map(|()| true).map_err(io) } else { Ok(false) }
    });
    if !matches!(done, Ok(true)) {
        let _ = std::fs::remove_file(&draft);
        return done;
    }
    sync_dir(path).map_err(io)?;
    Ok(true)
}

/// A text into a file of creel's own, whatever stood there.
pub(super) fn put(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = draft(path);
    write_new(&draft, text, None)?;
    std::fs::rename(&draft, path)?;
    sync_dir(path)
}

/// One name, so that whoever died while writing leaves at most one draft; the lock keeps others from it.
fn draft(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.creel-draft"))
}

fn write_new(path: &Path, text: &str, old: Option<&std::fs::Metadata>) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
    file.write_all(text.as_bytes())?;
    // Root changes what belongs to somebody, and leaves it theirs.
    if let Some(old) = old.filter(|_| rustix::process::geteuid().is_root()) {
        let (user, group) = (rustix::fs::Uid::from_raw(old.uid()), rustix::fs::Gid::from_raw(old.gid()));
        rustix::fs::fchown(&file, Some(user), Some(group))?;
    }
    file.sync_all()
}

/// The new name is durable only when its directory is.
pub(super) fn sync_dir(path: &Path) -> std::io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}
