//! Messages from the host to init.

use super::codec::{Reader, WireError, Writer};
use super::{CommandId, Hello, Limits, Pin, frame};

/// A message to init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToInit {
    /// First message on every connection.
    Hello(Hello),
    /// Start a command. Idempotent by id: a known id is answered with its state.
    Spawn(Box<Spawn>),
    /// Bytes for standard input at `offset` of that stream; empty with `eof` closes it.
    Stdin {
        /// The command.
        id: CommandId,
        /// Position of the first byte; what init already has is skipped.
        offset: u64,
        /// Nothing follows.
        eof: bool,
        /// The bytes.
        data: Vec<u8>,
    },
    /// Send a signal to every process of the command.
    Signal {
        /// The command.
        id: CommandId,
        /// Signal number.
        signal: i32,
    },
    /// End the command's whole tree: TERM, `grace_ms` later KILL, until nothing is left.
    Kill {
        /// The command.
        id: CommandId,
        /// Milliseconds between TERM and KILL.
        grace_ms: u32,
    },
    /// Output up to this global offset has been taken over; init may forget it.
    Ack {
        /// The command.
        id: CommandId,
        /// Global offset.
        seq: u64,
    },
    /// The terminal has a new size.
    Resize {
        /// The command.
        id: CommandId,
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
    },
    /// Send this command's output and exit to this connection too.
    Attach {
        /// The command.
        id: CommandId,
        /// Become the owner (acknowledgements free the ring); otherwise an observer.
        own: bool,
        /// Global offset to start from; what the ring no longer has is skipped.
        from: u64,
    },
    /// Ask for the table of commands.
    List,
    /// The result has been taken over; init may forget the command.
    Forget {
        /// The command.
        id: CommandId,
    },
    /// Ask what the kernel says of this container and of these paths.
    Probe {
        /// Absolute paths in the container.
        paths: Vec<String>,
    },
    /// Ask for a sign of life.
    Ping {
        /// Comes back in the answer.
        nonce: u64,
    },
    /// End the command when its owner has been gone for this long; 0 is never. Replaces what it was started with.
    Lease {
        /// The command.
        id: CommandId,
        /// Milliseconds.
        lease_ms: u64,
    },
    /// Ask for the nonce that init was given at its start: it proves who answers where the kernel cannot.
    Prove,
}

/// A command to start. Times in milliseconds, 0 for none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spawn {
    /// Chosen by the host.
    pub id: CommandId,
    /// Program and arguments; a program without a slash is looked up along `PATH` of `env`.
    pub argv: Vec<Vec<u8>>,
    /// Environment as `NAME=value`.
    pub env: Vec<Vec<u8>>,
    /// Working directory; empty for init's own.
    pub cwd: Vec<u8>,
    /// Keep standard input open for [`ToInit::Stdin`]; otherwise it is at its end at once.
    pub stdin: bool,
    /// Run on a terminal of this many rows and columns; `(0, 0)` for pipes.
    pub pty: (u16, u16),
    /// End the command this long after its start.
    pub timeout_ms: u64,
    /// End the command when it has printed nothing for this long.
    pub silence_ms: u64,
    /// Time between TERM and KILL.
    pub grace_ms: u32,
    /// How long output is awaited after the command's own process ended while something else holds the pipe.
    pub drain_ms: u32,
    /// End the command when its owner has been gone for this long.
    pub lease_ms: u64,
    /// Leave background processes alone when the command itself ends.
    pub keep_leftovers: bool,
    /// Bytes of output kept until acknowledged; init clamps it.
    pub ring: u32,
    /// What it may use at most.
    pub limits: Limits,
    /// The program's file where its name in `argv` is another; empty: the first of `argv`.
    pub program: Vec<u8>,
    /// What must still be what it was; anything else, and nothing runs.
    pub pins: Vec<Pin>,
}

impl ToInit {
    /// Appends the message to `out` as frames.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::default();
        let kind = match self {
            Self::Hello(hello) => {
                hello.write(&mut w);
                1
            }
            Self::Spawn(spawn) => {
                spawn.write(&mut w);
                2
            }
            Self::Stdin { id, offset, eof, data } => {
                w.raw(&id.0);
                w.u64(*offset);
                w.bool(*eof);
                w.raw(data);
                3
            }
            Self::Signal { id, signal } => {
                w.raw(&id.0);
                w.i32(*signal);
                4
            }
            Self::Kill { id, grace_ms } => {
                w.raw(&id.0);
                w.u32(*grace_ms);
                5
            }
            Self::Ack { id, seq } => {
                w.raw(&id.0);
                w.u64(*seq);
                6
            }
            Self::Resize { id, rows, cols } => {
                w.raw(&id.0);
                w.u16(*rows);
                w.u16(*cols);
                7
            }
            Self::Attach { id, own, from } => {
                w.raw(&id.0);
                w.bool(*own);
                w.u64(*from);
                8
            }
            Self::List => 9,
            Self::Forget { id } => {
                w.raw(&id.0);
                10
            }
            Self::Probe { paths } => {
                w.list(paths, |w, path| w.bytes(path.as_bytes()));
                11
            }
            Self::Ping { nonce } => {
                w.u64(*nonce);
                12
            }
            Self::Prove => 13,
            Self::Lease { id, lease_ms } => {
                w.raw(&id.0);
                w.u64(*lease_ms);
                14
            }
        };
        frame::put(kind, &w.0, out);
    }

    /// Decodes a message; the whole payload must be used.
    pub fn decode(kind: u8, payload: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(payload);
        let message = match kind {
            1 => Self::Hello(Hello::read(&mut r)?),
            2 => Self::Spawn(Box::new(Spawn::read(&mut r)?)),
            3 => Self::Stdin { id: r.id()?, offset: r.u64()?, eof: r.bool("eof")?, data: r.rest().to_vec() },
            4 => Self::Signal { id: r.id()?, signal: r.i32()? },
            5 => Self::Kill { id: r.id()?, grace_ms: r.u32()? },
            6 => Self::Ack { id: r.id()?, seq: r.u64()? },
            7 => Self::Resize { id: r.id()?, rows: r.u16()?, cols: r.u16()? },
            8 => Self::Attach { id: r.id()?, own: r.bool("own")?, from: r.u64()? },
            9 => Self::List,
            10 => Self::Forget { id: r.id()? },
            11 => Self::Probe { paths: r.list(Reader::text)? },
            12 => Self::Ping { nonce: r.u64()? },
            13 => Self::Prove,
            14 => Self::Lease { id: r.id()?, lease_ms: r.u64()? },
            other => return Err(WireError::Kind(other)),
        };
        r.end()?;
        Ok(message)
    }
}

impl Spawn {
    fn write(&self, w: &mut Writer) {
        w.raw(&self.id.0);
        w.list(&self.argv, |w, text| w.bytes(text));
        w.list(&self.env, |w, text| w.bytes(text));
        w.bytes(&self.cwd);
        w.bool(self.stdin);
        w.u16(self.pty.0);
        w.u16(self.pty.1);
        w.u64(self.timeout_ms);
        w.u64(self.silence_ms);
        w.u32(self.grace_ms);
        w.u32(self.drain_ms);
        w.u64(self.lease_ms);
        w.bool(self.keep_leftovers);
        w.u32(self.ring);
        self.limits.write(w);
        w.bytes(&self.program);
        w.list(&self.pins, |w, pin| pin.write(w));
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let list = |r: &mut Reader<'_>| r.list(|r| r.bytes().map(<[u8]>::to_vec));
        Ok(Self {
            id: r.id()?,
            argv: list(r)?,
            env: list(r)?,
            cwd: r.bytes()?.to_vec(),
            stdin: r.bool("stdin")?,
            pty: (r.u16()?, r.u16()?),
            timeout_ms: r.u64()?,
            silence_ms: r.u64()?,
            grace_ms: r.u32()?,
            drain_ms: r.u32()?,
            lease_ms: r.u64()?,
            keep_leftovers: r.bool("keep_leftovers")?,
            ring: r.u32()?,
            limits: Limits::read(r)?,
            program: r.bytes()?.to_vec(),
            pins: r.list(Pin::read)?,
        })
    }
}
