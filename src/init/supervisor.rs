//! The process between PID 1 and a command: session leader and subreaper, so that every descendant stays below it.
//!
//! It dies with the command. It holds nothing but the socket to PID 1; the pipes are PID 1's.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpid};

use super::notice::{Notice, Order};
use super::tree;
use crate::sys::{self, Reaped, SpawnPlan, SpawnStage, Usage};

/// How often a tree that is being killed is looked at again.
const SWEEP: Duration = Duration::from_millis(5);
/// After this long without an empty tree the supervisor reports that it could not prove the end.
const GIVE_UP: Duration = Duration::from_secs(5);

/// A command in the form that the kernel wants, made before the fork.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Paths to try.
    pub(super) candidates: Vec<CString>,
    /// Arguments.
    pub(super) argv: Vec<CString>,
    /// Environment.
    pub(super) env: Vec<CString>,
    /// Working directory.
    pub(super) cwd: Option<CString>,
    /// The first of the three descriptors is a terminal.
    pub(super) terminal: bool,
}

/// Runs the supervisor in the forked copy of PID 1 and ends it. Never returns.
pub(super) fn supervise(prepared: &Prepared, stdio: &[OwnedFd; 3], socket: &OwnedFd) -> ! {
    let [input, output, error] = stdio.each_ref().map(std::os::fd::AsRawFd::as_raw_fd);
    sys::close_all_except(&[input, output, error, socket.as_raw_fd()]);
    let _ = nix::unistd::setsid();
    if let Err(errno) = nix::sys::prctl::set_child_subreaper(true) {
        // Without it a double fork would escape the kill: no command rather than one that cannot be ended.
        Notice::Failed(SpawnStage::Setup as i32, errno as i32).send(socket.as_fd());
        sys::exit_now(1);
    }
    let plan = SpawnPlan {
        candidates: &prepared.candidates,
        argv: &prepared.argv,
        env: &prepared.env,
        cwd: prepared.cwd.as_deref().map(|dir: &CStr| dir),
        stdio: stdio.each_ref().map(|fd| fd.as_fd()),
        terminal: prepared.terminal,
    };
    match sys::spawn(&plan) {
        Ok(pid) => {
            // The pipes' other ends are PID 1's; a copy here would keep them from ever ending.
            sys::close_all_except(&[socket.as_raw_fd()]);
            Supervisor::new(socket.as_fd(), pid).run();
        }
        Err(failure) => Notice::Failed(failure.stage as i32, failure.errno as i32).send(socket.as_fd()),
    }
    sys::exit_now(0)
}

struct Supervisor<'a> {
    socket: BorrowedFd<'a>,
    main: Pid,
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
    fn new(socket: BorrowedFd<'a>, main: Pid) -> Self {
        Notice::Spawned(main.as_raw()).send(socket);
        Self { socket, main, main_ended: false, usage: Usage::default(), ending: None, termed: 0, killed: 0 }
    }

    fn run(mut self) {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        // Without the descriptor the loop still works, by its timer.
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).ok();
        while !self.reap() {
            let mut fds = vec![PollFd::new(self.socket, PollFlags::POLLIN)];
            fds.extend(signals.as_ref().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
            let _ = poll(&mut fds, self.wait(signals.is_some()));
            if let Some(signals) = &signals {
                while matches!(signals.read_signal(), Ok(Some(_))) {}
            }
            self.orders();
            if self.sweep() {
                return self.done(false);
            }
        }
    }

    fn wait(&self, signalled: bool) -> PollTimeout {
        let wait = match &self.ending {
            None if signalled => return PollTimeout::NONE,
            None => SWEEP,
            Some(ending) => ending.kill_at.saturating_duration_since(Instant::now()).max(SWEEP),
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
