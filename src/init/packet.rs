//! A command on its way from PID 1 to a supervisor: one packet, in the form that the kernel wants.
//!
//! One allocation on the one side and none on the other: a supervisor shares its heap with PID 1 until either writes
//! to it, and may live for hours.

use std::ffi::CStr;
use std::io::IoSlice;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use super::group::Group;
use super::pins::Looks;
use crate::wire::Spawn;

/// A larger command is not handed over: it gets a supervisor of its own.
pub(super) const MAX_PACKET: usize = 64 * 1024;
/// Counts of candidates and arguments, whether there is a terminal, whether it goes first when memory is short, and the
/// limits that the supervisor holds (bytes, milliseconds, processes), and the counts of doors to control groups and of pins.
const HEAD: usize = 9 * 8;
/// PATH of a command that has none.
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Counts, then every text with its NUL: paths to try, arguments, directory, doors, pins, environment.
#[derive(Debug)]
pub(super) struct Packet(Vec<u8>);

impl Packet {
    /// Checks a request and writes it down; `marker` joins its environment.
    pub(super) fn of(spawn: &Spawn, marker: &CStr, expendable: bool, group: &Group) -> nix::Result<Self> {
        let named = spawn.argv.first().filter(|program| !program.is_empty()).ok_or(Errno::EINVAL)?;
        let program = if spawn.program.is_empty() { named } else { &spawn.program };
        let size: usize = spawn.argv.iter().chain(&spawn.env).map(|text| text.len() + 1).sum();
        let mut packet = Self(Vec::with_capacity(size + 512));
        packet.0.resize(HEAD, 0);
        let candidates = packet.candidates(program, &spawn.env)?;
        for text in &spawn.argv {
            packet.push(&[text])?;
        }
        packet.push(&[if spawn.cwd.is_empty() { b"/" } else { &spawn.cwd }])?;
        let doors = group.doors();
        for door in &doors {
            packet.push(&[door.as_bytes()])?;
        }
        for pin in &spawn.pins {
            packet.push(&[&pin.path])?;
            packet.push(&[Looks::of(pin).line().as_bytes()])?;
        }
        for text in &spawn.env {
            packet.push(&[text])?;
        }
        packet.push(&[marker.to_bytes()])?;
        let limits = spawn.limits;
        let head = [
            candidates as u64,
            spawn.argv.len() as u64,
            u64::from(spawn.pty != (0, 0)),
            u64::from(expendable),
            if group.holds_memory() { 0 } else { limits.memory_bytes },
            limits.cpu_ms,
            if group.holds_processes() { 0 } else { u64::from(limits.processes) },
            doors.len() as u64,
            spawn.pins.len() as u64,
        ];
        for (place, word) in packet.0.chunks_exact_mut(8).zip(head) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Ok(packet)
    }

    /// A name without a slash is looked for in PATH, as execvp does.
    fn candidates(&mut self, program: &[u8], env: &[Vec<u8>]) -> nix::Result<usize> {
        if program.contains(&b'/') {
            self.push(&[program])?;
            return Ok(1);
        }
        let path = env.iter().rev().find_map(|entry| entry.strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH);
        let mut count = 0;
        for dir in path.split(|byte| *byte == b':') {
            self.push(&[if dir.is_empty() { b"." } else { dir }, b"/", program])?;
            count += 1;
        }
        Ok(count)
    }

    fn push(&mut self, parts: &[&[u8]]) -> nix::Result<()> {
        for part in parts {
            if part.contains(&0) {
                return Err(Errno::EINVAL);
            }
            self.0.extend_from_slice(part);
        }
        self.0.push(0);
        Ok(())
    }

    /// The packet as it stands.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Hands the command and its descriptors to a waiting supervisor. False when it is too large or nobody waits.
    pub(super) fn hand_over(&self, stdio: &[OwnedFd; 3], socket: BorrowedFd<'_>) -> bool {
        if self.0.len() > MAX_PACKET {
            return false;
        }
        let fds = stdio.each_ref().map(AsRawFd::as_raw_fd);
        let rights = [ControlMessage::ScmRights(&fds)];
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        let sent = sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(&self.0)], &rights, flags, None);
        sent.is_ok_and(|count| count == self.0.len())
    }
}

/// The texts of a packet, where they lie.
#[derive(Debug)]
pub(super) struct View<'a> {
    texts: Vec<&'a CStr>,
    candidates: usize,
    argv: usize,
    doors: usize,
    pins: usize,
    /// The first of the three descriptors is a terminal.
    pub(super) terminal: bool,
    /// It goes first when memory is short.
    pub(super) expendable: bool,
    /// Bytes of memory, milliseconds of CPU time, processes; 0 is no limit.
    pub(super) limits: [u64; 3],
}

impl<'a> View<'a> {
    /// Reads a packet; `None` for anything else.
    pub(super) fn of(packet: &'a [u8]) -> Option<Self> {
        let (head, rest) = packet.split_at_checked(HEAD)?;
        let mut words =
            head.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        let mut count = || usize::try_from(words.next()?).ok();
        let (candidates, argv) = (count()?, count()?);
        let (terminal, expendable) = (words.next()? == 1, words.next()? == 1);
        let limits = [words.next()?, words.next()?, words.next()?];
        let mut count = || usize::try_from(words.next()?).ok();
        let (doors, pins) = (count()?, count()?);
        // Sized at once: each piece that a growing list leaves behind may be another page.
        let mut texts = Vec::with_capacity(rest.split(|byte| *byte == 0).count());
        texts.extend(
            rest.split_inclusive(|byte| *byte == 0).filter_map(|text| CStr::from_bytes_with_nul(text).ok()),
        );
        let before = candidates.saturating_add(argv).saturating_add(doors);
        let complete = texts.len() > before.saturating_add(pins.saturating_mul(2));
        complete.then_some(Self { texts, candidates, argv, doors, pins, terminal, expendable, limits })
    }

    /// Paths to try.
    pub(super) fn candidates(&self) -> &[&'a CStr] {
        self.texts.get(..self.candidates).unwrap_or_default()
    }

    /// Arguments.
    pub(super) fn argv(&self) -> &[&'a CStr] {
        self.texts.get(self.candidates..self.candidates + self.argv).unwrap_or_default()
    }

    /// Working directory.
    pub(super) fn cwd(&self) -> Option<&'a CStr> {
        self.texts.get(self.candidates + self.argv).copied()
    }

    /// Files into which the command writes itself to join its control groups.
    pub(super) fn doors(&self) -> &[&'a CStr] {
        let first = self.candidates + self.argv + 1;
        self.texts.get(first..first + self.doors).unwrap_or_default()
    }

    /// Paths that must lead to what they led to, each with what it looked like then; `None` for what is not understood.
    pub(super) fn pins(&self) -> impl Iterator<Item = Option<(&'a CStr, Looks)>> {
        let first = self.candidates + self.argv + 1 + self.doors;
        let texts = self.texts.get(first..first + 2 * self.pins).unwrap_or_default();
        texts.chunks(2).map(|pair| {
            let [path, line] = pair else { return None };
            Some((*path, Looks::parse(line.to_str().ok()?)?))
        })
    }

    /// Environment.
    pub(super) fn env(&self) -> &[&'a CStr] {
        self.texts.get(self.candidates + self.argv + 1 + self.doors + 2 * self.pins..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::wire::Limits;

    fn texts(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_command_survives() {
        let spawn = Spawn {
            argv: texts(&["sh", "", "a b"]),
            env: texts(&["PATH=/bin::/usr/bin", "B="]),
            pty: (24, 80),
            limits: Limits { memory_bytes: 1, output_bytes: 2, cpu_ms: 3, processes: 4 },
            ..Spawn::default()
        };
        let packet = Packet::of(&spawn, c"ID=1", true, &Group::default()).unwrap();
        let view = View::of(packet.bytes()).unwrap();
        assert_eq!(view.candidates(), [c"/bin/sh", c"./sh", c"/usr/bin/sh"]);
        assert_eq!(view.argv(), [c"sh", c"", c"a b"]);
        assert_eq!(view.cwd(), Some(c"/"));
        assert_eq!(view.env(), [c"PATH=/bin::/usr/bin", c"B=", c"ID=1"]);
        assert!(view.terminal && view.expendable);
        assert_eq!(view.limits, [1, 3, 4]);
    }

    #[test]
    fn what_the_kernel_cannot_express_is_refused() {
        let refused = |argv: &[&str], env: &[&str]| {
            let spawn = Spawn { argv: texts(argv), env: texts(env), ..Spawn::default() };
            Packet::of(&spawn, c"ID=1", false, &Group::default()).unwrap_err()
        };
        assert_eq!(refused(&[], &[]), Errno::EINVAL);
        assert_eq!(refused(&[""], &[]), Errno::EINVAL);
        assert_eq!(refused(&["a\0b"], &[]), Errno::EINVAL);
        assert_eq!(refused(&["a"], &["B=\0"]), Errno::EINVAL);
        assert!(View::of(b"short").is_none());
        assert!(View::of(&[1; HEAD]).is_none());
    }
}
