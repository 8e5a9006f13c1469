//! What a host asks of PID 1, or of the supervisor beside the gateway.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::epoll::EpollFlags;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, pipe2};

use super::command::{Command, Input, Limits, Subscriber, Tap};
use super::daemon::{Daemon, Token};
use super::facts;
use super::group::Group;
use super::host::Host;
use super::nonce::Secret;
use super::packet::Packet;
use super::ring::Ring;
use super::spares::fork_supervisor;
use crate::sys::{self, Usage};
use crate::wire::{Cause, CommandId, Entry, FromInit, Hello, Refusal, Spawn, ToInit, VERSION};

/// Commands that run at a time.
const MAX_LIVE: usize = 512;
/// Bounds of a command's ring.
const RING: std::ops::RangeInclusive<usize> = 4 * 1024..=8 * 1024 * 1024;
/// Bytes of standard input that a host may send ahead of what the command has taken.
pub(super) const STDIN_WINDOW: u64 = 256 * 1024;

impl Daemon {
    /// One message. The host is out of the table meanwhile; answers go into its queue.
    pub(super) fn on_message(&mut self, key: u32, host: &mut Host, message: ToInit) {
        if !host.greeted && !matches!(message, ToInit::Hello(_)) {
            return;
        }
        match message {
            ToInit::Hello(hello) => {
                host.greeted = hello.version == VERSION;
                host.say(&FromInit::Hello(Hello::ours(self.boot)));
            }
            ToInit::Spawn(spawn) => self.spawn(key, host, &spawn),
            ToInit::List => host.say(&FromInit::Table(self.table())),
            ToInit::Probe { paths } => host.say(&FromInit::Facts(Box::new(facts::gather(paths)))),
            ToInit::Ping { nonce } => host.say(&FromInit::Pong { nonce }),
            ToInit::Prove => host.say(&match self.secret.as_ref().and_then(Secret::nonce) {
                Some(nonce) => FromInit::Nonce(nonce),
                None => FromInit::Refused { id: CommandId::default(), reason: Refusal::Unknown, errno: 0 },
            }),
            ToInit::Attach { id, own, from } => self.attach(key, host, id, own, from),
            ToInit::Stdin { id, offset, eof, data } => {
                self.owned(key, host, id, |daemon, command| daemon.stdin(command, offset, eof, &data));
            }
            ToInit::Signal { id, signal } => self.owned(key, host, id, |daemon, command| {
                daemon.commands.get(&command).ok_or(Errno::ESRCH)?.signal(signal);
                Ok(())
            }),
            ToInit::Kill { id, grace_ms } => self.owned(key, host, id, |daemon, command| {
                let command = daemon.commands.get_mut(&command).ok_or(Errno::ESRCH)?;
                command.kill(Cause::Killed, Some(grace_ms), Instant::now());
                Ok(())
            }),
            ToInit::Ack { id, seq } => self.owned(key, host, id, |daemon, command| daemon.ack(command, seq)),
            ToInit::Resize { id, rows, cols } => self.owned(key, host, id, |daemon, command| {
                let command = daemon.commands.get(&command).ok_or(Errno::ESRCH)?;
                let [Some(tap), _] = &command.outputs else { return Ok(()) };
                sys::set_window(tap.fd.as_fd(), rows, cols)
            }),
            ToInit::Lease { id, lease_ms } => self.owned(key, host, id, |daemon, command| {
                let command = daemon.commands.get_mut(&command).ok_or(Errno::ESRCH)?;
                command.limits.set_lease(lease_ms);
                Ok(())
            }),
            ToInit::Forget { id } => self.owned(key, host, id, |daemon, command| {
                let finished = daemon.commands.get(&command).is_some_and(|command| command.exit.is_some());
                if finished {
                    daemon.forget(command);
                }
                Ok(())
            }),
        }
    }

    /// Does something to a command that this host owns; anything else is refused.
    fn owned(
        &mut self,
        key: u32,
        host: &mut Host,
        id: CommandId,
        action: impl FnOnce(&mut Self, u32) -> nix::Result<()>,
    ) {
        let Some(command) = self.ids.get(&id).copied() else {
            return host.say(&FromInit::Refused { id, reason: Refusal::Unknown, errno: 0 });
        };
        let owner = |command: &Command| command.subscribers.iter().any(|one| one.host == key && one.owner);
        if !self.commands.get(&command).is_some_and(owner) {
            return host.say(&FromInit::Refused { id, reason: Refusal::NotOwner, errno: 0 });
        }
        match action(self, command) {
            Ok(()) => {}
            Err(Errno::EINVAL) => host.say(&FromInit::Refused { id, reason: Refusal::Invalid, errno: 0 }),
            Err(errno) => host.say(&FromInit::Refused { id, reason: Refusal::System, errno: errno as i32 }),
        }
    }

    fn spawn(&mut self, key: u32, host: &mut Host, spawn: &Spawn) {
        let id = spawn.id;
        if let Some(command) = self.ids.get(&id).and_then(|key| self.commands.get(key)) {
            // Said again over another connection, after a restart of creel: it goes on from the oldest output left.
            if command.subscribers.iter().all(|one| one.host != key) {
                return self.attach(key, host, id, true, 0);
            }
            return host.say(&command.started(true));
        }
        let live = self.commands.values().filter(|command| command.exit.is_none()).count();
        let refusal = if self.stopping.is_some() {
            Some((Refusal::Stopping, 0))
        } else if live >= MAX_LIVE || (self.role.is_beside() && self.spent) {
            Some((Refusal::Full, 0))
        } else {
            match self.start(key, spawn) {
                Ok(()) => None,
                Err(Errno::EINVAL) => Some((Refusal::Invalid, 0)),
                Err(errno) => Some((Refusal::System, errno as i32)),
            }
        };
        if let Some((reason, errno)) = refusal {
            host.say(&FromInit::Refused { id, reason, errno });
        }
    }

    /// Makes the pipes, forks the supervisor and enters the command into the table.
    fn start(&mut self, host: u32, spawn: &Spawn) -> nix::Result<()> {
        let marker = marker(spawn.id)?;
        let mut group = Group::make(spawn.id, &spawn.limits, Instant::now());
        group.keeps = spawn.keep_leftovers;
        let packet = Packet::of(spawn, &marker, self.role.expendable(), &group)?;
        let (theirs, outputs, input) = plumb(spawn)?;
        // What others were refused or lost since the last command is not held against this one.
        let before = self.gauges.read();
        let now = Instant::now();
        let (supervisor, socket) = match self.spares.hand_over(&packet, &theirs) {
            Some(spare) => {
                drop(theirs);
                spare
            }
            None => fork_supervisor(Some((packet, theirs)), self.role.reach())?,
        };
        let key = self.key();
        let mut alone = true;
        for other in self.commands.values_mut().filter(|command| command.exit.is_none()) {
            alone = false;
            // Written only where it changes: a page that is written has to be copied for every supervisor.
            if other.alone {
                other.alone = false;
            }
        }
        let capacity = usize::try_from(spawn.ring).unwrap_or(*RING.end()).clamp(*RING.start(), *RING.end());
        let command = Command {
            id: spawn.id,
            limits: Limits::new(spawn),
            supervisor,
            socket: Some(socket),
            pid: 0,
            marker,
            outputs,
            input,
            input_end: None,
            input_end_told: true,
            ring: Ring::new(capacity),
            started: now,
            last_output: now,
            cause: Cause::Ended,
            failure: None,
            ended: None,
            leftovers: 0,
            usage: Usage::default(),
            done: None,
            kill_due: None,
            drain_at: None,
            held: false,
            orphaned: None,
            stops: 0,
            lost: None,
            killed_when_lost: 0,
            before,
            alone,
            subscribers: vec![Subscriber { host, owner: true, cursor: 0, told_exit: false, attached: false }],
            group,
            exit: None,
        };
        self.spent = true;
        self.watch_command(key, &command);
        self.ids.insert(command.id, key);
        self.commands.insert(key, command);
        Ok(())
    }

    /// Keeps a supervisor waiting. Without one, the next command waits for a fork.
    pub(super) fn stock_up(&mut self) {
        if self.stopping.is_none() {
            let live = self.commands.values().filter(|command| command.done.is_none()).count();
            if !(self.role.is_beside() && self.spent) {
                self.spares.stock(live, self.role.reach());
            }
        }
    }

    fn watch_command(&self, key: u32, command: &Command) {
        // A descriptor that cannot be watched shows as a command that ends by its limits; there is no such case
        // while epoll itself works.
        if let Some(socket) = &command.socket {
            let _ = self.watch(socket.as_fd(), Token::Supervisor(key), EpollFlags::EPOLLIN);
        }
        for (index, tap) in command.outputs.iter().enumerate() {
            if let Some(tap) = tap {
                let _ = self.watch(tap.fd.as_fd(), Token::Output(key, index), EpollFlags::EPOLLIN);
            }
        }
    }

    fn attach(&mut self, key: u32, host: &mut Host, id: CommandId, own: bool, from: u64) {
        let Some(command) = self.ids.get(&id).and_then(|key| self.commands.get_mut(key)) else {
            return host.say(&FromInit::Refused { id, reason: Refusal::Unknown, errno: 0 });
        };
        let other_owner = command.subscribers.iter().any(|one| one.owner && one.host != key);
        if own && other_owner {
            return host.say(&FromInit::Refused { id, reason: Refusal::NotOwner, errno: 0 });
        }
        command.subscribers.retain(|one| one.host != key);
        let cursor = from.clamp(command.ring.acked(), command.ring.written());
        command.subscribers.push(Subscriber {
            host: key,
            owner: own,
            cursor,
            told_exit: false,
            attached: true,
        });
        if own {
            command.orphaned = None;
        }
        host.say(&command.started(true));
    }

    fn table(&self) -> Vec<Entry> {
        let entry = |command: &Command| Entry {
            id: command.id,
            pid: if command.exit.is_some() { 0 } else { command.pid },
            running: command.exit.is_none(),
            owned: command.owned(),
            age_ms: u64::try_from(command.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            acked: command.ring.acked(),
            written: command.ring.written(),
        };
        self.commands.values().map(entry).collect()
    }

    /// Removes a command and everything of it but the background processes that it was told to keep.
    pub(super) fn forget(&mut self, key: u32) {
        let Some(command) = self.commands.remove(&key) else { return };
        self.ids.remove(&command.id);
        if let (None, None, Some(socket)) = (command.done, command.lost, command.socket) {
            self.unwatch(socket.as_fd());
            self.kept.push((command.supervisor, socket));
        }
    }
}

fn marker(id: CommandId) -> nix::Result<CString> {
    CString::new(format!("CREEL_COMMAND_ID={id}")).map_err(|_| Errno::EINVAL)
}

type Plumbing = ([OwnedFd; 3], [Option<Tap>; 2], Option<Input>);

/// The command's three descriptors, and our ends of them.
fn plumb(spawn: &Spawn) -> nix::Result<Plumbing> {
    let tap = |fd| Some(Tap { fd, watched: true, widened: false });
    let input = |fd, terminal| Input {
        fd,
        terminal,
        in_line: false,
        pending: Vec::new(),
        taken: 0,
        told: 0,
        eof: false,
    };
    if spawn.pty != (0, 0) {
        let (rows, cols) = spawn.pty;
        let (master, slave) = sys::open_pty(rows, cols)?;
        let stdin = input(master.try_clone().map_err(|_| Errno::EMFILE)?, true);
        let copies = (slave.try_clone(), slave.try_clone());
        let (Ok(second), Ok(third)) = copies else { return Err(Errno::EMFILE) };
        return Ok(([slave, second, third], [tap(master), None], Some(stdin)));
    }
    let (out_read, out_write) = pipe2(OFlag::O_CLOEXEC)?;
    let (err_read, err_write) = pipe2(OFlag::O_CLOEXEC)?;
    nonblocking(&out_read)?;
    nonblocking(&err_read)?;
    let (stdin, ours) = if spawn.stdin {
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        nonblocking(&write)?;
        (read, Some(input(write, false)))
    } else {
        (open("/dev/null", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?, None)
    };
    Ok(([stdin, out_write, err_write], [tap(out_read), tap(err_read)], ours))
}

fn nonblocking(fd: &OwnedFd) -> nix::Result<()> {
    fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(drop)
}

/// Whether `pid` is the supervisor of a command in the table.
pub(super) fn supervises(command: &Command, pid: Pid) -> bool {
    command.supervisor == pid && command.done.is_none()
}
