//! Files and directories that must still be what they were when a command was decided about.

use super::codec::{Reader, WireError, Writer};

/// What a file is to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PinKind {
    /// The working directory: entered through the descriptor that was compared.
    Cwd = 1,
    /// Another directory in which a part of it runs.
    Directory = 2,
    /// The program, executed from the descriptor that was compared.
    Program = 3,
    /// Another program that it starts.
    Executable = 4,
    /// A file that an interpreter is given to run.
    Script = 5,
}

impl PinKind {
    /// A kind by its number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Cwd),
            2 => Some(Self::Directory),
            3 => Some(Self::Program),
            4 => Some(Self::Executable),
            5 => Some(Self::Script),
            _ => None,
        }
    }

    /// Only which one it is counts.
    pub const fn is_directory(self) -> bool {
        matches!(self, Self::Cwd | Self::Directory)
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// What it is.
    pub kind: PinKind,
    /// Its path; links on it are followed.
    pub path: Vec<u8>,
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Bytes; not compared for directories, as all that follows.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the inode, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// SHA-256 of the content, where that was bound.
    pub sha256: Option<[u8; 32]>,
}

impl Pin {
    pub(super) fn write(&self, w: &mut Writer) {
        w.u8(self.kind as u8);
        w.bytes(&self.path);
        w.u64(self.dev);
        w.u64(self.ino);
        w.u64(self.size);
        w.u64(self.mtime_ns.cast_unsigned());
        w.u64(self.ctime_ns.cast_unsigned());
        w.bool(self.sha256.is_some());
        w.raw(self.sha256.as_ref().map_or(&[], |sum| sum.as_slice()));
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            kind: PinKind::from_number(r.u8()?).ok_or(WireError::Value("pin"))?,
            path: r.bytes()?.to_vec(),
            dev: r.u64()?,
            ino: r.u64()?,
            size: r.u64()?,
            mtime_ns: r.u64()?.cast_signed(),
            ctime_ns: r.u64()?.cast_signed(),
            sha256: if r.bool("sha256")? { Some(r.array()?) } else { None },
        })
    }
}
