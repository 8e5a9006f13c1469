//! Why a proxy does not serve.

use std::path::PathBuf;

use crate::error::{Diagnose, Report};

/// Why a proxy does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A root that allows too much or nothing.
    #[error("{} is no root for mounts", root.display())]
    Root {
        /// As given.
        root: PathBuf,
    },
    /// A network mode that shares another's network.
    #[error("network {name:?} is not one that sandboxes may have")]
    Network {
        /// As given.
        name: String,
    },
    /// A profile that confines nothing.
    #[error("profile {name:?} is not one that sandboxes may have")]
    Profile {
        /// As given.
        name: String,
    },
    /// A root in a place that no sandbox gets.
    #[error("{} meets {}, which no sandbox gets ({group})", root.display(), blocked.display())]
    DeniedRoot {
        /// As given.
        root: PathBuf,
        /// The denied place.
        blocked: PathBuf,
        /// Why it is denied.
        group: &'static str,
    },
    /// A root that is no directory, or not the one that its name says.
    #[error("{}: {reason}", root.display())]
    NoRoot {
        /// As given.
        root: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A directory that cannot hold pins.
    #[error("{} cannot hold mounts of the proxy's own: {reason}", dir.display())]
    Pins {
        /// As given.
        dir: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A socket or the pins, where sandboxes could mount them.
    #[error("{} lies below {}, which sandboxes may mount", path.display(), root.display())]
    InRoot {
        /// The socket, or the directory of the pins.
        path: PathBuf,
        /// The root.
        root: PathBuf,
        /// What names it.
        rule: &'static str,
    },
    /// The socket cannot be made.
    #[error("{path}: {action}: {source}")]
    Socket {
        /// Its path.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Somebody else listens there.
    #[error("{path}: somebody listens there already")]
    Taken {
        /// The socket.
        path: PathBuf,
    },
}

impl Diagnose for ProxyError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Root { .. } => (
                "CRL-PROXY-001",
                "--root",
                "name an absolute directory below /, without `.`, `..` or a slash at its end".to_owned(),
            ),
            Self::Network { .. } => (
                "CRL-PROXY-002",
                "--network",
                "name a network of the engine; never the host's, and never another container's".to_owned(),
            ),
            Self::Profile { .. } => (
                "CRL-PROXY-005",
                "--apparmor",
                "name a profile that confines, or leave it out: the engine's own is always allowed"
                    .to_owned(),
            ),
            Self::DeniedRoot { .. } => (
                "CRL-PROXY-006",
                "--root",
                "name a directory that holds nothing but what sandboxes may see, such as /srv/creel"
                    .to_owned(),
            ),
            Self::NoRoot { .. } => (
                "CRL-PROXY-007",
                "--root",
                "make the directory first, and name it by its path without links".to_owned(),
            ),
            Self::InRoot { rule, .. } => (
                "CRL-PROXY-008",
                *rule,
                "put it elsewhere, such as below /run/creel, or name a narrower --root".to_owned(),
            ),
            Self::Pins { .. } => (
                "CRL-PROXY-009",
                "--pins",
                "name a directory of root's own with mode 0700, and run the proxy as root on the engine's host; or leave \
                 --pins out"
                    .to_owned(),
            ),
            Self::Socket { path, .. } => {
                ("CRL-PROXY-003", "--listen", format!("make the directory of {} writable", path.display()))
            }
            Self::Taken { .. } => {
                ("CRL-PROXY-004", "--listen", "stop the other proxy, or listen elsewhere".to_owned())
            }
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix }
    }
}
