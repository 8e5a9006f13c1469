//! The process between PID 1 and a command: session leader and subreaper, so that every descendant stays below it.
//!
//! It dies with the command. It holds nothing but the socket to PID 1; the pipes are PID 1's.

use std::ffi::{CStr, CString};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::unistd::{Pid, getpid};

use super::notice::{Notice, Order};
use super::tree;
use crate::sys::{self, Reaped, SpawnPlan, SpawnStage, Usage};

/// How often a tree that is being killed is looked at again.
const SWEEP: Duration = Duration::from_millis(5);
/// After this long without an empty tree the supervisor reports that it could not prove the end.
const GIVE_UP: Duration = Duration::from_secs(5);

/// A command of this many bytes is handed to a waiting supervisor; a larger one gets a supervisor of its own.
const MAX_WORK: usize = 64 * 1024;
/// A command that has ended by then is not announced before its end.
const ANNOUNCE_AFTER: Duration = Duration::from_millis(2);

/// A command in the form that the kernel wants, made before the fork.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// Paths to try.
    pub(super) candidates: Vec<CString>,
    /// Arguments.
    pub(super) argv: Vec<CString>,
    /// Environment.
    pub(super) env: Vec<CString>,
    /// Working directory.
    pub(super) cwd: CString,
    /// The first of the three descriptors is a terminal.
    pub(super) terminal: bool,
}

/// A command and its three descriptors.
pub(super) type Work = (Prepared, [OwnedFd; 3]);

impl Prepared {
    /// Hands the command and its descriptors to a waiting supervisor. False when it is too large or nobody waits.
    pub(super) fn hand_over(&self, stdio: &[OwnedFd; 3], socket: BorrowedFd<'_>) -> bool {
        let packet = self.pack();
        if packet.len() > MAX_WORK {
            return false;
        }
        let fds = stdio.each_ref().map(AsRawFd::as_raw_fd);
        let rights = [ControlMessage::ScmRights(&fds)];
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        let sent = sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(&packet)], &rights, flags, None);
        sent.is_ok_and(|count| count == packet.len())
    }

    /// A line of counts, then every text with its NUL.
    fn pack(&self) -> Vec<u8> {
        let counts = [self.candidates.len(), self.argv.len(), usize::from(self.terminal)];
        let mut packet: Vec<u8> = counts.into_iter().flat_map(|count| (count as u64).to_le_bytes()).collect();
        let texts = self.candidates.iter().chain(&self.argv).chain([&self.cwd]).chain(&self.env);
        for text in texts {
            packet.extend_from_slice(text.as_bytes_with_nul());
        }
        packet
    }

    fn unpack(packet: &[u8]) -> Option<Self> {
        let (head, texts) = packet.split_at_checked(24)?;
        let mut counts =
            head.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        let (candidates, argv, terminal) = (counts.next()?, counts.next()?, counts.next()?);
        let mut texts =
            texts.split_inclusive(|byte| *byte == 0).filter_map(|text| CStr::from_bytes_with_nul(text).ok());
        let mut take = |count: u64| -> Vec<CString> {
            texts.by_ref().take(usize::try_from(count).unwrap_or(0)).map(CStr::to_owned).collect()
        };
        let (candidates, argv, cwd) = (take(candidates), take(argv), take(1).pop()?);
        let env = take(u64::MAX);
        Some(Self { candidates, argv, env, cwd, terminal: terminal == 1 })
    }
}

/// Waits for a command from PID 1; `None` when PID 1 has no use for this supervisor any more.
fn await_work(socket: BorrowedFd<'_>) -> Option<Work> {
    let mut buffer = sys::AnonMap::new(MAX_WORK).ok()?;
    let mut rights = nix::cmsg_space!([std::os::fd::RawFd; 3]);
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut rights), flags).ok()?;
    let count = message.bytes;
    let fds = message.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::ScmRights(fds) => Some(fds),
        _ => None,
    })?;
    let stdio: Vec<OwnedFd> = fds.into_iter().map(sys::adopt).collect();
    Some((Prepared::unpack(buffer.get(..count)?)?, stdio.try_into().ok()?))
}

/// Runs the supervisor in the forked copy of PID 1 and ends it. Never returns.
///
/// With `work` it starts that at once; without, it is a spare that waits for [`Prepared::hand_over`], so that the
/// fork and the set-up are done before a command comes.
pub(super) fn supervise(work: Option<Work>, socket: &OwnedFd) -> ! {
    let mut keep = vec![socket.as_raw_fd()];
    keep.extend(work.iter().flat_map(|(_, stdio)| stdio.each_ref().map(AsRawFd::as_raw_fd)));
    sys::close_all_except(&keep);
    let _ = nix::unistd::setsid();
    let subreaper = nix::sys::prctl::set_child_subreaper(true);
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    // Without the descriptor the loop still works, by its timer.
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).ok();
    let Some((prepared, stdio)) = work.or_else(|| await_work(socket.as_fd())) else { sys::exit_now(0) };
    if let Err(errno) = subreaper {
        // Without it a double fork would escape the kill: no command rather than one that cannot be ended.
        Notice::Failed(SpawnStage::Setup as i32, errno as i32).send(socket.as_fd());
        sys::exit_now(1);
    }
    let plan = SpawnPlan {
        candidates: &prepared.candidates,
        argv: &prepared.argv,
        env: &prepared.env,
        cwd: Some(&prepared.cwd),
        stdio: stdio.each_ref().map(OwnedFd::as_fd),
        terminal: prepared.terminal,
    };
    let started = sys::spawn(&plan);
    // The pipes' other ends are PID 1's; a copy here would keep them from ever ending.
    drop(stdio);
    match started {
        Ok(pid) => Supervisor::new(socket.as_fd(), pid, signals).run(),
        Err(failure) => Notice::Failed(failure.stage as i32, failure.errno as i32).send(socket.as_fd()),
    }
    sys::exit_now(0)
}

struct Supervisor<'a> {
    socket: BorrowedFd<'a>,
    signals: Option<SignalFd>,
    main: Pid,
    announce_at: Option<Instant>,
    main_ended: bool,
    usage: Usage,
    ending: Option<Ending>,
    termed: u32,
    killed: u32,
}

/// The tree is being ended.
struct Ending {
    kill_at: Instant,
    give_up_at: Instant,
}

impl<'a> Supervisor<'a> {
    fn new(socket: BorrowedFd<'a>, main: Pid, signals: Option<SignalFd>) -> Self {
        Self {
            socket,
            signals,
            main,
            announce_at: Some(Instant::now() + ANNOUNCE_AFTER),
            main_ended: false,
            usage: Usage::default(),
            ending: None,
            termed: 0,
            killed: 0,
        }
    }

    fn run(mut self) {
        while !self.reap() {
            let mut fds = vec![PollFd::new(self.socket, PollFlags::POLLIN)];
            fds.extend(self.signals.as_ref().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
            let _ = poll(&mut fds, self.wait());
            if let Some(signals) = &self.signals {
                let _ = signals.read_signal();
            }
            self.announce();
            self.orders();
            if self.sweep() {
                return self.done(false);
            }
        }
    }

    /// Tells PID 1 which process the command is. One that ends at once is not worth the wake-up.
    fn announce(&mut self) {
        if self.announce_at.is_some_and(|at| Instant::now() >= at) {
            self.announce_at = None;
            Notice::Spawned(self.main.as_raw()).send(self.socket);
        }
    }

    fn wait(&self) -> PollTimeout {
        let until = |at: Instant| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let announce = self.announce_at.map(until);
        let kill = self.ending.as_ref().map(|ending| until(ending.kill_at).max(SWEEP));
        let blind = self.signals.is_none().then_some(SWEEP);
        let Some(wait) = [announce, kill, blind].into_iter().flatten().min() else {
            return PollTimeout::NONE;
        };
        PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)
    }

    /// Takes every child that ended. True when there is none left and the last word has been said.
    fn reap(&mut self) -> bool {
        let mut main_status = None;
        let empty = loop {
            match sys::reap(false) {
                Ok(Reaped::Ended(pid, status, usage)) => {
                    self.usage.add(usage);
                    if pid == self.main && !self.main_ended {
                        self.main_ended = true;
                        main_status = Some(status);
                    }
                }
                Ok(Reaped::NoChildren) => break true,
                Ok(Reaped::Nothing | Reaped::Stopped(_)) | Err(_) => break false,
            }
        };
        if let Some(status) = main_status {
            let leftovers = if empty { 0 } else { count(&living()).max(1) };
            Notice::Ended { status, leftovers, usage: self.usage }.send(self.socket);
        }
        if empty {
            self.done(true);
        }
        empty
    }

    fn done(&self, proven: bool) {
        Notice::Done { usage: self.usage, termed: self.termed, killed: self.killed, proven }
            .send(self.socket);
    }

    fn orders(&mut self) {
        loop {
            match Order::receive(self.socket) {
                Ok(Some(Order::Signal(signal))) => {
                    signal_all(signal);
                }
                Ok(Some(Order::Kill(grace_ms))) => self.end(Duration::from_millis(u64::from(grace_ms))),
                Ok(None) => return,
                // PID 1 is gone: nobody is left to answer to, so nothing may be left running either.
                Err(_) => return self.end(Duration::ZERO),
            }
        }
    }

    fn end(&mut self, grace: Duration) {
        if let Some(ending) = &mut self.ending {
            ending.kill_at = ending.kill_at.min(Instant::now() + grace);
            return;
        }
        if grace > Duration::ZERO {
            self.termed = signal_all(Signal::SIGTERM as i32);
            // What is stopped cannot act on TERM.
            signal_all(Signal::SIGCONT as i32);
        }
        let kill_at = Instant::now() + grace;
        self.ending = Some(Ending { kill_at, give_up_at: kill_at + GIVE_UP });
    }

    /// One round of killing where it is due. True when it has been tried for long enough.
    fn sweep(&mut self) -> bool {
        let Some(ending) = &self.ending else { return false };
        let now = Instant::now();
        if now < ending.kill_at {
            return false;
        }
        let give_up = now >= ending.give_up_at;
        let victims = freeze();
        for pid in &victims {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        self.killed = self.killed.max(count(&victims));
        give_up
    }
}

/// The living processes of the command.
fn living() -> Vec<Pid> {
    tree::descendants(&tree::all(), getpid())
}

/// Sends a signal to all of them and returns how many there were. One that has just ended is no error.
fn signal_all(signal: i32) -> u32 {
    let living = living();
    if let Ok(signal) = Signal::try_from(signal) {
        for pid in &living {
            let _ = kill(*pid, signal);
        }
    }
    count(&living)
}

/// Stops everything first, until a look finds nothing new: a tree that forks faster than it is killed would
/// otherwise never end. What is stopped does not fork.
fn freeze() -> Vec<Pid> {
    let mut stopped: Vec<Pid> = Vec::new();
    for _ in 0..64 {
        let fresh: Vec<Pid> = living().into_iter().filter(|pid| !stopped.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for pid in &fresh {
            let _ = kill(*pid, Signal::SIGSTOP);
        }
        stopped.extend(fresh);
    }
    stopped
}

fn count(pids: &[Pid]) -> u32 {
    u32::try_from(pids.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_survives_the_socket() {
        let text = |text: &str| CString::new(text).unwrap();
        let work = Prepared {
            candidates: vec![text("/bin/sh"), text("/usr/bin/sh")],
            argv: vec![text("sh"), text(""), text("a b")],
            env: vec![text("A=1"), text("B=")],
            cwd: text("/workspace"),
            terminal: true,
        };
        assert_eq!(Prepared::unpack(&work.pack()), Some(work));
        assert_eq!(Prepared::unpack(b"short"), None);
    }
}
