//! One command as PID 1 knows it: pipes, ring, supervisor, and how it ends.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use nix::libc;
use nix::unistd::Pid;

use super::cgroup::Counters;
use super::group::Group;
use super::notice::{Notice, Order};
use super::ring::Ring;
use crate::sys::Usage;
use crate::wire::{self, Cause, CommandId, Exit, FromInit, Held, Means, Spawn, Stream};

/// Time beyond the grace after which a supervisor that does not report is given up.
const SUPERVISOR_SLACK: Duration = Duration::from_secs(7);
/// Longest time that output is taken from somebody else after the command's last process has ended.
const OUTSIDER_LIMIT: Duration = Duration::from_secs(10);
/// Background processes of a finished command get this long between TERM and KILL at most.
const LEFTOVER_GRACE_MS: u32 = 1000;

/// Everything about one command.
#[derive(Debug)]
pub(super) struct Command {
    /// The host's name for it.
    pub(super) id: CommandId,
    /// Limits and wishes of the host.
    pub(super) limits: Limits,
    /// Its supervisor.
    pub(super) supervisor: Pid,
    /// Datagrams to and from the supervisor; gone when the supervisor is.
    pub(super) socket: Option<OwnedFd>,
    /// The command's own process, 0 before the supervisor has named it.
    pub(super) pid: i32,
    /// `CREEL_COMMAND_ID=…` as it stands in the command's environment.
    pub(super) marker: CString,
    /// Read ends of standard output (or the terminal) and standard error, until their end.
    pub(super) outputs: [Option<Tap>; 2],
    /// Write end of standard input.
    pub(super) input: Option<Input>,
    /// Standard input is gone after so many bytes.
    pub(super) input_end: Option<u64>,
    /// The owner knows that, or there is nothing to know.
    pub(super) input_end_told: bool,
    /// Output not yet acknowledged.
    pub(super) ring: Ring,
    /// When it was spawned.
    pub(super) started: Instant,
    /// When it last printed something.
    pub(super) last_output: Instant,
    /// What ended it, as far as PID 1 had a hand in it.
    pub(super) cause: Cause,
    /// The step and error that kept it from running.
    pub(super) failure: Option<(i32, i32)>,
    /// Wait status of its own process and when that was seen.
    pub(super) ended: Option<(i32, Instant)>,
    /// Processes alive when its own had ended.
    pub(super) leftovers: u32,
    /// Usage of what has been reaped so far.
    pub(super) usage: Usage,
    /// The supervisor's last word and when it came.
    pub(super) done: Option<(Done, Instant)>,
    /// When the supervisor must have reported after a kill order.
    pub(super) kill_due: Option<Instant>,
    /// When waiting for more output ends.
    pub(super) drain_at: Option<Instant>,
    /// Something held the output open until then.
    pub(super) held: bool,
    /// Without an owner since.
    pub(super) orphaned: Option<Instant>,
    /// Times that the supervisor was found stopped.
    pub(super) stops: u32,
    /// The supervisor is gone; next look for its processes, and when to stop looking.
    pub(super) lost: Option<(Instant, Instant)>,
    /// Most processes found and killed in one look after that.
    pub(super) killed_when_lost: u32,
    /// Counters of the control group at its start.
    pub(super) before: Counters,
    /// No other command ran at any time beside it.
    pub(super) alone: bool,
    /// Connections that want its output.
    pub(super) subscribers: Vec<Subscriber>,
    /// Its own control group, where it has one.
    pub(super) group: Group,
    /// Its result, once everything is known.
    pub(super) exit: Option<(Exit, Instant)>,
}

/// The parts of a spawn request that matter after the start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    timeout: Option<Duration>,
    silence: Option<Duration>,
    lease: Option<Duration>,
    drain: Duration,
    grace_ms: u32,
    keep_leftovers: bool,
    own: wire::Limits,
}

impl Limits {
    /// Changes how long it may live without an owner; 0 is for ever.
    pub(super) fn set_lease(&mut self, lease_ms: u64) {
        self.lease = (lease_ms > 0).then(|| Duration::from_millis(lease_ms));
    }

    /// Takes them from a request.
    pub(super) fn new(spawn: &Spawn) -> Self {
        let some = |ms: u64| (ms > 0).then(|| Duration::from_millis(ms));
        Self {
            timeout: some(spawn.timeout_ms),
            silence: some(spawn.silence_ms),
            lease: some(spawn.lease_ms),
            drain: Duration::from_millis(u64::from(spawn.drain_ms)),
            grace_ms: spawn.grace_ms,
            keep_leftovers: spawn.keep_leftovers,
            own: spawn.limits,
        }
    }
}

/// A read end and whether the loop watches it.
#[derive(Debug)]
pub(super) struct Tap {
    /// The descriptor.
    pub(super) fd: OwnedFd,
    /// Watched; not while the ring is full.
    pub(super) watched: bool,
    /// It was asked to hold more than pipes usually do.
    pub(super) widened: bool,
}

/// Standard input.
#[derive(Debug)]
pub(super) struct Input {
    /// The descriptor.
    pub(super) fd: OwnedFd,
    /// It is the terminal's master: the end of input is a control character.
    pub(super) terminal: bool,
    /// The last byte did not end a line.
    pub(super) in_line: bool,
    /// Bytes that the pipe had no room for.
    pub(super) pending: Vec<u8>,
    /// Bytes written to the pipe.
    pub(super) taken: u64,
    /// Bytes of `taken` that the host was told.
    pub(super) told: u64,
    /// Nothing follows what is pending.
    pub(super) eof: bool,
}

impl Input {
    /// Bytes that it has, those that wait included: where the next goes on.
    pub(super) fn had(&self) -> u64 {
        self.taken + u64::try_from(self.pending.len()).unwrap_or(0)
    }
}

/// The supervisor's last word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    /// Processes sent TERM.
    pub(super) termed: u32,
    /// Processes sent KILL.
    pub(super) killed: u32,
    /// No process is left, by the kernel's word.
    pub(super) proven: bool,
}

/// A connection that gets the command's output.
#[derive(Debug)]
pub(super) struct Subscriber {
    /// The connection.
    pub(super) host: u32,
    /// Its acknowledgements free the ring.
    pub(super) owner: bool,
    /// Output before this was sent to it.
    pub(super) cursor: u64,
    /// The result was sent to it.
    pub(super) told_exit: bool,
    /// It came to a command that was there already.
    pub(super) attached: bool,
}

impl Command {
    /// What a host is told of a command that runs, or of one that it attaches to.
    pub(super) fn started(&self, known: bool) -> FromInit {
        let (input, open) = match (&self.input, self.input_end) {
            (Some(input), _) => (input.had(), !input.eof),
            (None, end) => (end.unwrap_or(0), false),
        };
        FromInit::Started { id: self.id, pid: self.pid, known, input, open }
    }

    /// Bytes of output that its limit still allows.
    pub(super) fn output_left(&self) -> Option<u64> {
        let limit = self.limits.own.output_bytes;
        (limit > 0).then(|| limit.saturating_sub(self.ring.written()))
    }

    /// How each of its own limits is held.
    fn held_limits(&self) -> Held {
        let own = self.limits.own;
        let memory = if self.group.holds_memory() { Means::Cgroup } else { Means::PerProcess };
        let processes = if self.group.holds_processes() { Means::Cgroup } else { Means::Watched };
        let means = |limited: bool, means| if limited { means } else { Means::None };
        Held {
            memory: means(own.memory_bytes > 0, memory),
            output: means(own.output_bytes > 0, Means::Counted),
            cpu: means(own.cpu_ms > 0, Means::Watched),
            processes: means(own.processes > 0, processes),
        }
    }

    /// Takes note of what the supervisor says.
    pub(super) fn note(&mut self, notice: Notice, now: Instant) {
        match notice {
            Notice::Spawned(pid) => self.pid = pid,
            Notice::Failed(stage, errno) => {
                self.cause = Cause::NotStarted;
                self.failure = Some((stage, errno));
                self.done = Some((Done { proven: true, ..Done::default() }, now));
            }
            // Growth does not stop for TERM.
            Notice::Over(cause @ (Cause::MemoryLimit | Cause::ProcessLimit)) => {
                self.kill(cause, Some(0), now);
            }
            Notice::Over(cause) => self.kill(cause, None, now),
            Notice::Ended { status, leftovers, usage } => {
                self.ended = Some((status, now));
                self.leftovers = leftovers;
                self.usage = usage;
                self.drain_at = Some(now + self.limits.drain);
            }
            Notice::Last { status, usage, termed, killed } => {
                self.ended = Some((status, now));
                self.usage = usage;
                self.conclude(Done { termed, killed, proven: true }, now);
            }
            Notice::Done { usage, termed, killed, proven } => {
                self.usage = usage;
                self.conclude(Done { termed, killed, proven }, now);
            }
        }
    }

    /// No process is left to wait for; what is still in the pipes gets another drain time.
    pub(super) fn conclude(&mut self, done: Done, now: Instant) {
        self.done = Some((done, now));
        self.drain_at = Some(now + self.limits.drain);
    }

    /// Output was read. After the end that earns more time, but not for ever: something outside may hold the pipe.
    pub(super) fn printed(&mut self, now: Instant) {
        self.last_output = now;
        if self.done.is_some_and(|(_, at)| now < at + OUTSIDER_LIMIT) {
            self.drain_at = Some(now + self.limits.drain);
        }
    }

    /// Its own process and every descendant are gone, or were never there.
    fn tree_gone(&self) -> bool {
        self.done.is_some() && (self.ended.is_some() || self.failure.is_some() || self.lost.is_some())
    }

    /// All output there will be has been read.
    fn silent(&self) -> bool {
        self.outputs.iter().all(Option::is_none)
    }

    /// Orders the whole tree ended, for `cause` unless something else came first.
    pub(super) fn kill(&mut self, cause: Cause, grace_ms: Option<u32>, now: Instant) {
        if self.tree_gone() {
            return;
        }
        if self.cause == Cause::Ended && self.ended.is_none() {
            self.cause = cause;
        }
        let grace = grace_ms.unwrap_or(self.limits.grace_ms);
        if let Some(socket) = &self.socket {
            Order::Kill(grace).send(socket.as_fd());
        }
        let due = now + Duration::from_millis(u64::from(grace)) + SUPERVISOR_SLACK;
        self.kill_due = Some(self.kill_due.map_or(due, |before| before.min(due)));
    }

    /// As [`Self::kill`] with its own grace, unless it is being ended already.
    pub(super) fn kill_once(&mut self, cause: Cause, now: Instant) {
        if self.kill_due.is_none() {
            self.kill(cause, None, now);
        }
    }

    /// Sends a signal to the whole tree.
    pub(super) fn signal(&self, signal: i32) {
        if let Some(socket) = &self.socket {
            Order::Signal(signal).send(socket.as_fd());
        }
    }

    /// Moves on as far as the facts allow; true when the result has just become known.
    ///
    /// The order of things: own process ended → output at its end, or the drain time over → leftovers ended →
    /// output at its end → result.
    pub(super) fn settle(&mut self, now: Instant, after: &impl Fn(&Self) -> After) -> bool {
        if self.exit.is_some() {
            return false;
        }
        if self.failure.is_some() {
            self.outputs = [None, None];
        }
        if self.ended.is_some() && !self.tree_gone() && self.kill_due.is_none() && self.leftovers > 0 {
            let waited = self.drain_at.is_some_and(|at| now >= at);
            if self.silent() || waited {
                self.held |= !self.silent();
                if self.limits.keep_leftovers {
                    self.outputs = [None, None];
                    return self.finish(now, after(self));
                }
                self.kill(Cause::Ended, Some(self.limits.grace_ms.min(LEFTOVER_GRACE_MS)), now);
            }
        }
        if !self.tree_gone() {
            return false;
        }
        if self.awaits_drain() && self.drain_at.is_some_and(|at| now >= at) {
            // Every process of the command is gone and the pipe is still open: something outside holds it.
            self.held = true;
            self.outputs = [None, None];
        }
        self.silent() && self.finish(now, after(self))
    }

    fn finish(&mut self, now: Instant, after: After) -> bool {
        let done = self.done.map(|(done, _)| done).unwrap_or_default();
        // It may have ended of it before anybody looked; one that has succeeded has not.
        let failed = self.ended.is_none_or(|(status, _)| status != 0);
        if let (Cause::Ended, true, Some(cause)) = (self.cause, failed, self.group.enforced()) {
            self.cause = cause;
        }
        let (code, signal) = match self.ended {
            Some((status, _)) if libc::WIFEXITED(status) => (libc::WEXITSTATUS(status), 0),
            Some((status, _)) if libc::WIFSIGNALED(status) => (-1, libc::WTERMSIG(status)),
            _ => (-1, 0),
        };
        let (stage, errno) = self.failure.unwrap_or_default();
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let ended_at = self.ended.map_or(now, |(_, at)| at);
        let exit = Exit {
            id: self.id,
            cause: self.cause,
            code,
            signal,
            stage: u8::try_from(stage).unwrap_or(0),
            errno,
            wall_us: micros(ended_at.saturating_duration_since(self.started)),
            user_us: micros(self.usage.user),
            system_us: micros(self.usage.system),
            peak_kib: self.usage.peak_kib,
            stdout_bytes: self.ring.total(Stream::Stdout),
            stderr_bytes: self.ring.total(Stream::Stderr),
            oom_kills: after.counters.oom_kills.saturating_sub(self.before.oom_kills),
            pids_hits: after.counters.pids_hits.saturating_sub(self.before.pids_hits),
            alone: self.alone,
            leftovers: self.leftovers,
            held: self.held,
            termed: done.termed,
            killed: done.killed,
            proven: done.proven,
            full: after.full,
            held_limits: self.held_limits(),
        };
        if let Some(input) = self.input.take() {
            self.input_end = Some(input.taken);
        }
        self.exit = Some((exit, now));
        true
    }

    /// When something happens by itself next.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        if self.exit.is_some() {
            return None;
        }
        let running = self.ended.is_none() && !self.tree_gone() && self.cause == Cause::Ended;
        let when = |condition: bool, at: Option<Instant>| at.filter(|_| condition);
        [
            when(running, self.limits.timeout.map(|limit| self.started + limit)),
            when(running, self.limits.silence.map(|limit| self.last_output + limit)),
            when(running, self.limits.lease.and_then(|limit| self.orphaned.map(|since| since + limit))),
            when(running, self.group.next()),
            when(self.awaits_drain(), self.drain_at),
            when(!self.tree_gone(), self.kill_due),
            when(self.done.is_none(), self.lost.map(|(next, _)| next)),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The end of the drain time would change something.
    fn awaits_drain(&self) -> bool {
        if self.tree_gone() {
            !self.silent() && !self.ring.is_full()
        } else {
            self.ended.is_some() && self.kill_due.is_none() && self.leftovers > 0
        }
    }

    /// Acts on limits that have passed.
    pub(super) fn expire(&mut self, now: Instant) {
        if !self.tree_gone() && self.lost.is_none() && self.kill_due.is_some_and(|due| now >= due) {
            // A supervisor that does not report in time is of no use; its processes are then found without it.
            let _ = nix::sys::signal::kill(self.supervisor, nix::sys::signal::Signal::SIGKILL);
            self.kill_due = Some(now + Duration::from_secs(1));
        }
        if self.exit.is_some() || self.ended.is_some() || self.cause != Cause::Ended {
            return;
        }
        if let Some(cause) = self.group.look(now) {
            return self.kill(cause, Some(0), now);
        }
        let past = |since: Instant, limit: Option<Duration>| limit.is_some_and(|limit| now >= since + limit);
        if past(self.started, self.limits.timeout) {
            self.kill(Cause::Timeout, None, now);
        } else if past(self.last_output, self.limits.silence) {
            self.kill(Cause::Silence, None, now);
        } else if self.orphaned.is_some_and(|since| past(since, self.limits.lease)) {
            self.kill(Cause::OwnerLost, None, now);
        }
    }

    /// The connection is gone: whoever owned through it does so no longer.
    pub(super) fn unsubscribe(&mut self, host: u32, now: Instant) {
        self.subscribers.retain(|subscriber| subscriber.host != host);
        if !self.owned() {
            self.orphaned.get_or_insert(now);
        }
    }

    /// Some connection owns it.
    pub(super) fn owned(&self) -> bool {
        self.subscribers.iter().any(|subscriber| subscriber.owner)
    }
}

/// What is read when a command has ended.
#[derive(Debug, Default)]
pub(super) struct After {
    /// Counters of the control group.
    pub(super) counters: Counters,
    /// Full temporary file systems.
    pub(super) full: Vec<String>,
}
