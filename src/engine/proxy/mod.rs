//! A filter before the engine's socket: it lets through the calls that creel needs to run its own sandboxes, and no
//! other. For a creel that runs in a container, whose take-over must not be the take-over of the host.
//!
//! | file | concern |
//! |---|---|
//! | `route` | method, path and query → one known call; pure |
//! | `create` | the bodies of calls that make something; pure |
//! | `json` | reading these bodies strictly; pure |
//! | `host` | sources of mounts, as this process sees them |
//! | `gate` | whose container it is |
//! | `serve` | connections |
//!
//! Everything that is not known is refused: calls, parameters, keys, values. What is let through is written anew from
//! what was understood, so that the engine cannot understand something else.

mod create;
mod gate;
mod host;
mod json;
mod route;
mod serve;

use std::path::{Path, PathBuf};

pub use serve::serve;

use crate::error::{Diagnose, Report};
use crate::paths::lexical;
use crate::state::StateDir;

/// Label of a container in which creel runs behind a proxy: it may learn where its own mounts come from.
pub const CLIENT_LABEL: &str = "creel.client";

/// What a proxy lets through.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Where the installation's id is; only its containers are let through.
    pub state: StateDir,
    /// Directories of the host below which a sandbox may mount.
    pub roots: Vec<PathBuf>,
    /// Network modes that a sandbox may have.
    pub networks: Vec<String>,
}

impl Rules {
    /// Checks the roots. No network is allowed but `none`, unless named.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Root`] for a root that is relative, not clean, or the whole host.
    pub fn new(state: StateDir, roots: Vec<PathBuf>, networks: Vec<String>) -> Result<Self, ProxyError> {
        let clean = |root: &Path| root.to_str().is_some_and(|text| lexical::absolute(text) && is_clean(text));
        if let Some(root) = roots.iter().find(|root| !clean(root)) {
            return Err(ProxyError::Root { root: root.clone() });
        }
        let shares = |name: &str| name == "host" || name.contains(':') || name.is_empty();
        if let Some(name) = networks.iter().find(|name| shares(name)) {
            return Err(ProxyError::Network { name: name.clone() });
        }
        let networks = std::iter::once("none".to_owned()).chain(networks).collect();
        Ok(Self { state, roots, networks })
    }
}

/// No empty, `.` or `..` part, no slash at the end; not the root itself.
fn is_clean(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

/// What a call is refused for; the text goes to who called and to the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("creel engine proxy: {0}")]
pub(super) struct Denial(String);

impl Denial {
    fn new(reason: impl Into<String>) -> Self {
        // What is quoted came from the caller.
        Self(reason.into().chars().take(500).map(|one| if one.is_control() { '?' } else { one }).collect())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_allow_the_host_are_no_rules() {
        let rules = |root: &str, network: &str| {
            Rules::new(StateDir::at("/s"), vec![root.into()], vec![network.to_owned()])
        };
        assert_eq!(rules("/srv/creel", "bridge").unwrap().networks, ["none", "bridge"]);
        for root in ["/", "", "srv", "/srv/", "/srv/../etc", "/srv//x", "/srv/."] {
            assert!(matches!(rules(root, "bridge"), Err(ProxyError::Root { .. })), "{root}");
        }
        for network in ["host", "container:x", "ns:/proc/1/ns/net", ""] {
            assert!(matches!(rules("/srv", network), Err(ProxyError::Network { .. })), "{network}");
        }
    }
}
