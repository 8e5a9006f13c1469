//! Where hosts are met: a directory of the host, mounted read-only, in which each puts a socket of its own.

use std::ffi::OsString;
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
/// How often the directory is looked at where the kernel does not tell of changes: each user has so many watches only,
/// and beside the gateway every command needs one.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Sockets that wait to be dialled again; more are a host that has gone mad.
const MAX_WAITING: usize = 64;

/// The rendezvous directory.
#[derive(Debug)]
pub(super) struct Meet {
    dir: PathBuf,
    /// None where the user has no watch left.
    watch: Option<Inotify>,
    /// Without a watch: what has been dialled and is still there.
    dialled: Vec<OsString>,
    waiting: Vec<(PathBuf, Instant)>,
    next: Instant,
    reach: Reach,
}

impl Meet {
    /// Watches `dir`; [`Self::arrivals`] also finds what is there already.
    pub(super) fn open(dir: &Path, reach: Reach) -> nix::Result<Self> {
        let watch = match Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK) {
            Ok(watch) => Some(watch),
            Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM) => None,
            Err(error) => return Err(error),
        };
        if let Some(watch) = &watch {
            watch.add_watch(dir, AddWatchFlags::IN_MOVED_TO)?;
        }
        let (now, dir) = (Instant::now(), dir.to_owned());
        let (dialled, waiting) = (Vec::new(), Vec::new());
        let mut meet = Self { dir, watch, dialled, waiting, next: now, reach };
        meet.look(now);
        Ok(meet)
    }

    /// Takes in what is in the directory and was not dialled before.
    fn look(&mut self, now: Instant) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        self.dialled.retain(|known| names.contains(known));
        for name in names {
            if !self.dialled.contains(&name) {
                self.add(&name, now);
            }
        }
    }

    fn add(&mut self, name: &std::ffi::OsStr, now: Instant) {
        if is_host_socket(&name.to_string_lossy()) && self.waiting.len() < MAX_WAITING {
            self.waiting.push((self.dir.join(name), now + RETRY_FOR));
            if self.watch.is_none() {
                self.dialled.push(name.to_owned());
            }
        }
    }

    /// Dials every new socket and returns those that answered.
    pub(super) fn arrivals(&mut self, now: Instant) -> Vec<Host> {
        while let Some(Ok(events)) = self.watch.as_ref().map(Inotify::read_events) {
            for name in events.into_iter().filter_map(|event| event.name) {
                self.add(&name, now);
            }
        }
        if self.watch.is_none() && now >= self.next {
            self.look(now);
            self.next = now + LOOK_EVERY;
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
        if !self.waiting.is_empty() {
            self.next = now + RETRY_EVERY;
        }
        hosts
    }

    /// What tells of arrivals; without it [`Self::next_try`] does.
    pub(super) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Whether the directory was removed. One that was renamed is still there.
    pub(super) fn is_gone(&self) -> bool {
        nix::sys::stat::stat(&self.dir).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// When to call [`Self::arrivals`] though the directory says nothing.
    pub(super) fn next_try(&self) -> Option<Instant> {
        (self.watch.is_none() || !self.waiting.is_empty()).then_some(self.next)
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
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn without_a_watch_every_socket_is_found_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let now = Instant::now();
        let mut meet = Meet {
            dir: path.clone(),
            watch: None,
            dialled: vec![],
            waiting: vec![],
            next: now,
            reach: Reach::Below,
        };
        assert!(meet.arrivals(now).is_empty() && meet.watch().is_none());
        let socket = path.join("h-01.sock");
        let bind = || {
            let listener = UnixListener::bind(&socket).unwrap();
            listener.set_nonblocking(true).unwrap();
            listener
        };
        let mut look = |listener: &UnixListener, early: bool| {
            let at = meet.next_try().unwrap();
            meet.arrivals(if early { now } else { at });
            // This process is no host, and refused; it was dialled all the same.
            listener.accept().is_ok()
        };
        let listener = bind();
        let dialled = [true, false, false].map(|early| look(&listener, early));
        assert_eq!(dialled, [false, true, false], "not before its time, then once");
        std::fs::remove_file(&socket).unwrap();
        look(&listener, false);
        assert!(look(&bind(), false), "another one of the same name");
    }

    #[test]
    fn only_finished_sockets_are_dialled() {
        assert!(is_host_socket("h-00ff.sock"));
        for name in ["h-.sock", "h-00ff.sock.new", "x-00.sock", "h-../a.sock", "h-00ff"] {
            assert!(!is_host_socket(name), "{name}");
        }
    }
}
