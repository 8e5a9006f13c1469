//! What to create, in words that no engine owns. `engine` translates it; `sandbox` never sees the engine's types.

use std::collections::BTreeMap;

/// Everything the engine needs to create one container.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ContainerSpec {
    /// Container name, unique on the engine.
    pub name: String,
    /// Image reference or id.
    pub image: String,
    /// Program and arguments of PID 1; replaces the image's ENTRYPOINT and CMD.
    pub argv: Vec<String>,
    /// Environment of PID 1. Visible in the engine's inspect output: never put a secret here.
    pub env: Vec<(String, String)>,
    /// Labels, by name.
    pub labels: BTreeMap<String, String>,
    /// `uid:gid`, numeric; `None` keeps the image's user.
    pub user: Option<String>,
    /// Working directory in the container.
    pub workdir: String,
    /// Bind mounts; a missing source is refused by the engine, never created.
    pub mounts: Vec<Mount>,
    /// Temporary file systems.
    pub tmpfs: Vec<Tmpfs>,
    /// Network mode: `none`, `bridge`, a network's name.
    pub network: String,
    /// Name servers.
    pub dns: Vec<String>,
    /// Extra `host:address` entries.
    pub extra_hosts: Vec<String>,
    /// Root file system mounted read-only.
    pub read_only_root: bool,
    /// Capabilities to drop (`ALL`).
    pub cap_drop: Vec<String>,
    /// Seccomp profile as JSON text; `None` is the engine's own profile.
    pub seccomp: Option<String>,
    /// `AppArmor` profile name; `None` is the engine's own profile.
    pub apparmor: Option<String>,
    /// Limits.
    pub limits: Limits,
    /// GPU request as the docker client writes it (`all`, a count), where asked for.
    pub gpus: Option<String>,
    /// Let the engine put its own small init before `argv` (used where creel-init cannot be mounted).
    pub engine_init: bool,
    /// Keep standard input of PID 1 open for the first that attaches to it, see [`super::Engine::attach_input`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stdin: bool,
    /// Seconds between the engine's stop signal and its kill.
    pub stop_timeout_s: u32,
}

/// A bind mount from host to container.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Mount {
    /// Absolute path on the engine's host, already validated and resolved.
    pub source: String,
    /// Absolute path in the container.
    pub target: String,
    /// Mounted read-only.
    pub read_only: bool,
}

/// A temporary file system.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Tmpfs {
    /// Absolute path in the container.
    pub target: String,
    /// Mount options, comma separated (`rw,nosuid,nodev,size=64m`).
    pub options: String,
}

/// Resource limits; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Memory plus swap in bytes; `-1` is unlimited swap.
    pub memory_swap: Option<i64>,
    /// CPU time in billionths of a processor.
    pub nano_cpus: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// rlimits by name.
    pub ulimits: Vec<Ulimit>,
}

/// One rlimit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Ulimit {
    /// Name as in `ulimit`, without the prefix (`nofile`).
    pub name: String,
    /// Soft limit.
    pub soft: i64,
    /// Hard limit.
    pub hard: i64,
}

/// An immutable 64-digit container id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct ContainerId(pub String);

impl ContainerId {
    /// The first 12 digits, as people write ids.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

/// What the engine says of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Its id.
    pub id: ContainerId,
    /// Its name, without the leading slash.
    pub name: String,
    /// Id of the image it was made from.
    pub image_id: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Running (and not paused, restarting or dead).
    pub running: bool,
    /// The engine's own word: `created`, `running`, `exited`, …
    pub status: String,
    /// PID 1's process id on the engine's host while running, else 0.
    pub pid: i32,
    /// When PID 1 last started, as the engine writes it; changes with every restart.
    pub started_at: String,
    /// Exit code of PID 1 after it ended.
    pub exit_code: Option<i64>,
    /// The engine saw the out-of-memory killer end PID 1.
    pub oom_killed: bool,
    /// The engine's own error text for a failed start.
    pub error: String,
    /// Mounts as the engine reports them.
    pub mounts: Vec<Mount>,
}

/// One row of the engine's list of containers: less than [`ContainerFacts`], in one call for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerSummary {
    /// Its id.
    pub id: ContainerId,
    /// Its name, without the leading slash.
    pub name: String,
    /// The image reference it was made from.
    pub image: String,
    /// Id of that image.
    pub image_id: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Running (and not paused, restarting or dead).
    pub running: bool,
    /// The engine's own word: `created`, `running`, `exited`, …
    pub status: String,
    /// When it was made, in seconds since 1970.
    pub created_unix_s: i64,
    /// Mounts as the engine reports them.
    pub mounts: Vec<Mount>,
    /// Ports of the host that lead into it, as `address:port`.
    pub published: Vec<String>,
}

/// What the engine says of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFacts {
    /// Content id (`sha256:…`).
    pub id: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Environment of the image's configuration.
    pub env: Vec<(String, String)>,
    /// User of the image's configuration, empty for root.
    pub user: String,
    /// ENTRYPOINT of the image's configuration.
    pub entrypoint: Vec<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Bytes on disk.
    pub size: u64,
    /// Creation time as the engine writes it.
    pub created: String,
}

impl ImageFacts {
    /// The image's PATH, where it sets one.
    pub fn path(&self) -> Option<&str> {
        self.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str())
    }
}

/// One command through the engine's exec API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Working directory in the container.
    pub workdir: Option<String>,
    /// `uid:gid`; `None` is the container's user.
    pub user: Option<String>,
    /// Keep stdin open and pass it.
    pub stdin: bool,
    /// Terminal of this many rows and columns.
    pub tty: Option<(u16, u16)>,
}

/// State of a command that the engine's exec API runs or ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecFacts {
    /// Still running.
    pub running: bool,
    /// Exit code after it ended.
    pub exit_code: Option<i64>,
    /// Process id on the engine's host, 0 where unknown.
    pub pid: i32,
}

/// A command made through the engine's exec API.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExecId(pub String);

/// Which of a command's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stdio {
    /// Standard output, and everything on a terminal.
    Stdout,
    /// Standard error.
    Stderr,
}
