//! What a command was decided about must still be there when it starts: compared here, by the process that starts it, right
//! before it does (spec `approvals.md` 11.04; design §1 "what runs on a host").
//!
//! The directory is entered and the program is executed through the descriptor that was compared, so that no name is looked
//! up again for them. What a text starts later is compared by its path.

use std::ffi::CStr;
use std::fmt::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use sha2::{Digest as _, Sha256};

use crate::sys::{SpawnFailure, SpawnStage};
use crate::wire::{Pin, PinKind};

/// Bytes of a file that are read at a time. A supervisor keeps the pages of its stack.
const PIECE: usize = 4096;

/// What a file looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Looks {
    kind: PinKind,
    numbers: [u64; 5],
    sha256: Option<[u8; 32]>,
}

/// What is held open for the start.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The working directory.
    pub(super) cwd: Option<OwnedFd>,
    /// The program.
    pub(super) program: Option<OwnedFd>,
}

/// Compares all, and keeps directory and program open.
pub(super) fn hold<'a>(pins: impl Iterator<Item = Option<(&'a CStr, Looks)>>) -> Result<Held, SpawnFailure> {
    let mut held = Held::default();
    for pin in pins {
        let Some((path, looks)) = pin else {
            return Err(SpawnFailure { stage: SpawnStage::Setup, errno: Errno::EINVAL });
        };
        let fd = looks.find(path).map_err(|errno| SpawnFailure { stage: looks.stage(), errno })?;
        match looks.kind {
            PinKind::Cwd => held.cwd = Some(fd),
            PinKind::Program => held.program = Some(fd),
            PinKind::Directory | PinKind::Executable | PinKind::Script => {}
        }
    }
    Ok(held)
}

impl Looks {
    /// Of what a host has sent.
    pub(super) fn of(pin: &Pin) -> Self {
        let times = [pin.mtime_ns, pin.ctime_ns].map(i64::cast_unsigned);
        let [mtime, ctime] = times;
        Self { kind: pin.kind, numbers: [pin.dev, pin.ino, pin.size, mtime, ctime], sha256: pin.sha256 }
    }

    /// As it travels to a supervisor.
    pub(super) fn line(&self) -> String {
        let mut line = format!("{}", self.kind as u8);
        for number in self.numbers {
            let _ = write!(line, " {number:x}");
        }
        if let Some(sum) = self.sha256 {
            line.push(' ');
            for byte in sum {
                let _ = write!(line, "{byte:02x}");
            }
        }
        line
    }

    /// From there; `None` for anything else.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let kind = PinKind::from_number(words.next()?.parse().ok()?)?;
        let mut numbers = [0; 5];
        for number in &mut numbers {
            *number = u64::from_str_radix(words.next()?, 16).ok()?;
        }
        let sha256 = match words.next() {
            Some(hex) => Some(sum_of(hex)?),
            None => None,
        };
        words.next().is_none().then_some(Self { kind, numbers, sha256 })
    }

    const fn stage(&self) -> SpawnStage {
        match self.kind {
            PinKind::Cwd | PinKind::Directory => SpawnStage::PinnedDirectory,
            PinKind::Program | PinKind::Executable => SpawnStage::PinnedProgram,
            PinKind::Script => SpawnStage::PinnedScript,
        }
    }

    /// Opens what the path leads to now, if it is that. An error of zero: it is another.
    fn find(&self, path: &CStr) -> nix::Result<OwnedFd> {
        const ANOTHER: Errno = Errno::UnknownErrno;
        if self.kind.is_directory() {
            let fd = open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
            let stat = fstat(&fd)?;
            let [dev, ino, ..] = self.numbers;
            return if (stat.st_dev, stat.st_ino) == (dev, ino) { Ok(fd) } else { Err(ANOTHER) };
        }
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
        let (fd, readable) = match open(path, flags, Mode::empty()) {
            Ok(fd) => (fd, true),
            // What may be executed need not be readable.
            Err(Errno::EACCES) => (open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?, false),
            Err(errno) => return Err(errno),
        };
        let stat = fstat(&fd)?;
        let regular = SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFREG;
        if !regular || numbers(&stat) != self.numbers {
            return Err(ANOTHER);
        }
        match self.sha256 {
            Some(_) if !readable => Err(Errno::EACCES),
            Some(sum) if content(&fd)? != sum => Err(ANOTHER),
            _ => Ok(fd),
        }
    }
}

fn numbers(stat: &FileStat) -> [u64; 5] {
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest).cast_unsigned();
    let mtime = nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
    let ctime = nanoseconds(stat.st_ctime, stat.st_ctime_nsec);
    [stat.st_dev, stat.st_ino, u64::try_from(stat.st_size).unwrap_or(0), mtime, ctime]
}

fn content(fd: &OwnedFd) -> nix::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut piece = [0; PIECE];
    loop {
        match nix::unistd::read(fd.as_fd(), &mut piece) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(count) => hash.update(piece.get(..count).unwrap_or_default()),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn sum_of(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut sum = [0; 32];
    for (byte, pair) in sum.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;

    fn pin(path: &Path, kind: PinKind, sha256: Option<[u8; 32]>) -> (CString, Looks) {
        let meta = std::fs::metadata(path).unwrap();
        let pin = Pin {
            kind,
            path: Vec::new(),
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime_ns: meta.mtime() * 1_000_000_000 + meta.mtime_nsec(),
            ctime_ns: meta.ctime() * 1_000_000_000 + meta.ctime_nsec(),
            sha256,
        };
        (CString::new(path.to_str().unwrap()).unwrap(), Looks::of(&pin))
    }

    fn stage(pin: &(CString, Looks)) -> Option<SpawnStage> {
        hold(std::iter::once(Some((pin.0.as_c_str(), pin.1)))).err().map(|failure| failure.stage)
    }

    #[test]
    fn a_line_survives() {
        let (_, looks) = pin(Path::new("/"), PinKind::Cwd, Some([0xab; 32]));
        assert_eq!(Looks::parse(&looks.line()), Some(looks));
        let (_, bare) = pin(Path::new("/bin/sh"), PinKind::Program, None);
        assert_eq!(Looks::parse(&bare.line()), Some(bare));
        for line in ["", "9 1 2 3 4 5", "1 1 2 3 4", "1 1 2 3 4 5 6", "1 1 2 3 4 x", "1 1 2 3 4 5  "] {
            assert_eq!(Looks::parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_changed_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "one").unwrap();
        let sum: [u8; 32] = Sha256::digest(b"one").into();
        let good = pin(&file, PinKind::Script, Some(sum));
        assert_eq!(stage(&good), None);
        assert_eq!(stage(&pin(&file, PinKind::Script, Some([0; 32]))), Some(SpawnStage::PinnedScript));
        let program = pin(&file, PinKind::Program, None);
        let cwd = pin(dir.path(), PinKind::Cwd, None);
        let held = hold([&program, &cwd].into_iter().map(|pin| Some((pin.0.as_c_str(), pin.1)))).unwrap();
        assert!(held.cwd.is_some() && held.program.is_some());
        std::fs::write(dir.path().join("new"), "one").unwrap();
        assert_eq!(stage(&cwd), None, "entries come and go");
        std::fs::rename(dir.path().join("new"), &file).unwrap();
        assert_eq!(stage(&good), Some(SpawnStage::PinnedScript));
        assert_eq!(stage(&program), Some(SpawnStage::PinnedProgram));
        assert!(hold(std::iter::once(None)).is_err(), "what is not understood is not passed over");
    }
}
