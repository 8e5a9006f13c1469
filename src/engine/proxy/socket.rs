//! The socket that the proxy serves at.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::ProxyError;

/// A listening socket; removed on drop.
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Takes the place of a socket that nobody listens to, of nothing else.
    pub(super) async fn bind(path: &Path) -> Result<Self, ProxyError> {
        let fail = |action| {
            let path = path.to_owned();
            move |source| ProxyError::Socket { path, action, source }
        };
        let old = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
        if old {
            if UnixStream::connect(path).await.is_ok() {
                return Err(ProxyError::Taken { path: path.to_owned() });
            }
            std::fs::remove_file(path).map_err(fail("remove"))?;
        }
        let listener = UnixListener::bind(path).map_err(fail("bind"))?;
        let socket = Self { listener, path: path.to_owned() };
        // Owner and group, whatever the umask is.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))
            .map_err(fail("change the mode of"))?;
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
