//! Waits until a wish, a place or the socket changes. Events are only looked at as "something changed": what holds is then read from
//! the files, so that none that was lost matters for longer than the next look.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

/// How often is looked where the kernel does not tell: each user has so many watches only.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches the directory of the places and that of the wishes.
#[derive(Debug)]
pub(super) struct Wake {
    /// None where the user has no watch left.
    fd: Option<AsyncFd<OwnedFd>>,
}

impl Wake {
    /// Begins to watch.
    pub(super) fn new(places: &Path, wishes: &Path) -> std::io::Result<Self> {
        let Some(fd) = watch()? else { return Ok(Self { fd: None }) };
        inotify::add_watch(&fd, places, WatchFlags::DELETE | WatchFlags::MOVED_TO)?;
        inotify::add_watch(&fd, wishes, WatchFlags::DELETE | WatchFlags::MOVED_TO | WatchFlags::ATTRIB)?;
        Ok(Self { fd: Some(crate::sys::watch(fd)?) })
    }

    /// Begins to watch a directory for files that are put in place there.
    pub(super) fn appearing(dir: &Path) -> std::io::Result<Self> {
        let Some(fd) = watch()? else { return Ok(Self { fd: None }) };
        inotify::add_watch(&fd, dir, WatchFlags::MOVED_TO)?;
        Ok(Self { fd: Some(crate::sys::watch(fd)?) })
    }

    /// Returns when something changed since the last return, or may have.
    pub(super) async fn changed(&self) -> std::io::Result<()> {
        let Some(watch) = &self.fd else {
            tokio::time::sleep(LOOK_EVERY).await;
            return Ok(());
        };
        loop {
            let mut ready = watch.readable().await?;
            let mut events = [0_u8; 4096];
            match ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut events)?)) {
                Ok(read) => return read.map(drop),
                Err(_would_block) => {}
            }
        }
    }
}

/// A watch, or none where the user has used up all that are allowed.
fn watch() -> std::io::Result<Option<OwnedFd>> {
    use rustix::io::Errno;
    match inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
