//! A command's output on disk: `<state>/creel/spool/<command>/`, a directory of segments that are only appended to.
//!
//! | file | concern |
//! |---|---|
//! | `frame` | how a piece stands in a segment; pure |
//! | `budget` | what all of them together may take |
//!
//! A piece is in the file before init is told that it may be forgotten, so the length of the spool is what was
//! acknowledged. `write` reaches the page cache: that survives the death of every process, and a command does not
//! survive a power failure. A piece that was torn by a death is cut off on opening; init still has it.

mod budget;
mod error;
mod frame;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use budget::{Budget, TOTAL};
pub use error::SpoolError;
use frame::{HEADER, Header, pieces};

use crate::wire::Stream;

/// Bytes after which a segment is full. What is dropped is dropped by the segment.
pub const SEGMENT: u64 = 256 * 1024;
/// Bytes of a session's output that are kept: far more than 200 000 characters, for terminals that attach late.
pub const KEPT: u64 = 16 * 1024 * 1024;
/// Bytes that a session keeps where all of them together take too much.
pub const LEAST: u64 = 4 * SEGMENT;

/// A piece of output as it is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored<'a> {
    /// The stream.
    pub stream: Stream,
    /// Position of its first byte in the order of both streams.
    pub seq: u64,
    /// The bytes.
    pub data: &'a [u8],
    /// It is the first of its segment.
    pub leads: bool,
}

/// The output of one command.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    /// Ascending; the last one grows.
    segments: Vec<Segment>,
    /// Position after the last byte.
    end: u64,
    /// Where the command's last output stands that is still open for writing.
    open: Option<File>,
    budget: Budget,
    cap: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Position of its first byte; its name.
    first: u64,
    /// Bytes of the file, headers included.
    size: u64,
}

impl Spool {
    /// The spool in `dir`, which need not exist: nothing is made before there is output.
    pub fn fresh(dir: PathBuf, budget: &Budget) -> Self {
        Self { dir, segments: Vec::new(), end: 0, open: None, budget: budget.clone(), cap: KEPT }
    }

    /// Opens what another creel left, without what was torn.
    ///
    /// # Errors
    ///
    /// When a file cannot be listed, read or cut.
    pub fn reopen(dir: PathBuf, budget: &Budget) -> Result<Self, SpoolError> {
        let mut spool = Self::fresh(dir, budget);
        let names = match std::fs::read_dir(&spool.dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(spool),
            listed => listed.map_err(SpoolError::io(&spool.dir, "list"))?,
        };
        let mut firsts: Vec<u64> =
            names.flatten().filter_map(|entry| first_of(entry.file_name().to_str()?)).collect();
        firsts.sort_unstable();
        for (index, first) in firsts.iter().copied().enumerate() {
            let path = spool.path(first);
            let size = std::fs::metadata(&path).map_err(SpoolError::io(&path, "look at"))?.len();
            spool.segments.push(Segment { first, size });
            spool.budget.add(size);
            if index + 1 == firsts.len() {
                spool.cut_torn()?;
            }
        }
        Ok(spool)
    }

    /// Finds the end of the last segment and cuts off what follows it.
    fn cut_torn(&mut self) -> Result<(), SpoolError> {
        let Some(last) = self.segments.last().copied() else { return Ok(()) };
        let path = self.path(last.first);
        let bytes = std::fs::read(&path).map_err(SpoolError::io(&path, "read"))?;
        let (mut whole, mut end) = (0, last.first);
        for piece in pieces(&bytes, last.first) {
            whole += HEADER + piece.data.len();
            end = piece.header.seq + u64::from(piece.header.length);
        }
        if whole < bytes.len() {
            let file = OpenOptions::new().write(true).open(&path).map_err(SpoolError::io(&path, "open"))?;
            file.set_len(to_u64(whole)).map_err(SpoolError::io(&path, "cut"))?;
        }
        self.end = end;
        self.budget.sub(last.size.saturating_sub(to_u64(whole)));
        if let Some(last) = self.segments.last_mut() {
            last.size = to_u64(whole);
        }
        Ok(())
    }

    /// Position of the first byte that is still there.
    pub fn first(&self) -> u64 {
        self.segments.first().map_or(self.end, |segment| segment.first)
    }

    /// Position after the last byte: what is safe here.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// When output was last added.
    pub fn changed(&self) -> Option<SystemTime> {
        std::fs::metadata(self.path(self.segments.last()?.first)).ok()?.modified().ok()
    }

    /// The next piece begins a segment: the oldest may go with it, so whoever must have read it reads it now.
    pub fn is_about_to_roll(&self) -> bool {
        self.segments.last().is_none_or(|last| last.size >= SEGMENT)
    }

    /// Adds a piece. After an error it is as before, and the same piece can be tried again.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn append(&mut self, stream: Stream, seq: u64, data: &[u8]) -> Result<(), SpoolError> {
        if data.is_empty() || seq < self.end {
            return Ok(());
        }
        if self.is_about_to_roll() {
            self.roll(seq)?;
        }
        let Some(last) = self.segments.last().copied() else { return Ok(()) };
        let path = self.path(last.first);
        let length = u32::try_from(data.len())
            .map_err(|_| SpoolError::io(&path, "write")(std::io::ErrorKind::FileTooLarge.into()))?;
        let mut framed = Vec::with_capacity(HEADER + data.len());
        framed.extend_from_slice(&Header { stream, length, seq }.encode());
        framed.extend_from_slice(data);
        // At a known place, not at the end: a piece that was written in part is written over.
        self.file(&path)?.write_all_at(&framed, last.size).map_err(SpoolError::io(&path, "write"))?;
        if let Some(last) = self.segments.last_mut() {
            last.size += to_u64(framed.len());
        }
        self.budget.add(to_u64(framed.len()));
        self.end = seq + u64::from(length);
        Ok(())
    }

    /// The last segment's file; a few hundred of all sessions' stay open.
    fn file(&mut self, path: &Path) -> Result<&File, SpoolError> {
        if self.open.is_none() {
            let open = || OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
            let file = match open() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let mut builder = std::fs::DirBuilder::new();
                    builder.recursive(true).mode(0o700);
                    builder.create(&self.dir).map_err(SpoolError::io(&self.dir, "create"))?;
                    open()
                }
                opened => opened,
            };
            self.open = Some(file.map_err(SpoolError::io(path, "open"))?);
        }
        self.open.as_ref().ok_or_else(|| SpoolError::io(path, "open")(std::io::ErrorKind::NotFound.into()))
    }

    /// Closes the file; the next piece opens it again.
    pub fn rest(&mut self) {
        self.open = None;
    }

    /// Begins a segment and drops the oldest where there is too much.
    fn roll(&mut self, seq: u64) -> Result<(), SpoolError> {
        let cap = if self.budget.is_exceeded() { LEAST } else { self.cap };
        self.shrink(cap.saturating_sub(SEGMENT))?;
        self.open = None;
        let path = self.path(seq);
        // Something of this name is what a failed attempt left.
        self.file(&path)?.set_len(0).map_err(SpoolError::io(&path, "empty"))?;
        self.segments.push(Segment { first: seq, size: 0 });
        Ok(())
    }

    /// Drops the oldest segments until no more than `cap` bytes are left; the last one stays.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub fn shrink(&mut self, cap: u64) -> Result<(), SpoolError> {
        let mut size = self.size();
        while size > cap && self.segments.len() > 1 {
            let oldest = self.segments.remove(0);
            size -= oldest.size;
            self.budget.sub(oldest.size);
            let path = self.path(oldest.first);
            gone(std::fs::remove_file(&path)).map_err(SpoolError::io(&path, "remove"))?;
        }
        Ok(())
    }

    /// Reads pieces from position `from` on, until there are none or `each` breaks off. The first may begin later, where
    /// the spool no longer has what was asked for; a piece that begins earlier is handed over from `from` on.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn read(
        &self,
        from: u64,
        mut each: impl FnMut(Stored<'_>) -> ControlFlow<()>,
    ) -> Result<(), SpoolError> {
        let start = self.segments.partition_point(|segment| segment.first <= from).saturating_sub(1);
        for segment in self.segments.iter().skip(start) {
            let path = self.path(segment.first);
            let mut bytes = std::fs::read(&path).map_err(SpoolError::io(&path, "read"))?;
            bytes.truncate(usize::try_from(segment.size).unwrap_or(usize::MAX));
            for piece in pieces(&bytes, segment.first) {
                let Header { stream, seq, .. } = piece.header;
                let skip = usize::try_from(from.saturating_sub(seq)).unwrap_or(usize::MAX);
                let Some(data) = piece.data.get(skip..).filter(|data| !data.is_empty()) else { continue };
                let leads = seq == segment.first && skip == 0;
                if each(Stored { stream, seq: seq.max(from), data, leads }).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Removes everything.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub fn remove(&mut self) -> Result<(), SpoolError> {
        self.open = None;
        self.budget.sub(self.size());
        self.segments.clear();
        gone(std::fs::remove_dir_all(&self.dir)).map_err(SpoolError::io(&self.dir, "remove"))
    }

    fn path(&self, first: u64) -> PathBuf {
        self.dir.join(format!("{first:016x}.seg"))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.budget.sub(self.size());
    }
}

/// The position that a segment's name tells.
fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

fn to_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// What is not there need not be removed.
fn gone(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
