//! Bytes between commands and hosts: reads pipes into rings, sends rings to hosts, feeds standard input.

use std::os::fd::AsFd as _;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;

use super::command::{Command, Input, Tap};
use super::daemon::{Daemon, Token};
use super::host::{Host, HostError, PAIR_HEAD};
use super::request::STDIN_WINDOW;
use crate::wire::{Cause, FromInit, MAX_OUTPUT, Stream, output_head};

/// What a pipe holds unless it is asked to hold more, and what one that is always full is asked to hold.
const DEFAULT_PIPE: usize = 64 * 1024;
const WIDE_PIPE: i32 = 256 * 1024;
/// Pieces of output sent in one call.
const BATCH: usize = 16;
/// The terminal's end-of-input character. The first hands over an unfinished line, and only on an empty one it is the end.
const END_OF_INPUT: u8 = 4;
/// After these a line is empty: its ends, and what throws it away (interrupt, quit, stop, erase line).
const EMPTY_AFTER: &[u8] = b"\n\r\x04\x03\x1c\x1a\x15";

impl Daemon {
    /// A command has printed something, or closed a stream.
    pub(super) fn on_output(&mut self, key: u32, index: usize, events: EpollFlags) {
        let Some(command) = self.commands.get_mut(&key) else { return };
        let stream = if index == 0 { Stream::Stdout } else { Stream::Stderr };
        let left = command.output_left();
        let Some(Some(tap)) = command.outputs.get_mut(index) else { return };
        // Closed and empty: most commands print to one stream at most, and a ring is not mapped for nothing.
        let left = left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let read = if events == EpollFlags::EPOLLHUP {
            Ok(0)
        } else if left == 0 {
            return self.beyond_limit(key, index);
        } else {
            command.ring.fill(stream, left, |slices| nix::sys::uio::readv(&tap.fd, slices))
        };
        match read {
            Ok(count) if count > 0 => {
                if count >= DEFAULT_PIPE && !tap.widened {
                    widen(tap);
                }
                command.printed(Instant::now());
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            // The end of a pipe; a terminal says EIO when its last user is gone.
            Ok(_) | Err(_) => self.close_output(key, index),
        }
        self.mind_the_ring(key);
    }

    /// The command has printed as much as it may. What comes now is read and dropped, so that it can end; the first byte
    /// of it ends the command.
    fn beyond_limit(&mut self, key: u32, index: usize) {
        let (Some(command), Some(scratch)) = (self.commands.get_mut(&key), &mut self.scratch) else { return };
        let Some(Some(tap)) = command.outputs.get_mut(index) else { return };
        match nix::unistd::read(&tap.fd, scratch) {
            Ok(count) if count > 0 => command.kill_once(Cause::OutputLimit, Instant::now()),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Ok(_) | Err(_) => self.close_output(key, index),
        }
    }

    fn close_output(&mut self, key: u32, index: usize) {
        let tap = self.commands.get_mut(&key).and_then(|command| command.outputs.get_mut(index)?.take());
        if let Some(tap) = tap {
            let _ = self.epoll.delete(tap.fd.as_fd());
        }
    }

    /// Stops watching a command's outputs while its ring is full, and starts again when it is not.
    ///
    /// Taken out rather than masked: a closed pipe would wake the loop for ever.
    fn mind_the_ring(&mut self, key: u32) {
        let Some(command) = self.commands.get_mut(&key) else { return };
        let want = !command.ring.is_full();
        for (index, tap) in command.outputs.iter_mut().enumerate() {
            let Some(tap) = tap.as_mut().filter(|tap| tap.watched != want) else { continue };
            tap.watched = want;
            let fd = tap.fd.as_fd();
            let _ = if want {
                let event = super::daemon::readable(Token::Output(key, index));
                self.epoll.add(fd, event)
            } else {
                self.epoll.delete(fd)
            };
        }
    }

    /// The host has taken output over.
    pub(super) fn ack(&mut self, key: u32, seq: u64) -> nix::Result<()> {
        let command = self.commands.get_mut(&key).ok_or(Errno::ESRCH)?;
        command.ring.ack(seq);
        self.mind_the_ring(key);
        Ok(())
    }

    /// Sends every host what it has not had yet, as far as its socket takes it.
    pub(super) fn deliver(&mut self) {
        let keys: Vec<u32> = self.hosts.keys().copied().collect();
        for key in keys {
            let Some(mut host) = self.hosts.remove(&key) else { continue };
            let sent = if host.blocked { Ok(()) } else { self.deliver_to(key, &mut host) };
            if sent.is_err() {
                self.farewell(key, host);
                continue;
            }
            if host.blocked != host.armed {
                host.armed = host.blocked;
                let output = if host.blocked { EpollFlags::EPOLLOUT } else { EpollFlags::empty() };
                self.rewatch(host.fd.as_fd(), Token::Host(key), EpollFlags::EPOLLIN | output);
            }
            self.hosts.insert(key, host);
        }
    }

    fn deliver_to(&mut self, key: u32, host: &mut Host) -> Result<(), HostError> {
        self.tell_input(key, host);
        loop {
            host.flush()?;
            if host.blocked {
                return Ok(());
            }
            let sent = self.send_output(key, host)?;
            self.tell_exits(key, host);
            if sent == 0 && host.is_clear() {
                return Ok(());
            }
        }
    }

    /// One batch of output for one host, a piece of each command in turn. Returns the number of pieces sent.
    fn send_output(&mut self, key: u32, host: &mut Host) -> Result<usize, HostError> {
        if !host.is_clear() {
            return Ok(0);
        }
        let mut pairs: Vec<([u8; PAIR_HEAD], &[u8])> = Vec::new();
        let mut places = Vec::new();
        for (number, command) in &self.commands {
            let Some(subscriber) = command.subscribers.iter().find(|one| one.host == key) else { continue };
            let mut cursor = subscriber.cursor;
            while pairs.len() < BATCH {
                let Some(piece) = command.ring.piece(cursor, MAX_OUTPUT) else { break };
                let size = piece.data.len();
                pairs
                    .push((output_head(command.id, piece.stream, piece.offset, piece.seq, size), piece.data));
                cursor = piece.seq + u64::try_from(size).unwrap_or(0);
                places.push((*number, cursor));
            }
        }
        if pairs.is_empty() {
            return Ok(0);
        }
        let sent = host.send_pairs(&pairs)?;
        for (number, cursor) in places.into_iter().take(sent) {
            let command = self.commands.get_mut(&number);
            if let Some(one) = command.and_then(|one| one.subscribers.iter_mut().find(|one| one.host == key))
            {
                one.cursor = cursor;
            }
        }
        Ok(sent)
    }

    /// Results of commands whose output this host has had in full; and the word that a command runs.
    fn tell_exits(&mut self, key: u32, host: &mut Host) {
        for command in self.commands.values_mut() {
            let written = command.ring.written();
            let Some(one) = command.subscribers.iter_mut().find(|one| one.host == key) else { continue };
            if let Some((exit, _)) = command.exit.as_ref().filter(|_| !one.told_exit && one.cursor >= written)
            {
                one.told_exit = true;
                host.say(&FromInit::Exit(Box::new(exit.clone())));
            }
        }
    }

    /// Takes bytes for standard input; what was had already is skipped, a gap is refused.
    pub(super) fn stdin(&mut self, key: u32, offset: u64, eof: bool, data: &[u8]) -> nix::Result<()> {
        let command = self.commands.get_mut(&key).ok_or(Errno::ESRCH)?;
        let Some(input) = &mut command.input else { return Ok(()) };
        let skip =
            usize::try_from(input.had().checked_sub(offset).ok_or(Errno::EINVAL)?).unwrap_or(usize::MAX);
        let fresh = data.get(skip..).unwrap_or_default();
        if u64::try_from(input.pending.len() + fresh.len()).unwrap_or(u64::MAX) > STDIN_WINDOW || input.eof {
            return Err(Errno::EINVAL);
        }
        input.pending.extend_from_slice(fresh);
        input.in_line = fresh.last().map_or(input.in_line, |last| !EMPTY_AFTER.contains(last));
        if eof {
            if input.terminal {
                let times = if input.in_line { 2 } else { 1 };
                input.pending.extend(std::iter::repeat_n(END_OF_INPUT, times));
            }
            input.eof = true;
        }
        self.feed(key);
        Ok(())
    }

    /// The pipe has room again.
    pub(super) fn on_input(&mut self, key: u32) {
        self.feed(key);
    }

    /// Writes what waits into the pipe; watches it while it is full, closes it at the end.
    fn feed(&mut self, key: u32) {
        let Some(command) = self.commands.get_mut(&key) else { return };
        let Some(input) = &mut command.input else { return };
        let Ok(full) = drain(input) else { return self.close_input(key) };
        let fd = input.fd.as_fd();
        if full {
            // Added once; a second time is refused as existing, which is what is wanted.
            let event = super::daemon::writable(Token::Input(key));
            let _ = self.epoll.add(fd, event);
            return;
        }
        let _ = self.epoll.delete(fd);
        if input.eof && !input.terminal {
            self.close_input(key);
        }
    }

    fn close_input(&mut self, key: u32) {
        let Some(command) = self.commands.get_mut(&key) else { return };
        if let Some(input) = command.input.take() {
            let _ = self.epoll.delete(input.fd.as_fd());
            command.input_end = Some(input.taken);
            command.input_end_told = false;
        }
    }

    /// Tells a host how far its input has got, once it is worth a message.
    fn tell_input(&mut self, key: u32, host: &mut Host) {
        let owner = |command: &Command| command.subscribers.iter().any(|one| one.host == key && one.owner);
        for command in self.commands.values_mut().filter(|command| owner(command)) {
            let id = command.id;
            // Written only where it changes: every page that is written has to be copied for every supervisor.
            if let (false, Some(offset)) = (command.input_end_told, command.input_end) {
                command.input_end_told = true;
                host.say(&FromInit::StdinTaken { id, offset, closed: true });
            }
            let Some(input) = &mut command.input else { continue };
            if input.taken > input.told
                && (input.pending.is_empty() || input.taken - input.told >= STDIN_WINDOW / 4)
            {
                input.told = input.taken;
                host.say(&FromInit::StdinTaken { id, offset: input.taken, closed: false });
            }
        }
    }
}

/// Gives a stream that fills its pipe a larger one: each time it is full costs two changes of process. Only such a
/// stream, since the kernel allows each user so much; where it refuses, the pipe stays as it is.
fn widen(tap: &mut Tap) {
    tap.widened = true;
    let _ = nix::fcntl::fcntl(&tap.fd, nix::fcntl::FcntlArg::F_SETPIPE_SZ(WIDE_PIPE));
}

/// Writes what waits. True when the pipe is full and something is left; an error when nobody reads any more.
fn drain(input: &mut Input) -> nix::Result<bool> {
    let mut done = 0;
    let full = loop {
        let Some(rest) = input.pending.get(done..).filter(|rest| !rest.is_empty()) else { break false };
        match nix::unistd::write(&input.fd, rest) {
            Ok(count) => done += count,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => break true,
            Err(error) => return Err(error),
        }
    };
    input.pending.drain(..done);
    input.pending.shrink_to(4096);
    input.taken += u64::try_from(done).unwrap_or(0);
    Ok(full)
}
