//! Meets the init of a sandbox: offers a socket in its rendezvous directory and proves who dials.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

use super::LinkError;

/// Strangers that may dial before the meeting is given up; each is a process of the sandbox that is not its PID 1.
/// Init dials a full queue again only every few milliseconds, in which strangers dial a hundred times: with fewer,
/// they would decide whether it is met.
const MAX_STRANGERS: u32 = 50_000;

/// Waits until PID 1 of the container, known to the kernel as `pid1`, dials a socket in `dir`.
///
/// The kernel's word on the peer is the only proof (design §3): any process in the container can see the socket.
/// The socket is gone when this returns, so nobody can dial it later.
pub(super) async fn meet(dir: &Path, pid1: i32, within: Duration) -> Result<UnixStream, LinkError> {
    let offer = Offer::new(dir)?;
    let mut strangers = 0;
    let accept = async {
        loop {
            let (stream, _) = offer.listener.accept().await.map_err(offer.failed("accept"))?;
            let peer = stream.peer_cred().map_err(offer.failed("read the peer of"))?;
            match peer.pid() {
                Some(pid) if pid == pid1 => return Ok(stream),
                Some(0) | None => return Err(LinkError::Unproven { dir: dir.to_owned() }),
                Some(pid) => {
                    strangers += 1;
                    if strangers == 1 {
                        // Said once: the sandbox must not be able to fill the log.
                        tracing::warn!(
                            pid,
                            pid1,
                            "a process that is not PID 1 of the sandbox dialled; refused"
                        );
                    }
                    if strangers > MAX_STRANGERS {
                        return Err(LinkError::Flooded { strangers });
                    }
                }
            }
        }
    };
    match tokio::time::timeout(within, accept).await {
        Ok(result) => result,
        Err(_) => Err(LinkError::NoAnswer { dir: dir.to_owned(), after: within }),
    }
}

/// A listening socket in the rendezvous directory; removed on drop.
struct Offer {
    listener: UnixListener,
    path: PathBuf,
}

impl Offer {
    /// Binds under another name and renames when it listens, so that init never dials too early. The address goes
    /// through a descriptor of the directory: socket addresses are at most 108 bytes, state directories are not.
    fn new(dir: &Path) -> Result<Self, LinkError> {
        let fail = |action, path: &Path| {
            let path = path.to_owned();
            move |source| LinkError::Rendezvous { path, action, source }
        };
        let nonce = crate::state::random_hex::<8>().map_err(fail("draw a name in", dir))?;
        let handle = std::fs::File::open(dir).map_err(fail("open", dir))?;
        let short = format!("/proc/self/fd/{}/.h-{nonce}", std::os::fd::AsRawFd::as_raw_fd(&handle));
        let (draft, path) = (dir.join(format!(".h-{nonce}")), dir.join(format!("h-{nonce}.sock")));
        let listener = UnixListener::bind(&short).map_err(fail("bind a socket in", dir))?;
        let placed = std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o666))
            .and_then(|()| std::fs::rename(&draft, &path));
        if let Err(source) = placed {
            let _ = std::fs::remove_file(&draft);
            return Err(fail("place a socket in", dir)(source));
        }
        Ok(Self { listener, path })
    }

    fn failed(&self, action: &'static str) -> impl Fn(std::io::Error) -> LinkError {
        let path = self.path.clone();
        move |source| LinkError::Rendezvous { path: path.clone(), action, source }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
