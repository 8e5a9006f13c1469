//! Where hosts are met: a directory of the host, mounted read-only, in which each puts a socket of its own.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::host::Host;
use super::tree::Reach;

/// How long a socket whose queue is full is dialled again, and how often.
const RETRY_FOR: Duration = Duration::from_secs(5);
const RETRY_EVERY: Duration = Duration::from_millis(2);
/// Sockets that wait to be dialled again; more are a host that has gone mad.
const MAX_WAITING: usize = 64;

/// The rendezvous directory.
#[derive(Debug)]
pub(super) struct Meet {
    dir: PathBuf,
    watch: Inotify,
    waiting: Vec<(PathBuf, Instant)>,
    next: Instant,
    reach: Reach,
}

impl Meet {
    /// Watches `dir`; [`Self::arrivals`] also finds what is there already.
    pub(super) fn open(dir: &Path, reach: Reach) -> nix::Result<Self> {
        let watch = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        watch.add_watch(dir, AddWatchFlags::IN_MOVED_TO)?;
        let now = Instant::now();
        let mut meet = Self { dir: dir.to_owned(), watch, waiting: Vec::new(), next: now, reach };
        if let Ok(entries) = std::fs::read_dir(dir) {
            for entry in entries.flatten() {
                meet.add(&entry.file_name(), now);
            }
        }
        Ok(meet)
    }

    fn add(&mut self, name: &std::ffi::OsStr, now: Instant) {
        if is_host_socket(&name.to_string_lossy()) && self.waiting.len() < MAX_WAITING {
            self.waiting.push((self.dir.join(name), now + RETRY_FOR));
        }
    }

    /// Dials every new socket and returns those that answered.
    pub(super) fn arrivals(&mut self, now: Instant) -> Vec<Host> {
        while let Ok(events) = self.watch.read_events() {
            for name in events.into_iter().filter_map(|event| event.name) {
                self.add(&name, now);
            }
        }
        let (mut hosts, mut again) = (Vec::new(), Vec::new());
        for (path, until) in std::mem::take(&mut self.waiting) {
            match Host::dial(&path, self.reach) {
                Ok(host) => hosts.push(host),
                // A full queue: somebody floods the socket, or the host is slow.
                Err(Errno::EAGAIN) if now < until => again.push((path, until)),
                Err(_) => {}
            }
        }
        self.waiting = again;
        self.next = now + RETRY_EVERY;
        hosts
    }

    /// Whether the directory was removed. One that was renamed is still there.
    pub(super) fn is_gone(&self) -> bool {
        nix::sys::stat::stat(&self.dir).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// When to call [`Self::arrivals`] though the directory says nothing.
    pub(super) fn next_try(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }
}

impl AsFd for Meet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

/// `h-`, hex digits, `.sock`.
pub(super) fn is_host_socket(name: &str) -> bool {
    name.strip_prefix("h-")
        .and_then(|rest| rest.strip_suffix(".sock"))
        .is_some_and(|nonce| !nonce.is_empty() && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::is_host_socket;

    #[test]
    fn only_finished_sockets_are_dialled() {
        assert!(is_host_socket("h-00ff.sock"));
        for name in ["h-.sock", "h-00ff.sock.new", "x-00.sock", "h-../a.sock", "h-00ff"] {
            assert!(!is_host_socket(name), "{name}");
        }
    }
}
