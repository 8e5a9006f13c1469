//! Why a command could not be handed to a sandbox, or its result not taken back.

use std::path::PathBuf;
use std::time::Duration;

use crate::engine::EngineError;
use crate::error::{Diagnose, Report};
use crate::wire::{CommandId, Refusal};

/// Why a command could not be run or followed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The connection to init.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Init knows no such command: it was never started, or its result was taken over or given up. Nothing more will
    /// come of it.
    #[error("command {id} is not known where it was started")]
    Unknown {
        /// The command.
        id: CommandId,
    },
    /// Standard input was ended before.
    #[error("the input of command {id} was ended before")]
    InputEnded {
        /// The command.
        id: CommandId,
    },
    /// The command does not take its input as fast as it comes.
    #[error("the input of command {id} is full: {waiting} bytes wait to be taken")]
    InputFull {
        /// The command.
        id: CommandId,
        /// Bytes that were sent and not taken.
        waiting: u64,
    },
    /// The transport cannot hold the call's own limits.
    #[error("the call's own limits cannot be held over the engine's exec API; nothing was executed")]
    LimitsNotHeld,
    /// The decision about the command is too old by now.
    #[error("the permit for the command has expired before its start; nothing was executed")]
    PermitExpired,
    /// No random bytes for a command's name.
    #[error("the system gives no random bytes: {reason}")]
    Random {
        /// The operating system's reason.
        reason: String,
    },
}

impl Diagnose for RunError {
    fn report(&self) -> Report {
        match self {
            Self::Link(error) => error.report(),
            Self::Engine(error) => error.report(),
            Self::Unknown { .. } => Report {
                code: "CRL-RUN-002",
                message: self.to_string(),
                rule: Some("built-in: a result is kept until it was taken over, in a sandbox for 10 minutes, beside the gateway for 24 hours".to_owned()),
                fix: "check what the command has done before running it again".to_owned(),
            },
            Self::InputEnded { .. } => Report {
                code: "CRL-RUN-003",
                message: self.to_string(),
                rule: Some("built-in: nothing follows the end of an input".to_owned()),
                fix: "start the command again for more input".to_owned(),
            },
            Self::InputFull { .. } => Report {
                code: "CRL-RUN-004",
                message: self.to_string(),
                rule: Some("built-in: 256 KiB of input may wait for a command".to_owned()),
                fix: "wait until the command has read some, or send it in pieces".to_owned(),
            },
            Self::LimitsNotHeld => Report {
                code: "CRL-RUN-005",
                message: self.to_string(),
                rule: Some("built-in: limits of one call are held by creel-init (--transport)".to_owned()),
                fix: "use --transport init, or leave the limits out".to_owned(),
            },
            Self::PermitExpired => Report {
                code: "CRL-RUN-006",
                message: self.to_string(),
                rule: Some("built-in: an approval of one run is good for a short time".to_owned()),
                fix: "ask again".to_owned(),
            },
            Self::Random { .. } => Report {
                code: "CRL-RUN-001",
                message: self.to_string(),
                rule: Some("built-in: every command has a name that nobody guesses".to_owned()),
                fix: "check that getrandom works on this machine".to_owned(),
            },
        }
    }
}

/// Failures of the connection to init.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The rendezvous directory cannot be used.
    #[error("cannot {action} {path}: {source}")]
    Rendezvous {
        /// Directory or socket.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Nobody dialled.
    #[error("creel-init did not answer in {dir} within {} ms", after.as_millis())]
    NoAnswer {
        /// The rendezvous directory.
        dir: PathBuf,
        /// How long was waited.
        after: Duration,
    },
    /// The kernel cannot say who dialled.
    #[error("cannot prove who dials in {dir}: the peer is outside this process's pid namespace")]
    Unproven {
        /// The rendezvous directory.
        dir: PathBuf,
    },
    /// Processes of the sandbox that are not its init keep dialling.
    #[error("{strangers} processes of the sandbox dialled that are not its init")]
    Flooded {
        /// How many.
        strangers: u32,
    },
    /// Init speaks another version.
    #[error("creel-init speaks protocol {theirs} there, this creel speaks {}", crate::wire::VERSION)]
    Version {
        /// Its version.
        theirs: u16,
    },
    /// Init does not answer or does not read.
    #[error("creel-init is silent")]
    Silent {
        /// How long was waited.
        after: Duration,
    },
    /// The connection is over.
    #[error("the connection to creel-init is lost: {reason}")]
    Lost {
        /// Why.
        reason: String,
    },
    /// No supervisor can be started beside the gateway.
    #[error("{init} did not start a supervisor in {dir}: {reason}")]
    Launch {
        /// The binary.
        init: PathBuf,
        /// The rendezvous directory.
        dir: PathBuf,
        /// What it said, or the operating system's reason.
        reason: String,
    },
    /// Who answers in a supervisor's directory is not the one whose badge lies there.
    #[error("who answers in {dir} is not the supervisor that was started there: {reason}")]
    Impostor {
        /// The rendezvous directory.
        dir: PathBuf,
        /// What does not fit.
        reason: &'static str,
    },
    /// Init refused the command.
    #[error("creel-init refused the command: {}", refusal(*reason, *errno))]
    Refused {
        /// Why.
        reason: Refusal,
        /// The operating system's number, 0 where none.
        errno: i32,
    },
}

fn refusal(reason: Refusal, errno: i32) -> String {
    match reason {
        Refusal::Unknown => "it does not know this command".to_owned(),
        Refusal::NotOwner => "another creel owns it".to_owned(),
        Refusal::Full => "too many commands are running in this sandbox".to_owned(),
        Refusal::Invalid => "the program is empty, or a text holds a NUL byte".to_owned(),
        Refusal::Stopping => "the sandbox is being stopped".to_owned(),
        Refusal::System => std::io::Error::from_raw_os_error(errno).to_string(),
    }
}

fn advice(reason: Refusal) -> &'static str {
    match reason {
        Refusal::Unknown => "it may have ended long ago: results are kept for a while only",
        Refusal::NotOwner => "wait for that creel to end, or follow the command without owning it",
        Refusal::Full => "wait for some to end, or use another session: each has a sandbox of its own",
        Refusal::Invalid => "name a program; no text of a call may hold a NUL byte",
        Refusal::Stopping => "run it again: the next call makes a new sandbox",
        Refusal::System => {
            "memory and pids limits (`sandbox.docker.memory`, `pidsLimit`) count for a whole sandbox"
        }
    }
}

impl LinkError {
    fn rule(&self) -> &'static str {
        match self {
            Self::Rendezvous { .. } => "CREEL_STATE_DIR",
            Self::NoAnswer { .. } => "built-in: creel-init dials creel (--transport)",
            Self::Launch { .. } => "CREEL_INIT",
            Self::Impostor { .. } => "built-in: a supervisor is known by process, start, boot and namespace",
            Self::Unproven { .. } | Self::Flooded { .. } => {
                "built-in: only the sandbox's own init is spoken to, by the kernel's word"
            }
            Self::Version { .. } => "built-in: both ends speak the same version",
            Self::Silent { .. } | Self::Lost { .. } => "built-in: without an answer nothing is assumed",
            Self::Refused { reason, .. } => match reason {
                Refusal::Unknown | Refusal::NotOwner => "built-in: a command has one owner",
                Refusal::Full => "built-in: commands at a time in one sandbox",
                Refusal::Invalid => "built-in: what a program can be given",
                Refusal::Stopping => "built-in: a sandbox that is being stopped starts nothing",
                Refusal::System => "agents.defaults.sandbox.docker.pidsLimit, memory",
            },
        }
    }
}

impl Diagnose for LinkError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Rendezvous { .. } => {
                ("CRL-LINK-001", "check that the state directory is writable for this user")
            }
            Self::NoAnswer { .. } => (
                "CRL-LINK-002",
                "recreate the sandbox (`creel sandbox recreate`), or use --transport engine where the engine runs on \
                 another machine",
            ),
            Self::Unproven { .. } => (
                "CRL-LINK-003",
                "creel runs in a container of another engine, or in a pid namespace of its own: run it beside the engine, \
                 or in a container of the same engine",
            ),
            Self::Flooded { .. } => {
                ("CRL-LINK-004", "stop the sandbox: a process in it floods the rendezvous")
            }
            Self::Version { .. } => ("CRL-LINK-005", "recreate the sandbox: `creel sandbox recreate`"),
            Self::Silent { .. } => ("CRL-LINK-006", "recreate the sandbox: `creel sandbox recreate`"),
            Self::Lost { .. } => {
                ("CRL-LINK-007", "see whether the container still runs: `creel sandbox list`")
            }
            Self::Refused { reason, .. } => ("CRL-LINK-008", advice(*reason)),
            Self::Launch { .. } => (
                "CRL-LINK-009",
                "check that creel-init is executable there (no noexec mount) and that the state directory is writable",
            ),
            Self::Impostor { .. } => {
                ("CRL-LINK-010", "use the state directory from one machine and one pid namespace at a time")
            }
        };
        Report { code, message: self.to_string(), rule: Some(self.rule().to_owned()), fix: fix.to_owned() }
    }
}
