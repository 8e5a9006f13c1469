//! Messages from init to the host. Hostile input: a sandbox may have replaced what speaks here.

use super::codec::{Reader, WireError, Writer};
use super::{CommandId, Facts, Held, Hello, Nonce, PathFacts, frame};

/// A message from init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromInit {
    /// Answer to the host's hello.
    Hello(Hello),
    /// The command runs, or is known already. Said again to whoever attached before the process id was known.
    Started {
        /// The command.
        id: CommandId,
        /// Its process id inside the container; 0 while PID 1 does not know it yet.
        pid: i32,
        /// The id was known: this host's request started nothing.
        known: bool,
        /// Bytes of standard input that init has, those that wait for the command included: where the next goes on.
        input: u64,
        /// Standard input takes more.
        open: bool,
    },
    /// A piece of output.
    Output(Output),
    /// This much of standard input has reached the command.
    StdinTaken {
        /// The command.
        id: CommandId,
        /// Bytes since the start.
        offset: u64,
        /// The command closed its end; more input is pointless.
        closed: bool,
    },
    /// The command has ended and all its output was sent before.
    Exit(Box<Exit>),
    /// The request about this command was refused.
    Refused {
        /// The command.
        id: CommandId,
        /// Why.
        reason: Refusal,
        /// The operating system's number, 0 where none.
        errno: i32,
    },
    /// The commands that init knows.
    Table(Vec<Entry>),
    /// Answer to a probe.
    Facts(Box<Facts>),
    /// Answer to a ping.
    Pong {
        /// From the ping.
        nonce: u64,
    },
    /// Answer to [`super::ToInit::Prove`].
    Nonce(Nonce),
}

/// Which stream a piece of output belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The command.
    pub id: CommandId,
    /// The stream.
    pub stream: Stream,
    /// Position of the first byte in its stream.
    pub offset: u64,
    /// Position of the first byte in the order of both streams.
    pub seq: u64,
    /// The bytes.
    pub data: Vec<u8>,
}

/// Bytes of an output message before its data.
pub const OUTPUT_PREFIX: usize = 16 + 1 + 8 + 8;
/// Most bytes of data in one output message.
pub const MAX_OUTPUT: usize = frame::MAX_PAYLOAD - OUTPUT_PREFIX;
/// Kind number of [`FromInit::Output`], for the path that does not copy.
pub const OUTPUT_KIND: u8 = 66;

/// Why init does not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// No such command.
    Unknown = 1,
    /// Another connection owns it.
    NotOwner = 2,
    /// As many commands as init keeps are live.
    Full = 3,
    /// The request makes no sense (empty argv, a NUL byte, bytes beyond the window).
    Invalid = 4,
    /// The sandbox is stopping.
    Stopping = 5,
    /// A system call failed before the command's process existed.
    System = 6,
}

/// What ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Cause {
    /// It ended by itself: see code or signal.
    #[default]
    Ended = 0,
    /// Its time limit.
    Timeout = 1,
    /// It printed nothing for too long.
    Silence = 2,
    /// A kill request.
    Killed = 3,
    /// Its owner was gone for too long.
    OwnerLost = 4,
    /// Its supervisor was killed or kept stopped from inside.
    SupervisorLost = 5,
    /// The sandbox was stopped.
    Stopped = 6,
    /// It never ran: see `stage` and `errno`.
    NotStarted = 7,
    /// Its own limit on output.
    OutputLimit = 8,
    /// Its own limit on CPU time.
    CpuLimit = 9,
    /// Its own limit on memory.
    MemoryLimit = 10,
    /// Its own limit on processes.
    ProcessLimit = 11,
}

/// The end of a command, as data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// The command.
    pub id: CommandId,
    /// What ended it.
    pub cause: Cause,
    /// Exit code, where the process exited; -1 otherwise.
    pub code: i32,
    /// Signal that ended the process, else 0.
    pub signal: i32,
    /// Step that failed for [`Cause::NotStarted`]: 1 process, 2 set-up, 3 working directory, 4 program; what was pinned is
    /// another: 5 a directory, 6 a program, 7 a script.
    pub stage: u8,
    /// The operating system's number for [`Cause::NotStarted`].
    pub errno: i32,
    /// From spawn to the end of the command's own process, in microseconds.
    pub wall_us: u64,
    /// CPU time of the whole tree in user mode, in microseconds.
    pub user_us: u64,
    /// CPU time of the whole tree in the kernel, in microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest process, in KiB.
    pub peak_kib: u64,
    /// Bytes written to standard output (or the terminal).
    pub stdout_bytes: u64,
    /// Bytes written to standard error.
    pub stderr_bytes: u64,
    /// Processes of the container that the out-of-memory killer ended while the command ran.
    pub oom_kills: u32,
    /// Times that a fork hit the pids limit while the command ran.
    pub pids_hits: u32,
    /// No other command ran meanwhile, so the two counters above are this command's.
    pub alone: bool,
    /// Processes still alive when the command's own process had ended.
    pub leftovers: u32,
    /// A leftover held the output open until the drain time was over.
    pub held: bool,
    /// Processes that were sent TERM.
    pub termed: u32,
    /// Processes that were sent KILL.
    pub killed: u32,
    /// The kernel confirmed that no process of the command is left.
    pub proven: bool,
    /// Temporary file systems that were full when the command ended.
    pub full: Vec<String>,
    /// How its own limits were held.
    pub held_limits: Held,
}

/// One command in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The command.
    pub id: CommandId,
    /// Its process id inside the container, 0 after its end.
    pub pid: i32,
    /// Still running.
    pub running: bool,
    /// A connection owns it.
    pub owned: bool,
    /// Milliseconds since its start.
    pub age_ms: u64,
    /// Output up to here is acknowledged and gone.
    pub acked: u64,
    /// Output up to here exists.
    pub written: u64,
}

impl FromInit {
    /// Appends the message to `out` as frames.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::default();
        let kind = match self {
            Self::Hello(hello) => {
                hello.write(&mut w);
                64
            }
            Self::Started { id, pid, known, input, open } => {
                w.raw(&id.0);
                w.i32(*pid);
                w.bool(*known);
                w.u64(*input);
                w.bool(*open);
                65
            }
            Self::Output(output) => {
                w.raw(&output_prefix(output.id, output.stream, output.offset, output.seq));
                w.raw(&output.data);
                OUTPUT_KIND
            }
            Self::StdinTaken { id, offset, closed } => {
                w.raw(&id.0);
                w.u64(*offset);
                w.bool(*closed);
                67
            }
            Self::Exit(exit) => {
                exit.write(&mut w);
                68
            }
            Self::Refused { id, reason, errno } => {
                w.raw(&id.0);
                w.u8(*reason as u8);
                w.i32(*errno);
                69
            }
            Self::Table(entries) => {
                w.list(entries, |w, entry| entry.write(w));
                70
            }
            Self::Facts(facts) => {
                write_facts(facts, &mut w);
                71
            }
            Self::Pong { nonce } => {
                w.u64(*nonce);
                72
            }
            Self::Nonce(nonce) => {
                w.raw(&nonce.0);
                73
            }
        };
        frame::put(kind, &w.0, out);
    }

    /// Decodes a message; the whole payload must be used.
    pub fn decode(kind: u8, payload: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        let message = match kind {
            64 => Self::Hello(Hello::read(&mut r)?),
            65 => Self::Started {
                id: r.id()?,
                pid: r.i32()?,
                known: r.bool("known")?,
                input: r.u64()?,
                open: r.bool("open")?,
            },
            OUTPUT_KIND => {
                let (id, stream, offset, seq) = read_output_prefix(&mut r)?;
                Self::Output(Output { id, stream, offset, seq, data: r.rest().to_vec() })
            }
            67 => Self::StdinTaken { id: r.id()?, offset: r.u64()?, closed: r.bool("closed")? },
            68 => Self::Exit(Box::new(Exit::read(&mut r)?)),
            69 => Self::Refused { id: r.id()?, reason: Refusal::read(r.u8()?)?, errno: r.i32()? },
            70 => Self::Table(r.list(Entry::read)?),
            71 => Self::Facts(Box::new(read_facts(&mut r)?)),
            72 => Self::Pong { nonce: r.u64()? },
            73 => Self::Nonce(Nonce(r.array()?)),
            other => return Err(WireError::Kind(other)),
        };
        r.end()?;
        Ok(message)
    }
}

/// Header and prefix of an output frame whose `len` bytes of data follow from elsewhere.
pub fn output_head(
    id: CommandId,
    stream: Stream,
    offset: u64,
    seq: u64,
    len: usize,
) -> [u8; frame::HEADER + OUTPUT_PREFIX] {
    let mut head = [0; frame::HEADER + OUTPUT_PREFIX];
    let (front, back) = head.split_at_mut(frame::HEADER);
    front.copy_from_slice(&frame::header(OUTPUT_KIND, OUTPUT_PREFIX + len, false));
    back.copy_from_slice(&output_prefix(id, stream, offset, seq));
    head
}

fn output_prefix(id: CommandId, stream: Stream, offset: u64, seq: u64) -> [u8; OUTPUT_PREFIX] {
    let mut prefix = [0; OUTPUT_PREFIX];
    let fields = id.0.into_iter().chain([stream as u8]).chain(offset.to_le_bytes()).chain(seq.to_le_bytes());
    for (place, byte) in prefix.iter_mut().zip(fields) {
        *place = byte;
    }
    prefix
}

/// The fields of an output message; its data is the payload from [`OUTPUT_PREFIX`] on.
pub fn output_fields(payload: &[u8]) -> Result<(CommandId, Stream, u64, u64), WireError> {
    read_output_prefix(&mut Reader::new(payload))
}

fn read_output_prefix(r: &mut Reader<'_>) -> Result<(CommandId, Stream, u64, u64), WireError> {
    let id = r.id()?;
    let stream = match r.u8()? {
        0 => Stream::Stdout,
        1 => Stream::Stderr,
        _ => return Err(WireError::Value("stream")),
    };
    Ok((id, stream, r.u64()?, r.u64()?))
}

impl Refusal {
    fn read(value: u8) -> Result<Self, WireError> {
        Ok(match value {
            1 => Self::Unknown,
            2 => Self::NotOwner,
            3 => Self::Full,
            4 => Self::Invalid,
            5 => Self::Stopping,
            6 => Self::System,
            _ => return Err(WireError::Value("refusal")),
        })
    }
}

impl Cause {
    /// The cause of this number.
    pub fn from_number(value: u8) -> Option<Self> {
        Some(match value {
            0 => Self::Ended,
            1 => Self::Timeout,
            2 => Self::Silence,
            3 => Self::Killed,
            4 => Self::OwnerLost,
            5 => Self::SupervisorLost,
            6 => Self::Stopped,
            7 => Self::NotStarted,
            8 => Self::OutputLimit,
            9 => Self::CpuLimit,
            10 => Self::MemoryLimit,
            11 => Self::ProcessLimit,
            _ => return None,
        })
    }
}

impl Exit {
    fn write(&self, w: &mut Writer) {
        w.raw(&self.id.0);
        w.u8(self.cause as u8);
        w.i32(self.code);
        w.i32(self.signal);
        w.u8(self.stage);
        w.i32(self.errno);
        for value in
            [self.wall_us, self.user_us, self.system_us, self.peak_kib, self.stdout_bytes, self.stderr_bytes]
        {
            w.u64(value);
        }
        w.u32(self.oom_kills);
        w.u32(self.pids_hits);
        w.bool(self.alone);
        w.u32(self.leftovers);
        w.bool(self.held);
        w.u32(self.termed);
        w.u32(self.killed);
        w.bool(self.proven);
        w.list(&self.full, |w, path| w.bytes(path.as_bytes()));
        self.held_limits.write(w);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            id: r.id()?,
            cause: Cause::from_number(r.u8()?).ok_or(WireError::Value("cause"))?,
            code: r.i32()?,
            signal: r.i32()?,
            stage: r.u8()?,
            errno: r.i32()?,
            wall_us: r.u64()?,
            user_us: r.u64()?,
            system_us: r.u64()?,
            peak_kib: r.u64()?,
            stdout_bytes: r.u64()?,
            stderr_bytes: r.u64()?,
            oom_kills: r.u32()?,
            pids_hits: r.u32()?,
            alone: r.bool("alone")?,
            leftovers: r.u32()?,
            held: r.bool("held")?,
            termed: r.u32()?,
            killed: r.u32()?,
            proven: r.bool("proven")?,
            full: r.list(Reader::text)?,
            held_limits: Held::read(r)?,
        })
    }
}

impl Entry {
    fn write(&self, w: &mut Writer) {
        w.raw(&self.id.0);
        w.i32(self.pid);
        w.bool(self.running);
        w.bool(self.owned);
        w.u64(self.age_ms);
        w.u64(self.acked);
        w.u64(self.written);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            id: r.id()?,
            pid: r.i32()?,
            running: r.bool("running")?,
            owned: r.bool("owned")?,
            age_ms: r.u64()?,
            acked: r.u64()?,
            written: r.u64()?,
        })
    }
}

fn write_facts(facts: &Facts, w: &mut Writer) {
    w.bytes(facts.status.as_bytes());
    w.bytes(facts.mountinfo.as_bytes());
    w.list(&facts.limits, |w, (name, value)| {
        w.bytes(name.as_bytes());
        w.bytes(value.as_bytes());
    });
    w.list(&facts.interfaces, |w, name| w.bytes(name.as_bytes()));
    w.list(&facts.paths, |w, path| {
        w.bytes(path.path.as_bytes());
        w.i32(path.errno);
        w.u64(path.dev);
        w.u64(path.ino);
        w.u32(path.mode);
        w.u32(path.uid);
        w.u32(path.gid);
        w.bool(path.read_only);
        w.bool(path.noexec);
    });
}

fn read_facts(r: &mut Reader<'_>) -> Result<Facts, WireError> {
    Ok(Facts {
        status: r.text()?,
        mountinfo: r.text()?,
        limits: r.list(|r| Ok((r.text()?, r.text()?)))?,
        interfaces: r.list(Reader::text)?,
        paths: r.list(|r| {
            Ok(PathFacts {
                path: r.text()?,
                errno: r.i32()?,
                dev: r.u64()?,
                ino: r.u64()?,
                mode: r.u32()?,
                uid: r.u32()?,
                gid: r.u32()?,
                read_only: r.bool("read_only")?,
                noexec: r.bool("noexec")?,
            })
        })?,
    })
}
