//! The keeper's socket: where it is, who may speak over it.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

use super::KeeperError;
use crate::state::StateDir;

/// Its name in creel's own directory.
pub(super) const NAME: &str = "keeper.sock";
/// Bytes that an address has room for, besides the zero at its end.
const ROOM: usize = 107;

/// A listening socket; removed on drop.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Takes the socket's place, whatever lies there: only who has the state directory's lock may call this. It appears
    /// complete, with its mode.
    pub(super) fn bind(state: &StateDir) -> Result<Self, KeeperError> {
        let dir = own(state)?;
        let (path, draft) = (dir.join(NAME), dir.join(".keeper.sock"));
        let fail = |action| {
            let path = path.clone();
            move |source| KeeperError::Socket { path, action, source }
        };
        let _ = std::fs::remove_file(&draft);
        let listener = {
            let short = Short::of(&draft).map_err(fail("open the directory of"))?;
            UnixListener::bind(short.path()).map_err(fail("bind"))?
        };
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))
            .and_then(|()| std::fs::rename(&draft, &path))
            .map_err(fail("put in place"))?;
        Ok(Self { listener, path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Connects; `None` where nobody listens.
pub(super) async fn connect(state: &StateDir) -> Result<Option<UnixStream>, KeeperError> {
    use std::io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound};
    let path = state.root().join("creel").join(NAME);
    let connected = match Short::of(&path) {
        Ok(short) => UnixStream::connect(short.path()).await,
        Err(error) => Err(error),
    };
    match connected {
        Ok(stream) => trusted(&stream).map(|()| Some(stream)),
        Err(error) if matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset) => Ok(None),
        Err(source) => Err(KeeperError::Socket { path, action: "connect to", source }),
    }
}

/// The other end is this user or root, by the kernel's word.
pub(super) fn trusted(stream: &UnixStream) -> Result<(), KeeperError> {
    let uid = stream.peer_cred().map_or(u32::MAX, |peer| peer.uid());
    if may(uid, rustix::process::geteuid().as_raw()) { Ok(()) } else { Err(KeeperError::Stranger(uid)) }
}

/// Who may speak to whom.
fn may(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

/// creel's own directory.
pub(super) fn own(state: &StateDir) -> Result<PathBuf, KeeperError> {
    use crate::error::Diagnose as _;
    state.own("").map_err(|error| KeeperError::Told(error.report().into()))
}

/// A path that fits into an address: a long one goes through a descriptor of its directory.
struct Short {
    path: PathBuf,
    _dir: Option<OwnedFd>,
}

impl Short {
    fn of(path: &Path) -> std::io::Result<Self> {
        if path.as_os_str().as_bytes().len() <= ROOM {
            return Ok(Self { path: path.to_owned(), _dir: None });
        }
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        let dir = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let path = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _dir: Some(dir) })
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_user_and_root_may_speak() {
        assert!(may(1000, 1000) && may(0, 1000) && may(0, 0));
        assert!(!may(1000, 0) && !may(1001, 1000) && !may(u32::MAX, 0));
    }

    #[tokio::test]
    async fn a_long_path_and_a_stale_socket_are_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("d".repeat(120)));
        assert!(connect(&state).await.unwrap().is_none());
        let place = own(&state).unwrap();
        // As a keeper leaves it that was killed.
        drop(std::os::unix::net::UnixListener::bind(Short::of(&place.join(NAME)).unwrap().path()).unwrap());
        assert!(place.join(NAME).exists() && connect(&state).await.unwrap().is_none());
        let again = Socket::bind(&state).unwrap();
        let mode = std::fs::metadata(&again.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(connect(&state).await.unwrap().is_some());
        drop(again);
        assert!(connect(&state).await.unwrap().is_none());
    }
}
