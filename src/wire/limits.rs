//! Limits of one command beyond those of its container, and how each was held.

use super::codec::{Reader, WireError, Writer};

/// What one command may use at most; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Memory of the command's processes together, in bytes.
    pub memory_bytes: u64,
    /// Output on both streams together, in bytes.
    pub output_bytes: u64,
    /// CPU time of the command's processes together, in milliseconds.
    pub cpu_ms: u64,
    /// Processes alive at a time.
    pub processes: u32,
}

/// How a limit was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Means {
    /// There was none.
    #[default]
    None = 0,
    /// Every byte went through init, which counted it: exact.
    Counted = 1,
    /// The command's processes were looked at again and again; what is over in between is not seen.
    Watched = 2,
    /// As [`Self::Watched`], and the kernel holds each process to it by itself (`RLIMIT_DATA`).
    PerProcess = 3,
    /// The command had a control group of its own: exact.
    Cgroup = 4,
}

/// How each limit of a command was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Memory.
    pub memory: Means,
    /// Output.
    pub output: Means,
    /// CPU time.
    pub cpu: Means,
    /// Processes.
    pub processes: Means,
}

impl Limits {
    pub(super) fn write(&self, w: &mut Writer) {
        w.u64(self.memory_bytes);
        w.u64(self.output_bytes);
        w.u64(self.cpu_ms);
        w.u32(self.processes);
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { memory_bytes: r.u64()?, output_bytes: r.u64()?, cpu_ms: r.u64()?, processes: r.u32()? })
    }
}

impl Means {
    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(match r.u8()? {
            0 => Self::None,
            1 => Self::Counted,
            2 => Self::Watched,
            3 => Self::PerProcess,
            4 => Self::Cgroup,
            _ => return Err(WireError::Value("means")),
        })
    }
}

impl Held {
    pub(super) fn write(self, w: &mut Writer) {
        for means in [self.memory, self.output, self.cpu, self.processes] {
            w.u8(means as u8);
        }
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            memory: Means::read(r)?,
            output: Means::read(r)?,
            cpu: Means::read(r)?,
            processes: Means::read(r)?,
        })
    }
}
