//! Waits until a wish, a place or the socket changes. Events are only looked at as "something changed": what holds is then read from
//! the files, so that none that was lost matters for longer than the next look.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

/// Watches the directory of the places and that of the wishes.
#[derive(Debug)]
pub(super) struct Wake {
    fd: AsyncFd<OwnedFd>,
}

impl Wake {
    /// Begins to watch.
    pub(super) fn new(places: &Path, wishes: &Path) -> std::io::Result<Self> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&fd, places, WatchFlags::DELETE | WatchFlags::MOVED_TO)?;
        inotify::add_watch(&fd, wishes, WatchFlags::DELETE | WatchFlags::MOVED_TO | WatchFlags::ATTRIB)?;
        Ok(Self { fd: crate::sys::watch(fd)? })
    }

    /// Begins to watch a directory for files that are put in place there.
    pub(super) fn appearing(dir: &Path) -> std::io::Result<Self> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&fd, dir, WatchFlags::MOVED_TO)?;
        Ok(Self { fd: crate::sys::watch(fd)? })
    }

    /// Returns when something changed since the last return.
    pub(super) async fn changed(&self) -> std::io::Result<()> {
        loop {
            let mut ready = self.fd.readable().await?;
            let mut events = [0_u8; 4096];
            match ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut events)?)) {
                Ok(read) => return read.map(drop),
                Err(_would_block) => {}
            }
        }
    }
}
