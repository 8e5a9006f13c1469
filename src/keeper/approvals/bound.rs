//! The socket in its place.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::approvals::desk::Place;
use crate::approvals::document::Token;

/// A socket that is served; removed on drop, where it still is this one.
pub(super) struct Bound {
    listener: UnixListener,
    place: Place,
    identity: (u64, u64),
}

impl Bound {
    /// Takes the place. `None` where somebody else listens there; a socket that nobody listens at is what a process left that
    /// was killed. Nothing but a socket is ever removed.
    pub(super) fn bind(place: Place) -> std::io::Result<Option<Self>> {
        let path = &place.path;
        match path.symlink_metadata() {
            Ok(meta) if !meta.file_type().is_socket() => {
                let why = format!("{} is there and is no socket", path.display());
                return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, why));
            }
            Ok(_) if place.taken() => return Ok(None),
            Ok(_) => std::fs::remove_file(path)?,
            Err(_) => {}
        }
        let draft = draft(path)?;
        let _ = std::fs::remove_file(&draft);
        let listener = UnixListener::bind(&draft)?;
        let linked = std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))
            // It appears complete, and takes nobody's place.
            .and_then(|()| std::fs::hard_link(&draft, path))
            .and_then(|()| identity(path));
        let _ = std::fs::remove_file(&draft);
        Ok(Some(Self { listener, identity: linked?, place }))
    }

    /// It is where the document wants it, and what lies there is it.
    pub(super) fn still(&self, wanted: Option<&Place>) -> bool {
        wanted == Some(&self.place) && self.in_place()
    }

    fn in_place(&self) -> bool {
        identity(&self.place.path).is_ok_and(|found| found == self.identity)
    }

    /// The next connection of this user, with the secret that it must know.
    pub(super) async fn accept(bound: Option<&Self>) -> Option<(UnixStream, Token)> {
        let Some(bound) = bound else { return std::future::pending().await };
        let (stream, _) = bound.listener.accept().await.ok()?;
        own(&stream).then(|| (stream, bound.place.token.clone()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if self.in_place() {
            let _ = std::fs::remove_file(&self.place.path);
        }
    }
}

/// The other end is this very user, by the kernel's word (1.28).
pub(super) fn own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

fn draft(path: &Path) -> std::io::Result<PathBuf> {
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}", std::process::id()));
    Ok(path.with_file_name(draft))
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let meta = path.symlink_metadata()?;
    Ok((meta.dev(), meta.ino()))
}
