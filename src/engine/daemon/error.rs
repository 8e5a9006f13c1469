//! Why an engine cannot be brought up or taken down.

use std::path::PathBuf;

use crate::engine::EngineError;
use crate::error::{Diagnose, Report};
use crate::state::StateError;

/// Why an engine cannot be brought up or taken down.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// An engine is there, or was named, and cannot be used: starting another would not help.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Only root can install and start an engine.
    #[error("no container engine answers, and only root can start one")]
    NotRoot,
    /// creel knows how to install an engine on Debian and its relatives only.
    #[error("no container engine is installed, and creel cannot install one on {distribution}")]
    Unsupported {
        /// The distribution's own name.
        distribution: String,
    },
    /// The person at the terminal said no.
    #[error("not started: declined")]
    Declined,
    /// A program of the host failed.
    #[error("{command} failed:\n{output}")]
    Tool {
        /// The command line.
        command: String,
        /// The end of what it said.
        output: String,
    },
    /// The engine did not come up.
    #[error("dockerd did not come up; the end of its log:\n{tail}")]
    Start {
        /// Its log.
        log: PathBuf,
        /// The end of the log.
        tail: String,
    },
    /// It was told to stop and is still there.
    #[error("dockerd (process {pid}) was told to stop and is still running")]
    StillRunning {
        /// Its process id.
        pid: i32,
    },
    /// A file or process could not be dealt with.
    #[error("{action}: {source}")]
    Io {
        /// What was tried, naming the thing.
        action: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

impl DaemonError {
    /// For `map_err`.
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}

impl Diagnose for DaemonError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Engine(error) => return error.report(),
            Self::State(error) => return error.report(),
            Self::NotRoot => (
                "CRL-ENGINE-030",
                "run `sudo creel engine up`, or start a rootless Docker or Podman of your own".to_owned(),
            ),
            Self::Unsupported { .. } => (
                "CRL-ENGINE-031",
                "install Docker or Podman with the system's package manager and start it; creel then finds it"
                    .to_owned(),
            ),
            Self::Declined => ("CRL-ENGINE-032", "run it again and answer yes, or pass --yes".to_owned()),
            Self::Tool { .. } => ("CRL-ENGINE-033", "correct what the output names and run it again".to_owned()),
            Self::Start { log, .. } => {
                ("CRL-ENGINE-034", format!("read {}, correct the cause, run it again", log.display()))
            }
            Self::StillRunning { pid } => {
                ("CRL-ENGINE-035", format!("wait, or end it yourself: kill -KILL {pid}"))
            }
            Self::Io { .. } => ("CRL-ENGINE-036", "correct what the message names".to_owned()),
        };
        Report { code, message: self.to_string(), rule: None, fix }
    }
}
