//! Children of this process: supervisors that end, are stopped or are killed, and orphans.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use super::command::{Command, Done};
use super::daemon::{Daemon, MAX_FINISHED};
use super::notice::Notice;
use super::request::supervises;
use super::tree::{self, Reach};
use crate::sys::{self, Reaped, Usage};
use crate::wire::Cause;

/// A supervisor found stopped more often than this is being kept from its work, and is given up.
const MAX_STOPS: u32 = 3;
/// How often, and for how long, the processes of a lost supervisor are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const LOOK_FOR: Duration = Duration::from_secs(3);

impl Daemon {
    /// Signals to this process. The kernel drops KILL and STOP to a PID 1 from inside; TERM counts only from outside.
    pub(super) fn on_signals(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            let child = u32::try_from(Signal::SIGCHLD as i32).unwrap_or(0);
            if signal.ssi_signo != child && self.is_from_outside(signal.ssi_pid) {
                self.stop();
            }
        }
        self.reap();
    }

    /// In a sandbox a sender outside has no process id; beside the gateway it is nobody below.
    fn is_from_outside(&self, sender: u32) -> bool {
        match self.role.reach() {
            Reach::Namespace => sender == 0,
            Reach::Below => {
                i32::try_from(sender).is_ok_and(|pid| !tree::is_below(Pid::from_raw(pid), getpid()))
            }
        }
    }

    fn reap(&mut self) {
        let now = Instant::now();
        loop {
            match sys::reap(true) {
                Ok(Reaped::Ended(pid, status, usage)) => self.on_child(pid, status, usage, now),
                Ok(Reaped::Stopped(pid)) => self.on_stopped(pid),
                Ok(Reaped::Nothing | Reaped::NoChildren) | Err(_) => return,
            }
        }
    }

    fn on_child(&mut self, pid: Pid, status: i32, usage: Usage, now: Instant) {
        self.reaped = self.reaped.wrapping_add(1);
        if self.spares.remove(pid) {
            return;
        }
        self.kept.retain(|(kept, _)| *kept != pid);
        let supervisor =
            self.commands.iter().find(|(_, command)| supervises(command, pid)).map(|(key, _)| *key);
        if let Some(key) = supervisor {
            // Its last words may still be in the socket.
            self.on_supervisor(key);
            if let Some(command) = self.commands.get_mut(&key).filter(|command| command.done.is_none()) {
                lose(command, now);
            }
            return;
        }
        // A command's own process comes to PID 1 when its supervisor is gone.
        let orphan = |command: &&mut Command| command.pid == pid.as_raw() && command.lost.is_some();
        if let Some(command) = self.commands.values_mut().find(orphan) {
            command.ended.get_or_insert((status, now));
            command.usage.add(usage);
        }
    }

    fn on_stopped(&mut self, pid: Pid) {
        if self.spares.contains(pid) {
            // Reaped as ended, and replaced then.
            let _ = kill(pid, Signal::SIGKILL);
            return;
        }
        let Some(command) = self.commands.values_mut().find(|command| supervises(command, pid)) else {
            if self.kept.iter().any(|(kept, _)| *kept == pid) {
                // What it keeps needs it to be reaped.
                let _ = kill(pid, Signal::SIGCONT);
            }
            return;
        };
        command.stops += 1;
        let signal = if command.stops > MAX_STOPS { Signal::SIGKILL } else { Signal::SIGCONT };
        let _ = kill(pid, signal);
    }

    /// A supervisor has something to say.
    pub(super) fn on_supervisor(&mut self, key: u32) {
        let now = Instant::now();
        loop {
            let Some(command) = self.commands.get_mut(&key) else { return };
            let Some(socket) = &command.socket else { return };
            match Notice::receive(socket.as_fd()) {
                Ok(Some(notice)) => {
                    command.note(notice, now);
                    match notice {
                        Notice::Spawned(_) => self.tell_started(key),
                        Notice::Last { .. } => self.take_back(key),
                        _ => {}
                    }
                }
                Ok(None) => return,
                Err(_) => {
                    if let Some(socket) = command.socket.take() {
                        let _ = self.epoll.delete(socket.as_fd());
                    }
                    return;
                }
            }
        }
    }

    /// The command's supervisor waits for another.
    fn take_back(&mut self, key: u32) {
        let Some(command) = self.commands.get_mut(&key) else { return };
        let Some(socket) = command.socket.take() else { return };
        let _ = self.epoll.delete(socket.as_fd());
        self.spares.put(command.supervisor, socket);
    }

    fn tell_started(&mut self, key: u32) {
        let Some(command) = self.commands.get(&key) else { return };
        for subscriber in &command.subscribers {
            if let Some(host) = self.hosts.get_mut(&subscriber.host) {
                let started = command.started(subscriber.attached);
                host.say(&started);
            }
        }
    }

    /// Kills what can be attributed to commands whose supervisor is gone, until a look finds nothing.
    pub(super) fn look_for_lost(&mut self, now: Instant) {
        let due =
            |command: &Command| command.lost.is_some_and(|(next, _)| now >= next) && command.done.is_none();
        if !self.commands.values().any(due) {
            return;
        }
        self.reap();
        let reaped = self.reaped;
        let reach = self.role.reach();
        let table = reach.table();
        self.reap();
        // What lives through the whole look is seen. What forks and ends meanwhile can be on neither side of it, but its
        // end comes to PID 1: then an empty look proves nothing, and another follows.
        let still = self.reaped == reaped;
        let supervisors: Vec<Pid> = self
            .commands
            .values()
            .filter(|command| command.lost.is_none() && command.done.is_none())
            .map(|command| command.supervisor)
            .chain(self.spares.pids())
            .chain(self.kept.iter().map(|(kept, _)| *kept))
            .collect();
        for command in self.commands.values_mut().filter(|command| due(command)) {
            let own = getpid().as_raw();
            let found = tree::attributable(&table, own, command.supervisor, &command.marker, &supervisors);
            for pid in &found {
                reach.signal(*pid, Signal::SIGKILL);
            }
            let until = command.lost.map_or(now, |(_, until)| until);
            let proven = found.is_empty() && still;
            if proven || now >= until {
                command.conclude(Done { termed: 0, killed: command.killed_when_lost, proven }, now);
                command.lost = Some((until, until));
            } else {
                let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
                command.killed_when_lost = command.killed_when_lost.max(count);
                command.lost = Some((now + LOOK_EVERY, until));
            }
        }
    }

    /// Drops results that nobody has asked for: the oldest beyond a number, and all beyond an age.
    pub(super) fn forget_old(&mut self, now: Instant) {
        let mut finished: Vec<(Instant, u32)> = self
            .commands
            .iter()
            .filter_map(|(key, command)| Some((command.exit.as_ref()?.1, *key)))
            .collect();
        if finished.is_empty() {
            return;
        }
        finished.sort_unstable();
        let keep = self.role.keep();
        let surplus = finished.len().saturating_sub(MAX_FINISHED);
        for (place, (at, key)) in finished.into_iter().enumerate() {
            if place < surplus || now >= at + keep {
                self.forget(key);
            }
        }
    }
}

/// The supervisor has died without a last word: somebody inside killed it.
fn lose(command: &mut Command, now: Instant) {
    if command.cause == Cause::Ended && command.ended.is_none() {
        command.cause = Cause::SupervisorLost;
    }
    command.lost = Some((now, now + LOOK_FOR));
}
