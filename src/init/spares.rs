//! Supervisors that wait for a command, so that a command does not wait for a fork.
//!
//! One is always there. One whose command has ended without leaving a process behind comes back, which saves the
//! fork of the next one; as many are kept as commands run, so that an idle sandbox is down to one again.

use std::os::fd::{AsFd as _, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::Pid;

use super::packet::Packet;
use super::supervisor::{Work, supervise};
use super::tree::Reach;
use crate::sys::{self, Forked};

/// The waiting supervisors, each with the socket to it.
#[derive(Debug, Default)]
pub(super) struct Spares(Vec<(Pid, OwnedFd)>);

impl Spares {
    /// Hands a command to one of them. `None`: none took it.
    pub(super) fn hand_over(&mut self, packet: &Packet, stdio: &[OwnedFd; 3]) -> Option<(Pid, OwnedFd)> {
        let (pid, socket) = self.0.pop()?;
        // One that does not take it is dead, or the command is too large for any: it ends with its socket.
        packet.hand_over(stdio, socket.as_fd()).then_some((pid, socket))
    }

    /// Takes one back.
    pub(super) fn put(&mut self, pid: Pid, socket: OwnedFd) {
        self.0.push((pid, socket));
    }

    /// Brings their number to at least one and at most `live`. The others end when their sockets close.
    pub(super) fn stock(&mut self, live: usize, reach: Reach) {
        self.0.truncate(live.max(1));
        if self.0.is_empty() {
            // The copy keeps every page that PID 1 has now, for as long as it lives.
            sys::trim_heap();
            self.0.extend(fork_supervisor(None, reach).ok());
        }
    }

    /// That process is one of them.
    pub(super) fn contains(&self, pid: Pid) -> bool {
        self.pids().any(|spare| spare == pid)
    }

    /// That process is none any more. False when it was none.
    pub(super) fn remove(&mut self, pid: Pid) -> bool {
        let before = self.0.len();
        self.0.retain(|(spare, _)| *spare != pid);
        self.0.len() < before
    }

    /// Their process ids.
    pub(super) fn pids(&self) -> impl Iterator<Item = Pid> {
        self.0.iter().map(|(pid, _)| *pid)
    }
}

/// Forks a supervisor, with work or to wait for some.
pub(super) fn fork_supervisor(work: Option<Work>, reach: Reach) -> nix::Result<(Pid, OwnedFd)> {
    let (near, far) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    match sys::fork()? {
        Forked::Child => supervise(work, &far, reach),
        Forked::Parent(pid) => Ok((pid, near)),
    }
}
