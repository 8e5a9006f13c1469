//! One connection to a process of the host.

use std::io::IoSlice;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, UnixCredentials, connect, setsockopt, socket, sockopt,
};
use nix::unistd::{Pid, geteuid, getpid};

use super::tree::{Reach, is_below};
use crate::wire::{Assembler, FromInit, MAX_TO_INIT, ToInit, WireError};

/// Unsent bytes above which a connection is dropped: who lets 4 MiB of answers lie is a broken host.
const MAX_PENDING: usize = 4 * 1024 * 1024;
/// Room for output in the socket, as far as the kernel grants it.
const SEND_BUFFER: usize = 1024 * 1024;

/// A connected host.
#[derive(Debug)]
pub(super) struct Host {
    /// The socket, non-blocking.
    pub(super) fd: OwnedFd,
    /// The host has said a hello of our version.
    pub(super) greeted: bool,
    /// The socket takes no more now.
    pub(super) blocked: bool,
    /// The loop wakes when the socket takes more.
    pub(super) armed: bool,
    assembler: Assembler,
    unread: Vec<u8>,
    pending: Vec<u8>,
    sent: usize,
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostError {
    /// The other side closed it, or the socket failed.
    #[error("connection lost: {0}")]
    Lost(Errno),
    /// It says what is no message.
    #[error("protocol: {0}")]
    Wire(#[from] WireError),
    /// It does not read its answers.
    #[error("host does not read")]
    Stuffed,
}

impl Host {
    /// Dials the socket at `path` and checks that who listens is no process of a command.
    pub(super) fn dial(path: &std::path::Path, reach: Reach) -> nix::Result<Self> {
        let fd = socket(
            AddressFamily::Unix,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )?;
        connect(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
        if !is_outside(&nix::sys::socket::getsockopt(&fd, sockopt::PeerCredentials)?, reach) {
            return Err(Errno::EACCES);
        }
        let _ = setsockopt(&fd, sockopt::SndBuf, &SEND_BUFFER);
        Ok(Self {
            fd,
            greeted: false,
            blocked: false,
            armed: false,
            assembler: Assembler::new(MAX_TO_INIT),
            unread: Vec::new(),
            pending: Vec::new(),
            sent: 0,
        })
    }

    /// Reads once into `scratch` and hands every whole message to `take`. False when there was nothing to read.
    pub(super) fn read(
        &mut self,
        scratch: &mut [u8],
        mut take: impl FnMut(&mut Self, ToInit),
    ) -> Result<bool, HostError> {
        let count = match nix::unistd::read(self.fd.as_fd(), scratch) {
            Ok(0) => return Err(HostError::Lost(Errno::EPIPE)),
            Ok(count) => count,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            Err(error) => return Err(HostError::Lost(error)),
        };
        self.unread.extend_from_slice(scratch.get(..count).unwrap_or_default());
        let bytes = std::mem::take(&mut self.unread);
        let mut used = 0;
        loop {
            let (step, message) = self.assembler.next(bytes.get(used..).unwrap_or_default())?;
            used += step;
            let Some(message) = message else { break };
            let message = ToInit::decode(message.kind, &message.payload)?;
            take(self, message);
            self.check_room()?;
        }
        self.unread.extend_from_slice(bytes.get(used..).unwrap_or_default());
        Ok(true)
    }

    /// Puts a message behind what waits already.
    pub(super) fn say(&mut self, message: &FromInit) {
        message.encode(&mut self.pending);
    }

    /// Asked with every message, not only when sending: a socket that takes nothing is not sent to.
    fn check_room(&self) -> Result<(), HostError> {
        if self.pending.len() - self.sent > MAX_PENDING { Err(HostError::Stuffed) } else { Ok(()) }
    }

    /// Nothing waits to be sent.
    pub(super) fn is_clear(&self) -> bool {
        self.pending.is_empty()
    }

    /// Sends what waits, as far as the socket takes it.
    pub(super) fn flush(&mut self) -> Result<(), HostError> {
        self.check_room()?;
        while let Some(rest) = self.pending.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match nix::unistd::write(&self.fd, rest) {
                Ok(count) => self.sent += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    self.blocked = true;
                    return Ok(());
                }
                Err(error) => return Err(HostError::Lost(error)),
            }
        }
        self.pending.clear();
        // What was large once need not stay large.
        self.pending.shrink_to(4096);
        self.sent = 0;
        Ok(())
    }

    /// Sends heads and bodies in one call, without copying the bodies. Returns how many pairs are on their way;
    /// a pair that was cut has its rest put with what waits. Only when [`Self::is_clear`].
    pub(super) fn send_pairs(&mut self, pairs: &[([u8; PAIR_HEAD], &[u8])]) -> Result<usize, HostError> {
        let slices: Vec<IoSlice<'_>> =
            pairs.iter().flat_map(|(head, body)| [IoSlice::new(head), IoSlice::new(body)]).collect();
        let mut sent = match nix::sys::uio::writev(&self.fd, &slices) {
            Ok(sent) => sent,
            Err(Errno::EINTR) => return Ok(0),
            Err(Errno::EAGAIN) => {
                self.blocked = true;
                return Ok(0);
            }
            Err(error) => return Err(HostError::Lost(error)),
        };
        for (index, (head, body)) in pairs.iter().enumerate() {
            let size = head.len() + body.len();
            if sent == 0 {
                self.blocked = true;
                return Ok(index);
            }
            if sent < size {
                self.pending.extend_from_slice(head.get(sent..).unwrap_or_default());
                self.pending
                    .extend_from_slice(body.get(sent.saturating_sub(head.len())..).unwrap_or_default());
                self.blocked = true;
                return Ok(index + 1);
            }
            sent -= size;
        }
        Ok(pairs.len())
    }
}

/// Whether who listens may give orders.
///
/// From inside a container the kernel cannot name a process outside, and says 0: exactly the peers to trust. Beside the
/// gateway it is this user (or root) and no descendant: a command must not take its own output away from creel.
fn is_outside(peer: &UnixCredentials, reach: Reach) -> bool {
    match reach {
        Reach::Namespace => peer.pid() == 0,
        Reach::Below => {
            let pid = Pid::from_raw(peer.pid());
            let user = peer.uid() == 0 || peer.uid() == geteuid().as_raw();
            peer.pid() > 0 && user && pid != getpid() && !is_below(pid, getpid())
        }
    }
}

/// Bytes before the data of an output message.
pub(super) const PAIR_HEAD: usize = crate::wire::HEADER + crate::wire::OUTPUT_PREFIX;
