//! The event loop of PID 1, and of the supervisor beside the gateway.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use super::cgroup::Gauges;
use super::command::{After, Command};
use super::host::Host;
use super::meet::Meet;
use super::nonce::Secret;
use super::notice::Order;
use super::role::Role;
use super::spares::Spares;
use super::tree::Reach;
use crate::sys::AnonMap;
use crate::wire::CommandId;

/// Bytes read at once from a host.
const SCRATCH: usize = 64 * 1024;
/// Connections at a time; a host uses one.
const MAX_HOSTS: usize = 64;
/// Finished commands whose results nobody has taken over: so many.
pub(super) const MAX_FINISHED: usize = 256;
/// Between two looks whether a rendezvous without hosts is still there.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// From the engine's stop signal to the end: time for TERM and KILL, well within the engine's ten seconds.
const STOP_GRACE_MS: u32 = 2000;
const STOP_LIMIT: Duration = Duration::from_secs(4);

/// What a descriptor in the loop belongs to; the number is the owner's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Signals,
    Meet,
    Host(u32),
    Supervisor(u32),
    Output(u32, usize),
    Input(u32),
}

impl Token {
    fn pack(self) -> u64 {
        let (kind, key) = match self {
            Self::Signals => (0_u64, 0),
            Self::Meet => (1, 0),
            Self::Host(key) => (2, key),
            Self::Supervisor(key) => (3, key),
            Self::Output(key, 0) => (4, key),
            Self::Output(key, _) => (5, key),
            Self::Input(key) => (6, key),
        };
        kind << 32 | u64::from(key)
    }

    fn unpack(data: u64) -> Self {
        let key = u32::try_from(data & u64::from(u32::MAX)).unwrap_or(0);
        match data >> 32 {
            0 => Self::Signals,
            1 => Self::Meet,
            2 => Self::Host(key),
            3 => Self::Supervisor(key),
            4 => Self::Output(key, 0),
            5 => Self::Output(key, 1),
            _ => Self::Input(key),
        }
    }
}

/// PID 1's whole state. Everything happens on one thread.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) epoll: Epoll,
    pub(super) signals: SignalFd,
    pub(super) meet: Meet,
    pub(super) boot: [u8; 16],
    pub(super) hosts: BTreeMap<u32, Host>,
    pub(super) commands: BTreeMap<u32, Command>,
    pub(super) ids: BTreeMap<CommandId, u32>,
    pub(super) gauges: Gauges,
    pub(super) next_key: u32,
    /// Supervisors that wait for the next commands.
    pub(super) spares: Spares,
    /// Supervisors of forgotten commands whose background processes were to be left alone. Without its socket a
    /// supervisor ends what is below it.
    pub(super) kept: Vec<(Pid, OwnedFd)>,
    /// How many children of PID 1 have ended.
    pub(super) reaped: u64,
    /// The engine wants the sandbox to end; when it ends at the latest.
    pub(super) stopping: Option<Instant>,
    /// What proves this init to a host that the kernel tells nothing about its peers.
    pub(super) secret: Option<Secret>,
    pub(super) role: Role,
    /// A command was started.
    pub(super) spent: bool,
    /// When to look whether the rendezvous is still there.
    look_at: Instant,
    busy_at: Instant,
    /// Where bytes from hosts are read to; taken while that happens.
    pub(super) scratch: Option<AnonMap>,
}

impl Daemon {
    /// Blocks all signals, opens the rendezvous and the gauges.
    pub(super) fn new(meet: &Path, role: Role) -> nix::Result<Self> {
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT] {
            mask.add(signal);
        }
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let gauges = if role.reach() == Reach::Namespace { Gauges::open() } else { Gauges::none() };
        let daemon = Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            signals,
            meet: Meet::open(meet, role.reach())?,
            boot: boot_id(),
            hosts: BTreeMap::new(),
            commands: BTreeMap::new(),
            ids: BTreeMap::new(),
            gauges,
            next_key: 0,
            spares: Spares::default(),
            kept: Vec::new(),
            reaped: 0,
            stopping: None,
            secret: None,
            role,
            spent: false,
            look_at: Instant::now() + LOOK_EVERY,
            busy_at: Instant::now(),
            scratch: Some(AnonMap::new(SCRATCH)?),
        };
        daemon.watch(daemon.signals.as_fd(), Token::Signals, EpollFlags::EPOLLIN)?;
        if let Some(fd) = daemon.meet.watch() {
            daemon.watch(fd, Token::Meet, EpollFlags::EPOLLIN)?;
        }
        Ok(daemon)
    }

    /// Runs until the sandbox is stopped or has been idle for too long.
    pub(super) fn run(&mut self) -> nix::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        self.welcome();
        self.stock_up();
        loop {
            let count = match self.epoll.wait(&mut events, self.timeout()) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(error) => return Err(error),
            };
            for event in events.get(..count).unwrap_or_default() {
                self.dispatch(Token::unpack(event.data()), event.events());
            }
            if count == 0 || self.meet.next_try().is_some() {
                self.welcome();
            }
            self.look_for_the_rendezvous();
            self.settle_all();
            self.deliver();
            self.stock_up();
            if self.finished() {
                return Ok(());
            }
        }
    }

    fn dispatch(&mut self, token: Token, events: EpollFlags) {
        match token {
            Token::Signals => self.on_signals(),
            Token::Meet => self.welcome(),
            Token::Host(key) => self.on_host(key, events),
            Token::Supervisor(key) => self.on_supervisor(key),
            Token::Output(key, index) => self.on_output(key, index, events),
            Token::Input(key) => self.on_input(key),
        }
    }

    /// Time to sleep: until the nearest deadline, rounded up so that it has passed on waking.
    fn timeout(&self) -> EpollTimeout {
        let commands = self.commands.values().filter_map(Command::next_deadline).min();
        let idle = self.role.idle().filter(|_| self.commands.is_empty() && self.hosts.is_empty());
        let idle = idle.map(|idle| self.busy_at + idle);
        let keep = self.role.keep();
        let keep = self.commands.values().filter_map(|command| Some(command.exit.as_ref()?.1 + keep)).min();
        let Some(at) = [commands, idle, keep, self.stopping, self.meet.next_try(), self.next_look()]
            .into_iter()
            .flatten()
            .min()
        else {
            return EpollTimeout::NONE;
        };
        let wait = at.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        let millis = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        EpollTimeout::try_from(millis).unwrap_or(EpollTimeout::MAX)
    }

    /// When to look whether the rendezvous is still there; beside the gateway and without a host only.
    fn next_look(&self) -> Option<Instant> {
        (self.role.is_beside() && self.hosts.is_empty() && self.stopping.is_none()).then_some(self.look_at)
    }

    /// Without its directory nobody finds the supervisor again: what it runs would be out of everybody's hands.
    fn look_for_the_rendezvous(&mut self) {
        let now = Instant::now();
        if self.next_look().is_some_and(|at| now >= at) {
            self.look_at = now + LOOK_EVERY;
            if self.meet.is_gone() {
                self.stop();
            }
        }
    }

    /// Nothing is left to do: stopped with every command gone (or the time for that over), or idle for too long.
    fn finished(&mut self) -> bool {
        let now = Instant::now();
        if let Some(at) = self.stopping {
            let ended = self.kept.is_empty() && self.commands.values().all(|command| command.exit.is_some());
            return now >= at
                || (ended && (!self.role.is_beside() || self.hosts.is_empty() || self.commands.is_empty()));
        }
        if self.role.is_beside() && self.spent && self.commands.is_empty() && self.kept.is_empty() {
            return true;
        }
        if !self.commands.values().all(|command| command.exit.is_some()) || !self.hosts.is_empty() {
            self.busy_at = now;
        }
        if self.role.idle().is_none_or(|idle| now < self.busy_at + idle) {
            return false;
        }
        if self.role.is_beside() {
            return self.commands.is_empty() && self.kept.is_empty();
        }
        // Commands that came through the engine's exec API are not in the table, but they are in `/proc`.
        let ours =
            |pid: i32| pid == nix::unistd::getpid().as_raw() || self.spares.contains(Pid::from_raw(pid));
        let others = super::tree::all().iter().any(|process| !process.zombie && !ours(process.pid));
        if others {
            self.busy_at = now;
        }
        !others
    }

    /// Takes in hosts that have put a socket into the rendezvous.
    fn welcome(&mut self) {
        for host in self.meet.arrivals(Instant::now()) {
            if self.hosts.len() >= MAX_HOSTS {
                continue;
            }
            let key = self.key();
            if self.watch(host.fd.as_fd(), Token::Host(key), EpollFlags::EPOLLIN).is_ok() {
                self.hosts.insert(key, host);
            }
        }
    }

    fn on_host(&mut self, key: u32, events: EpollFlags) {
        let Some(mut scratch) = self.scratch.take() else { return };
        if let Some(mut host) = self.hosts.remove(&key) {
            if events.contains(EpollFlags::EPOLLOUT) {
                host.blocked = false;
            }
            match host.read(&mut scratch, |host, message| self.on_message(key, host, message)) {
                Ok(_) => {
                    self.hosts.insert(key, host);
                }
                Err(_) => self.farewell(key, host),
            }
        }
        self.scratch = Some(scratch);
    }

    /// A host is gone: its commands wait for another owner, or for their lease to end.
    pub(super) fn farewell(&mut self, key: u32, host: Host) {
        self.unwatch(host.fd.as_fd());
        drop(host);
        let now = Instant::now();
        for command in self.commands.values_mut() {
            command.unsubscribe(key, now);
        }
    }

    fn settle_all(&mut self) {
        let now = Instant::now();
        self.look_for_lost(now);
        let gauges = &self.gauges;
        let after = |command: &Command| {
            let failed = command.ended.is_none_or(|(status, _)| status != 0);
            After { counters: gauges.read(), full: if failed { gauges.full() } else { Vec::new() } }
        };
        for command in self.commands.values_mut() {
            command.expire(now);
            command.settle(now, &after);
        }
        self.forget_old(now);
    }

    /// The engine (or somebody else outside) asks the sandbox to end. Asked from inside, nothing happens.
    pub(super) fn stop(&mut self) {
        let now = Instant::now();
        self.stopping.get_or_insert(now + STOP_LIMIT);
        for command in self.commands.values_mut() {
            command.kill(crate::wire::Cause::Stopped, Some(STOP_GRACE_MS), now);
        }
        for (_, socket) in &self.kept {
            Order::Kill(STOP_GRACE_MS).send(socket.as_fd());
        }
    }

    /// A key that was never used before.
    pub(super) fn key(&mut self) -> u32 {
        self.next_key = self.next_key.wrapping_add(1);
        self.next_key
    }

    pub(super) fn watch(&self, fd: BorrowedFd<'_>, token: Token, flags: EpollFlags) -> nix::Result<()> {
        self.epoll.add(fd, EpollEvent::new(flags, token.pack()))
    }

    pub(super) fn rewatch(&self, fd: BorrowedFd<'_>, token: Token, flags: EpollFlags) {
        let _ = self.epoll.modify(fd, &mut EpollEvent::new(flags, token.pack()));
    }

    pub(super) fn unwatch(&self, fd: BorrowedFd<'_>) {
        let _ = self.epoll.delete(fd);
    }
}

/// An event that wakes the loop when there is something to read.
pub(super) fn readable(token: Token) -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLIN, token.pack())
}

/// An event that wakes the loop when there is room to write.
pub(super) fn writable(token: Token) -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLOUT, token.pack())
}

/// Random bytes from the kernel; zeroes only where there is no such device, which merely weakens a hint.
fn boot_id() -> [u8; 16] {
    let mut boot = [0; 16];
    if let Ok(mut file) = std::fs::File::open("/dev/urandom") {
        let _ = std::io::Read::read_exact(&mut file, &mut boot);
    }
    boot
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn tokens_survive_the_kernel() {
        let max = u32::MAX;
        for token in [
            Token::Signals,
            Token::Meet,
            Token::Host(max),
            Token::Supervisor(1),
            Token::Output(2, 0),
            Token::Output(3, 1),
            Token::Input(max),
        ] {
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }
}
