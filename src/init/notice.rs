//! What PID 1 and a command's supervisor say to each other: small datagrams over a socket pair.

use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use crate::sys::Usage;
use crate::wire::Cause;

/// From the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// The program runs as this process.
    Spawned(i32),
    /// It does not: step and error number.
    Failed(i32, i32),
    /// One of its limits, which the supervisor watches, was passed.
    Over(Cause),
    /// The command's own process ended with this wait status; that many others were alive then.
    Ended {
        /// Raw wait status.
        status: i32,
        /// Descendants still alive, at least one.
        leftovers: u32,
        /// Usage so far.
        usage: Usage,
    },
    /// The command's own process ended with this wait status, and by the kernel's word no descendant is left.
    Last {
        /// Raw wait status.
        status: i32,
        /// Usage of all.
        usage: Usage,
        /// Processes sent TERM.
        termed: u32,
        /// Processes sent KILL.
        killed: u32,
    },
    /// No descendant is left, or (not `proven`) the supervisor has given up.
    Done {
        /// Usage of everything that was reaped.
        usage: Usage,
        /// Processes sent TERM.
        termed: u32,
        /// Processes sent KILL.
        killed: u32,
        /// The kernel said that there is no child.
        proven: bool,
    },
}

/// To the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// End everything: TERM, then KILL after so many milliseconds.
    Kill(u32),
    /// Send this signal to everything.
    Signal(i32),
}

const WORDS: usize = 8;
type Packet = [u64; WORDS];

impl Notice {
    /// Sends the notice. A PID 1 that is gone needs none.
    pub(super) fn send(self, socket: BorrowedFd<'_>) {
        let word = |value: i32| u64::from(value.cast_unsigned());
        let packet = match self {
            Self::Spawned(pid) => pack(1, [word(pid), 0, 0], Usage::default()),
            Self::Failed(stage, errno) => pack(2, [word(stage), word(errno), 0], Usage::default()),
            Self::Over(cause) => pack(6, [cause as u64, 0, 0], Usage::default()),
            Self::Ended { status, leftovers, usage } => {
                pack(3, [word(status), u64::from(leftovers), 0], usage)
            }
            Self::Last { status, usage, termed, killed } => {
                pack(5, [word(status), u64::from(termed), u64::from(killed)], usage)
            }
            Self::Done { usage, termed, killed, proven } => {
                pack(4, [u64::from(termed), u64::from(killed), u64::from(proven)], usage)
            }
        };
        send_packet(socket, packet);
    }

    /// Takes the next notice: `Ok(None)` when there is none now, an error when the supervisor is gone.
    pub(super) fn receive(socket: BorrowedFd<'_>) -> nix::Result<Option<Self>> {
        let Some([kind, a, b, c, user, system, peak_kib, _]) = receive_packet(socket)? else {
            return Ok(None);
        };
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let signed = |value: u64| small(value).cast_signed();
        let usage =
            Usage { user: Duration::from_micros(user), system: Duration::from_micros(system), peak_kib };
        Ok(Some(match kind {
            1 => Self::Spawned(signed(a)),
            2 => Self::Failed(signed(a), signed(b)),
            3 => Self::Ended { status: signed(a), leftovers: small(b), usage },
            6 => Self::Over(Cause::from_number(u8::try_from(a).unwrap_or(0)).unwrap_or_default()),
            5 => Self::Last { status: signed(a), usage, termed: small(b), killed: small(c) },
            _ => Self::Done { usage, termed: small(a), killed: small(b), proven: c == 1 },
        }))
    }
}

impl Order {
    /// Sends the order; a supervisor that is gone shows as a closed socket elsewhere.
    pub(super) fn send(self, socket: BorrowedFd<'_>) {
        let packet = match self {
            Self::Kill(grace) => pack(1, [u64::from(grace), 0, 0], Usage::default()),
            Self::Signal(signal) => pack(2, [u64::from(signal.cast_unsigned()), 0, 0], Usage::default()),
        };
        send_packet(socket, packet);
    }

    /// Takes the next order, as [`Notice::receive`].
    pub(super) fn receive(socket: BorrowedFd<'_>) -> nix::Result<Option<Self>> {
        let Some([kind, a, ..]) = receive_packet(socket)? else { return Ok(None) };
        let value = u32::try_from(a).unwrap_or(0);
        Ok(Some(if kind == 1 { Self::Kill(value) } else { Self::Signal(value.cast_signed()) }))
    }
}

fn pack(kind: u64, [a, b, c]: [u64; 3], usage: Usage) -> Packet {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    [kind, a, b, c, micros(usage.user), micros(usage.system), usage.peak_kib, 0]
}

fn send_packet(socket: BorrowedFd<'_>, packet: Packet) {
    let mut bytes = [0_u8; WORDS * 8];
    for (place, word) in bytes.chunks_exact_mut(8).zip(packet) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let _ = send(socket.as_raw_fd(), &bytes, MsgFlags::MSG_NOSIGNAL);
}

fn receive_packet(socket: BorrowedFd<'_>) -> nix::Result<Option<Packet>> {
    let mut bytes = [0_u8; WORDS * 8];
    match recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
        Ok(count) if count == bytes.len() => {}
        Ok(_) => return Err(Errno::EPIPE),
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
        // The other side ended without reading what we sent last. Said once; what it had sent itself comes next.
        Err(Errno::ECONNRESET) => return receive_packet(socket),
        Err(error) => return Err(error),
    }
    let mut packet = [0; WORDS];
    for (word, chunk) in packet.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(chunk.try_into().map_err(|_| Errno::EPROTO)?);
    }
    Ok(Some(packet))
}
