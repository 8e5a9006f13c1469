//! Why a sandbox cannot be had.

use std::path::PathBuf;
use std::time::Duration;

use super::blame;
use super::meet::MeetError;
use super::prove::Check;
use super::request::ALLOW_UNENFORCED_KEY;
use crate::engine::EngineError;
use crate::error::{Diagnose, Report};
use crate::paths::{HoldError, MountHit};
use crate::state::StateError;

/// Why a sandbox cannot be made, used or removed.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The source of a mount cannot be held.
    #[error(transparent)]
    Hold(#[from] HoldError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// A file of the sandbox's state cannot be used.
    #[error("{path}: {action}: {source}")]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The name cannot be a container name.
    #[error("`{name}` is not a container name")]
    BadName {
        /// The name, escaped.
        name: String,
    },
    /// creel-init was not found.
    #[error("creel-init was not found; looked at {}", list(.tried))]
    InitMissing {
        /// Where it was looked for.
        tried: Vec<PathBuf>,
    },
    /// creel-init cannot run in a container.
    #[error("{path} cannot be PID 1 of a sandbox: {reason}")]
    InitUnusable {
        /// The binary.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The directory that creel-init is copied to does not allow execution.
    #[error("{dir} is on a file system mounted noexec: creel-init cannot be started from there")]
    NoExec {
        /// The directory.
        dir: PathBuf,
    },
    /// The engine does not see this machine's files.
    #[error("the engine at {endpoint} does not share this machine's file system")]
    RemoteEngine {
        /// The engine's endpoint.
        endpoint: String,
    },
    /// creel runs in a container, and the engine knows no path for one of creel's own.
    #[error("creel runs in a container, and {path} is on nothing that is mounted from the host (mounted: {})", list(.mounts))]
    Untranslatable {
        /// The path in creel's container.
        path: PathBuf,
        /// What is mounted from the host.
        mounts: Vec<PathBuf>,
    },
    /// creel runs in a container, and a path that looks harmless there is a denied one on the host.
    #[error("{path} is {host} on the host, which is denied there ({group})")]
    DeniedOnHost {
        /// The path in creel's container.
        path: PathBuf,
        /// The same on the host.
        host: PathBuf,
        /// Why it is denied.
        group: &'static str,
    },
    /// A container that is not ours has the name.
    #[error("container {name} ({id}) exists but {owner}; it is left alone")]
    Foreign {
        /// The container's name.
        name: String,
        /// Its short id.
        id: String,
        /// Whose it is, as a clause.
        owner: String,
    },
    /// Another process held the sandbox's lock for too long.
    #[error("sandbox {name} has been locked by another process for {} s", .waited.as_secs())]
    Locked {
        /// The container's name.
        name: String,
        /// How long this process waited.
        waited: Duration,
    },
    /// The name was taken again and again by others while this process tried to create it.
    #[error("sandbox {name} keeps being created and removed by somebody else")]
    Contended {
        /// The container's name.
        name: String,
    },
    /// Somebody uses the sandbox.
    #[error("sandbox {name} is in use ({leases} hold it)")]
    Leased {
        /// The container's name.
        name: String,
        /// How many leases are live.
        leases: usize,
    },
    /// Commands run in the sandbox whose creel is gone.
    #[error("sandbox {name} runs {commands} command(s) whose creel is gone")]
    Busy {
        /// The container's name.
        name: String,
        /// How many commands run.
        commands: usize,
    },
    /// It was open, and is not there any more.
    #[error("sandbox {name} was stopped or removed: its container is {status}")]
    Gone {
        /// The container's name.
        name: String,
        /// What the engine says of it: `removed`, `exited`, …
        status: String,
    },
    /// The container is paused.
    #[error("sandbox {name} is paused")]
    Paused {
        /// The container's name.
        name: String,
    },
    /// A container in use mounts other things than the configuration asks for now.
    #[error("sandbox {name} is in use, or was within the last 5 minutes, and differs from the configuration, its mounts included: {}", .drift.join("; "))]
    DriftedHot {
        /// The container's name.
        name: String,
        /// What differs.
        drift: Vec<String>,
        /// The command that makes it anew.
        hint: String,
    },
    /// A container in use has no proof of its start.
    #[error("sandbox {name} is in use but nothing proves what it is")]
    Unproven {
        /// The container's name.
        name: String,
    },
    /// PID 1 ended right after the start.
    #[error("sandbox {name} ended at start: {reason}{}", tail(.log))]
    StartFailed {
        /// The container's name.
        name: String,
        /// Exit code and the engine's own words.
        reason: String,
        /// The options in effect.
        options: String,
        /// Last lines of its output.
        log: String,
        /// The engine has no GPU to give.
        gpus: bool,
    },
    /// The network that it should join is not there.
    #[error("sandbox {name} cannot join the network {network:?}: {reason}")]
    Network {
        /// The container's name.
        name: String,
        /// The network as configured.
        network: String,
        /// The engine's words.
        reason: String,
    },
    /// Init did not come to the rendezvous, or did not answer.
    #[error("creel-init of sandbox {name} was not met: {source}{}", tail(.log))]
    Meet {
        /// The container's name.
        name: String,
        /// Why.
        source: MeetError,
        /// Last lines of the container's output.
        log: String,
    },
    /// The set-up command failed.
    #[error("the set-up of sandbox {name} failed: {source}")]
    Setup {
        /// The container's name.
        name: String,
        /// Why, with its output.
        source: MeetError,
    },
    /// The kernel does not enforce what was asked for.
    #[error("sandbox {name} was removed, the kernel does not enforce: {}", told(.gaps))]
    NotEnforced {
        /// The container's name.
        name: String,
        /// The failed checks.
        gaps: Vec<Check>,
    },
    /// A mount that came along with a directory shows a denied path of the host.
    #[error("sandbox {name} was removed: at {} in it is mounted {}", hit.point.display(), hit.shown.what())]
    DeniedMount {
        /// The container's name.
        name: String,
        /// What was found; its mount point is the container's.
        hit: Box<MountHit>,
    },
    /// The workspace or a mount point in it cannot be used.
    #[error("workspace {path}: {reason}")]
    Workspace {
        /// The path concerned.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn tail(log: &str) -> String {
    if log.trim().is_empty() { String::new() } else { format!("; last output: {}", log.trim()) }
}

fn told(checks: &[Check]) -> String {
    let one =
        |check: &Check| format!("{} (asked {}, observed {})", check.title(), check.asked, check.observed);
    checks.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl SandboxError {
    /// The setting (`docker.network`) that this is about, where it is one of the configuration's.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            Self::Network { .. } => Some("docker.network"),
            Self::StartFailed { gpus: true, .. } => Some("docker.gpus"),
            Self::Setup { .. } => Some("docker.setupCommand"),
            _ => None,
        }
    }

    /// Wraps an error of the operating system.
    pub(super) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, action, source }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Engine(inner) => inner.report().code,
            Self::Hold(inner) => inner.report().code,
            Self::State(inner) => inner.report().code,
            Self::Io { .. } => "CRL-SANDBOX-001",
            Self::BadName { .. } => "CRL-SANDBOX-002",
            Self::InitMissing { .. } => "CRL-SANDBOX-003",
            Self::InitUnusable { .. } => "CRL-SANDBOX-004",
            Self::NoExec { .. } => "CRL-SANDBOX-005",
            Self::RemoteEngine { .. } => "CRL-SANDBOX-006",
            Self::Foreign { .. } => "CRL-SANDBOX-008",
            Self::Locked { .. } => "CRL-SANDBOX-009",
            Self::Contended { .. } => "CRL-SANDBOX-010",
            Self::Leased { .. } => "CRL-SANDBOX-011",
            Self::Paused { .. } => "CRL-SANDBOX-012",
            Self::Unproven { .. } => "CRL-SANDBOX-007",
            Self::DriftedHot { .. } => "CRL-SANDBOX-013",
            Self::StartFailed { .. } => "CRL-SANDBOX-014",
            Self::Meet { .. } => "CRL-SANDBOX-015",
            Self::Setup { .. } => "CRL-SANDBOX-016",
            Self::NotEnforced { .. } => "CRL-SANDBOX-017",
            Self::Workspace { .. } => "CRL-SANDBOX-018",
            Self::Untranslatable { .. } => "CRL-SANDBOX-019",
            Self::DeniedOnHost { .. } => "CRL-SANDBOX-020",
            Self::DeniedMount { .. } => "CRL-SANDBOX-021",
            Self::Busy { .. } => "CRL-SANDBOX-030",
            Self::Gone { .. } => "CRL-SANDBOX-031",
            Self::Network { .. } => "CRL-SANDBOX-032",
        }
    }

    fn rule(&self) -> &'static str {
        match self {
            Self::Io { .. } | Self::NoExec { .. } => "CREEL_STATE_DIR",
            Self::BadName { .. } => "agents.defaults.sandbox.docker.containerPrefix",
            Self::InitMissing { .. } | Self::InitUnusable { .. } => "CREEL_INIT",
            Self::RemoteEngine { .. } => "built-in: init needs a shared file system",
            Self::StartFailed { gpus: true, .. } => "agents.defaults.sandbox.docker.gpus",
            Self::Network { .. } => "agents.defaults.sandbox.docker.network",
            Self::Setup { .. } => "agents.defaults.sandbox.docker.setupCommand",
            Self::NotEnforced { .. } => ALLOW_UNENFORCED_KEY,
            Self::Workspace { .. } => "agents.defaults.workspace",
            Self::Untranslatable { .. } => "built-in: what a sandbox mounts is on the engine's host",
            Self::DeniedOnHost { .. } => "built-in: denied host paths",
            Self::DeniedMount { .. } => "built-in: bind-denied-by-mount",
            Self::Gone { .. } => "built-in: a sandbox that ended is never started again",
            Self::Foreign { .. } => "built-in: foreign containers are never adopted",
            Self::DriftedHot { .. } | Self::Leased { .. } | Self::Busy { .. } => {
                "built-in: a sandbox in use is not removed"
            }
            _ => "built-in: a sandbox is ready before it is used",
        }
    }

    fn fix(&self) -> String {
        match self {
            Self::Engine(inner) => inner.report().fix,
            Self::Hold(inner) => inner.report().fix,
            Self::State(inner) => inner.report().fix,
            Self::Io { path, .. } => format!("make {} usable for this user", path.display()),
            Self::BadName { .. } => "use a prefix of letters, digits, `_`, `.` and `-`".to_owned(),
            Self::InitMissing { .. } => {
                "run `make install` in creel's sources, which puts it beside the `creel` in PATH, or set CREEL_INIT to the creel-init binary".to_owned()
            }
            Self::InitUnusable { .. } => {
                "build it with `make init`, which links it statically for this machine".to_owned()
            }
            Self::NoExec { .. } => {
                "set CREEL_STATE_DIR to a directory on a file system mounted exec".to_owned()
            }
            Self::RemoteEngine { .. } => "use the engine of this machine (a unix socket)".to_owned(),
            Self::Foreign { name, .. } => {
                format!("remove or rename {name} yourself, or set another containerPrefix")
            }
            Self::Locked { .. } | Self::Contended { .. } => {
                "try again when the other process is done".to_owned()
            }
            Self::Unproven { name } | Self::Leased { name, .. } => {
                format!("end its commands, or stop {name} with --force")
            }
            Self::Busy { name, .. } => {
                format!(
                    "a foreground command ends by itself half a minute after its creel; or stop {name} with --force"
                )
            }
            Self::Gone { .. } => {
                "open it again, which makes a new one (with `creel exec`: run it again); see who stopped it, or whether its idle limit did"
                    .to_owned()
            }
            Self::Paused { name } => format!("unpause {name}, or stop it with --force"),
            Self::DriftedHot { hint, .. } => format!("when its commands are done: {hint}"),
            Self::StartFailed { gpus: true, .. } => {
                "install the GPU vendor's toolkit for this engine, or remove docker.gpus".to_owned()
            }
            Self::Network { network, .. } => match blame::joined(network) {
                Some(container) => format!("start container {container}, or write another docker.network"),
                None => {
                    format!(
                        "docker network create {network}, or write \"none\" or \"bridge\" in docker.network"
                    )
                }
            },
            Self::StartFailed { options, .. } => {
                format!("check the image against the options in effect: {options}")
            }
            Self::Meet { .. } => {
                "look at the sandbox's output above; `creel engine status` shows what the engine can do"
                    .to_owned()
            }
            Self::Setup { .. } => {
                "correct the command; it runs in the sandbox, with its network and user".to_owned()
            }
            Self::NotEnforced { gaps, .. } => {
                let rules: Vec<_> = gaps.iter().map(|gap| gap.rule.as_str()).collect();
                format!(
                    "use an engine that enforces it, or accept the gap: {ALLOW_UNENFORCED_KEY}: {rules:?}"
                )
            }
            Self::Workspace { .. } => "choose another workspace, or correct its owner and links".to_owned(),
            Self::Untranslatable { path, .. } => format!(
                "mount a directory of the host into creel's container at {} or above it, or use one that is mounted",
                path.display()
            ),
            Self::DeniedMount { .. } => {
                "find out who mounts it on the host, umount it there, and run again; no flag opens it"
                    .to_owned()
            }
            Self::DeniedOnHost { .. } => {
                "mount another directory of the host into creel's container".to_owned()
            }
        }
    }
}

impl Diagnose for SandboxError {
    fn report(&self) -> Report {
        let rule = match self {
            Self::Engine(inner) => inner.report().rule,
            Self::Hold(inner) => inner.report().rule,
            Self::State(inner) => inner.report().rule,
            _ => Some(self.rule().to_owned()),
        };
        Report { code: self.code(), message: self.to_string(), rule, fix: self.fix() }
    }
}
