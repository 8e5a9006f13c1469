//! The process between PID 1 and a command: session leader and subreaper, so that every descendant stays below it.
//!
//! It has one command at a time, and a next one only when nothing of the last is left. It holds nothing but the
//! socket to PID 1; the pipes are PID 1's.

use std::io::IoSliceMut;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::unistd::Pid;

use super::notice::{Notice, Order};
use super::packet::{MAX_PACKET, Packet, View};
use super::pins;
use super::tree::Reach;
use super::watch::{Used, Watch};
use crate::sys::{self, Reaped, SpawnFailure, SpawnPlan, SpawnStage, Usage};

/// How often a tree that is being killed is looked at again.
const SWEEP: Duration = Duration::from_millis(5);
/// After this long without an empty tree the supervisor reports that it could not prove the end.
const GIVE_UP: Duration = Duration::from_secs(5);

/// A command that has ended by then is not announced before its end.
const ANNOUNCE_AFTER: Duration = Duration::from_millis(10);

/// A command and its three descriptors.
pub(super) type Work = (Packet, [OwnedFd; 3]);

/// The command's process and the limits to watch.
type Started = Result<(Pid, [u64; 3]), SpawnFailure>;

fn start(packet: &[u8], stdio: &[OwnedFd; 3]) -> Option<Started> {
    let view = View::of(packet)?;
    let limits = view.limits;
    let [memory, ..] = limits;
    let held = match pins::hold(view.pins()) {
        Ok(held) => held,
        Err(failure) => return Some(Err(failure)),
    };
    let started = sys::spawn(&SpawnPlan {
        candidates: view.candidates(),
        argv: view.argv(),
        env: view.env(),
        cwd: view.cwd(),
        cwd_fd: held.cwd.as_ref().map(OwnedFd::as_fd),
        program: held.program.as_ref().map(OwnedFd::as_fd),
        stdio: stdio.each_ref().map(OwnedFd::as_fd),
        terminal: view.terminal,
        expendable: view.expendable,
        data_bytes: memory,
        doors: view.doors(),
    });
    Some(started.map(|pid| (pid, limits)))
}

/// Waits for a command from PID 1 and starts it; `None` when PID 1 has no use for this supervisor any more.
fn start_next(socket: BorrowedFd<'_>) -> Option<Started> {
    let mut buffer = sys::AnonMap::new(MAX_PACKET).ok()?;
    loop {
        let mut rights = nix::cmsg_space!([RawFd; 3]);
        let mut slices = [IoSliceMut::new(&mut buffer)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut rights), flags).ok()?;
        let count = message.bytes;
        let fds = message.cmsgs().ok()?.find_map(|message| match message {
            ControlMessageOwned::ScmRights(fds) => Some(fds),
            _ => None,
        });
        match fds {
            Some(fds) => {
                // The pipes' other ends are PID 1's; a copy left here would keep them from ever ending.
                let fds: [RawFd; 3] = fds.try_into().ok()?;
                return start(buffer.get(..count)?, &fds.map(sys::adopt));
            }
            None if count == 0 => return None,
            // An order for the last command that crossed with the news of its end.
            None => {}
        }
    }
}

/// Runs the supervisor in the forked copy of PID 1 and ends it. Never returns.
///
/// With `work` it starts that at once; without, it is a spare that waits for [`Packet::hand_over`], so that the
/// fork and the set-up are done before a command comes. When a command has ended with all its descendants it waits
/// for the next: nothing of the one is left that the other could meet.
pub(super) fn supervise(work: Option<Work>, socket: &OwnedFd, reach: Reach) -> ! {
    let own = socket.as_raw_fd();
    let [input, output, error] =
        work.as_ref().map_or([own; 3], |(_, stdio)| stdio.each_ref().map(AsRawFd::as_raw_fd));
    sys::close_all_except([own, input, output, error]);
    let socket = socket.as_fd();
    let _ = nix::unistd::setsid();
    if let Err(errno) = nix::sys::prctl::set_child_subreaper(true) {
        // Without it a double fork would escape the kill: no command rather than one that cannot be ended.
        Notice::Failed(SpawnStage::Setup as i32, errno as i32).send(socket);
        sys::exit_now(1);
    }
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    // Without the descriptor the loop still works, by its timer.
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).ok();
    let mut first = work.and_then(|(packet, stdio)| start(packet.bytes(), &stdio));
    while let Some(started) = first.take().or_else(|| start_next(socket)) {
        let goes_on = match started {
            Ok((pid, limits)) => {
                let mut supervisor = Supervisor::new(socket, pid, signals.as_ref(), reach);
                supervisor.watch = Watch::new(limits, Instant::now());
                supervisor.run()
            }
            Err(failure) => {
                Notice::Failed(failure.stage as i32, failure.errno as i32).send(socket);
                false
            }
        };
        if !goes_on {
            break;
        }
    }
    sys::exit_now(0)
}

struct Supervisor<'a> {
    socket: BorrowedFd<'a>,
    signals: Option<&'a SignalFd>,
    reach: Reach,
    watch: Option<Watch>,
    main: Pid,
    announce_at: Option<Instant>,
    main_ended: bool,
    usage: Usage,
    ending: Option<Ending>,
    termed: u32,
    killed: u32,
}

/// What is left of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Processes.
    Some,
    /// Nothing, since the end of its own process.
    Nothing,
    /// Nothing any more; the end of its own process had been reported before.
    Reported,
}

/// The tree is being ended.
struct Ending {
    kill_at: Instant,
    give_up_at: Instant,
}

impl<'a> Supervisor<'a> {
    fn new(socket: BorrowedFd<'a>, main: Pid, signals: Option<&'a SignalFd>, reach: Reach) -> Self {
        Self {
            socket,
            signals,
            reach,
            watch: None,
            main,
            announce_at: Some(Instant::now() + ANNOUNCE_AFTER),
            main_ended: false,
            usage: Usage::default(),
            ending: None,
            termed: 0,
            killed: 0,
        }
    }

    /// True when it ended without a rest and can make room for the next.
    fn run(mut self) -> bool {
        loop {
            match self.reap() {
                Left::Nothing => return true,
                Left::Reported => return false,
                Left::Some => {}
            }
            let signals = self.signals.map_or(self.socket, |signals| signals.as_fd());
            let mut fds = [self.socket, signals].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let _ = poll(&mut fds, self.wait());
            if let Some(signals) = self.signals {
                let _ = signals.read_signal();
            }
            self.announce();
            self.look();
            self.orders();
            if self.sweep() {
                self.done(false);
                return false;
            }
        }
    }

    /// Tells PID 1 which process the command is. One that ends at once is not worth the wake-up.
    fn announce(&mut self) {
        if self.announce_at.is_some_and(|at| Instant::now() >= at) {
            self.announce_at = None;
            Notice::Spawned(self.main.as_raw()).send(self.socket);
            // The command may run for hours, and its text and environment are not needed any more.
            sys::trim_heap();
        }
    }

    /// Looks at what the command uses, where that is limited. A limit that is passed is said once.
    fn look(&mut self) {
        let now = Instant::now();
        let Some(watch) = self.watch.as_mut().filter(|watch| now >= watch.next()) else { return };
        if let Some(cause) = watch.look(Used::of(&self.reach.family(), self.usage), now) {
            self.watch = None;
            Notice::Over(cause).send(self.socket);
        }
    }

    fn wait(&self) -> PollTimeout {
        let until = |at: Instant| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let announce = self.announce_at.map(until);
        let kill = self.ending.as_ref().map(|ending| until(ending.kill_at).max(SWEEP));
        let watch = self.watch.as_ref().map(|watch| until(watch.next()));
        let blind = self.signals.is_none().then_some(SWEEP);
        let Some(wait) = [announce, kill, blind, watch].into_iter().flatten().min() else {
            return PollTimeout::NONE;
        };
        PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)
    }

    /// Takes every child that ended, and says the last word when there is none left.
    fn reap(&mut self) -> Left {
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
        match (main_status, empty) {
            (Some(status), true) => {
                let (usage, termed, killed) = (self.usage, self.termed, self.killed);
                Notice::Last { status, usage, termed, killed }.send(self.socket);
                return Left::Nothing;
            }
            (Some(status), false) => {
                let leftovers = count(&self.reach.living()).max(1);
                Notice::Ended { status, leftovers, usage: self.usage }.send(self.socket);
            }
            (None, true) => {
                self.done(true);
                return Left::Reported;
            }
            (None, false) => {}
        }
        Left::Some
    }

    fn done(&self, proven: bool) {
        Notice::Done { usage: self.usage, termed: self.termed, killed: self.killed, proven }
            .send(self.socket);
    }

    fn orders(&mut self) {
        loop {
            match Order::receive(self.socket) {
                Ok(Some(Order::Signal(signal))) => {
                    self.signal_all(signal);
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
            self.termed = self.signal_all(Signal::SIGTERM as i32);
            // What is stopped cannot act on TERM.
            self.signal_all(Signal::SIGCONT as i32);
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
        let victims = self.freeze();
        for pid in &victims {
            self.reach.signal(*pid, Signal::SIGKILL);
        }
        self.killed = self.killed.max(count(&victims));
        give_up
    }

    /// Sends a signal to everything that lives below and returns how many there were. One that has just ended is no
    /// error.
    fn signal_all(&self, signal: i32) -> u32 {
        let living = self.reach.living();
        if let Ok(signal) = Signal::try_from(signal) {
            for pid in &living {
                self.reach.signal(*pid, signal);
            }
        }
        count(&living)
    }

    /// Stops everything first, until a look finds nothing new: a tree that forks faster than it is killed would
    /// otherwise never end. What is stopped does not fork.
    fn freeze(&self) -> Vec<Pid> {
        let mut stopped: Vec<Pid> = Vec::new();
        for _ in 0..64 {
            let fresh: Vec<Pid> =
                self.reach.living().into_iter().filter(|pid| !stopped.contains(pid)).collect();
            if fresh.is_empty() {
                break;
            }
            for pid in &fresh {
                self.reach.signal(*pid, Signal::SIGSTOP);
            }
            stopped.extend(fresh);
        }
        stopped
    }
}

fn count(pids: &[Pid]) -> u32 {
    u32::try_from(pids.len()).unwrap_or(u32::MAX)
}
