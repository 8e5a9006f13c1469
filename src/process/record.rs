//! What is known of one process session (spec `exec.md` §5, §7): fixed at its beginning, and how it stands. Pure values;
//! the store keeps them, the tools show them.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::approvals::policy::Target;
use crate::runner::Outcome;

/// The name by which a caller knows a session (spec `exec.md` §7.1): two words, or more where these are taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the init is that runs the command, so that another creel finds it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Place {
    /// PID 1 of a sandbox's container.
    Sandbox {
        /// The container's name.
        name: String,
        /// The container's id: another container of the same name is not the place.
        container: String,
    },
    /// A detached supervisor beside the gateway, which looks for hosts in this directory.
    Host {
        /// Its rendezvous directory.
        dir: PathBuf,
    },
    /// The engine's exec API; what runs there is lost with the creel that started it.
    Engine {
        /// The container's name.
        name: String,
    },
}

/// Where messages about the session go, as the agent host named it. Opaque to creel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Delivery {
    /// Channel or provider.
    pub channel: Option<String>,
    /// Recipient.
    pub to: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Thread.
    pub thread: Option<String>,
}

/// What a session is begun with; nothing of it changes later. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// The agent: the scope of the `process` tool.
    pub agent: String,
    /// The conversation, where known.
    pub session_key: Option<String>,
    /// The caller's own id of the tool call, by which it finds its command again after a restart of creel.
    pub call: Option<String>,
    /// The command as it was asked for.
    pub command: String,
    /// A short purpose for people.
    pub title: Option<String>,
    /// The working directory as results show it.
    pub cwd: String,
    /// Which host it runs on.
    pub host: Target,
    /// Where its init is.
    pub place: Place,
    /// It runs behind creel's own shell: a missing program is the shell's.
    pub shell: bool,
    /// Rows and columns of its terminal.
    pub tty: Option<(u16, u16)>,
    /// Its standard input is open.
    pub stdin: bool,
    /// Limit on its whole life; `None` is none.
    pub timeout_ms: Option<u64>,
    /// Limit on silence; `None` is none.
    pub silence_ms: Option<u64>,
    /// Between TERM and KILL.
    pub grace_ms: u64,
    /// How long a finished record is kept.
    pub cleanup_ms: u64,
    /// A notice follows its end once it is in the background.
    pub notify_on_exit: bool,
    /// A notice follows even success without output.
    pub notify_empty_success: bool,
    /// It belongs to a subagent, which polls and is not woken.
    pub subagent: bool,
    /// Where notices go.
    pub delivery: Delivery,
    /// The approval under which it runs; names it in events.
    pub approval: Option<String>,
    /// An approved command that goes on in the background is told of once after this; 0 is never.
    #[serde(default)]
    pub running_notice_ms: u64,
    /// Most characters of the aggregate (spec `exec.md` §6.2).
    pub max_aggregate: usize,
    /// Most characters pending of each stream.
    pub max_pending: usize,
}

/// How far a session has come (spec `exec.md` §5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Recorded, not known to run.
    Starting,
    /// Its caller waits for it.
    Foreground,
    /// It goes on by itself.
    Background,
    /// It has ended.
    Finished,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// The outcome as the runner gave it.
    pub outcome: Outcome,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// Somebody asked for its end (`kill`, `remove`).
    pub requested: bool,
    /// The result could not be had from its init; why. The outcome is then the best that is known.
    pub lost: Option<String>,
}

/// A session as it stands now: a copy, complete and consistent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub id: SessionId,
    /// What it was begun with.
    pub begin: Begin,
    /// How far it has come.
    pub phase: Phase,
    /// It is or was in the background: `process` knows it, also after its end.
    pub backgrounded: bool,
    /// Its command has ended and its end is being stored: it takes no requests.
    pub finalizing: bool,
    /// Milliseconds since the epoch.
    pub started_at_ms: u64,
    /// Its process id (in its container, or on the host), once known.
    pub pid: Option<i32>,
    /// Its input takes more.
    pub stdin_writable: bool,
    /// When it last printed, milliseconds since the epoch; its start where it has not.
    pub last_output_ms: u64,
    /// Bytes of both streams so far.
    pub written: u64,
    /// Output was dropped for good at the front of the aggregate.
    pub lost_output: bool,
    /// Output was dropped from what a poll shows.
    pub lost_pending: bool,
    /// Its end.
    pub end: Option<End>,
}

impl View {
    /// Nothing but a result for its caller: it ended in the foreground, and no list shows it.
    pub fn is_delivery(&self) -> bool {
        self.end.is_some() && !self.backgrounded
    }
}
