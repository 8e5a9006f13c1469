//! A filter before the engine's socket: it lets through the calls that creel needs to run its own sandboxes, and no
//! other. For a creel that runs in a container, whose take-over must not be the take-over of the host.
//!
//! | file | concern |
//! |---|---|
//! | `route` | method, path and query → one known call; pure |
//! | `create` | the bodies of calls that make something; pure |
//! | `json` | reading these bodies strictly; pure |
//! | `forms` | the forms of texts in both; pure |
//! | `filters` | filters of lists and of news; pure |
//! | `host` | sources of mounts, as this process sees them |
//! | `pins` | mounts that stand in for sources until the start |
//! | `places` | where roots and sockets may be |
//! | `gate` | whose container it is |
//! | `pass` | one call: read, judged, forwarded |
//! | `crowd` | how many wait and how many are served |
//! | `socket`, `serve` | connections |
//!
//! Everything that is not known is refused: calls, parameters, keys, values. What is let through is written anew from
//! what was understood, so that the engine cannot understand something else.

mod create;
mod crowd;
mod error;
mod filters;
mod forms;
mod gate;
mod host;
mod json;
mod pass;
mod pins;
mod places;
mod route;
mod serve;
mod socket;

use std::path::{Path, PathBuf};

pub use error::ProxyError;
pub use places::follows_links;
pub use serve::serve;

use crate::paths::{DenyEnv, lexical};
use crate::state::StateDir;

/// Label of a container in which creel runs behind a proxy: it may learn where its own mounts come from.
pub const CLIENT_LABEL: &str = "creel.client";

/// The profile of `AppArmor` that every sandbox may have: the engine's own.
const ENGINES_PROFILE: &str = "docker-default";

/// What sandboxes may have, beside what they always may.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    /// Directories of the host below which a sandbox may mount.
    pub roots: Vec<PathBuf>,
    /// Network modes, beside `none`.
    pub networks: Vec<String>,
    /// Profiles of `AppArmor`, beside the engine's own.
    pub profiles: Vec<String>,
    /// Directory of mounts that stand in for the sources of a container until its start: nobody can exchange them. Needs
    /// the right to mount, and the engine's view of mounts. `None`: the engine looks sources up itself.
    pub pins: Option<PathBuf>,
}

/// What a proxy lets through.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Where the installation's id is; only its containers are let through.
    pub(super) state: StateDir,
    /// Directories of the host below which a sandbox may mount.
    pub(super) roots: Vec<PathBuf>,
    /// Network modes that a sandbox may have.
    pub(super) networks: Vec<String>,
    /// Profiles of `AppArmor` that a sandbox may have.
    pub(super) profiles: Vec<String>,
    /// Directory of the pins.
    pub(super) pins: Option<PathBuf>,
    /// What the places on the host are that no sandbox gets.
    pub(super) deny: DenyEnv,
}

impl Rules {
    /// Checks what is allowed, as far as its text tells; [`serve`] looks at the places. No network is allowed but `none`,
    /// unless named.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Root`] for a root that is relative, not clean, or the whole host; [`ProxyError::Network`] and
    /// [`ProxyError::Profile`] for a name that opens the host.
    pub fn new(state: StateDir, allowed: Allowed, deny: DenyEnv) -> Result<Self, ProxyError> {
        let Allowed { roots, networks, profiles, pins } = allowed;
        let clean = |root: &Path| root.to_str().is_some_and(|text| lexical::absolute(text) && is_clean(text));
        if let Some(root) = roots.iter().find(|root| !clean(root)) {
            return Err(ProxyError::Root { root: root.clone() });
        }
        if let Some(dir) = pins.iter().find(|dir| !clean(dir)) {
            let reason = "it is no absolute path without `.`, `..` or a slash at its end".to_owned();
            return Err(ProxyError::Pins { dir: dir.clone(), reason });
        }
        let shares = |name: &str| name.eq_ignore_ascii_case("host") || !forms::name(name);
        if let Some(name) = networks.iter().find(|name| shares(name)) {
            return Err(ProxyError::Network { name: name.clone() });
        }
        if let Some(name) = profiles.iter().find(|name| !forms::profile(name)) {
            return Err(ProxyError::Profile { name: name.clone() });
        }
        let networks = std::iter::once("none".to_owned()).chain(networks).collect();
        let profiles = std::iter::once(ENGINES_PROFILE.to_owned()).chain(profiles).collect();
        Ok(Self { state, roots, networks, profiles, pins, deny })
    }

    /// Where the engine mounts from.
    fn mounted_from(&self) -> &[PathBuf] {
        self.pins.as_ref().map_or(self.roots.as_slice(), std::slice::from_ref)
    }

    /// The roots in which an exchange within a start leads out: links are followed, and nothing is pinned. Who can
    /// write there and has the proxy's socket can, with patience, mount any directory of the host: the engine looks the path up once more after the proxy has looked.
    pub fn open_roots(&self) -> impl Iterator<Item = &Path> {
        let roots = self.roots.iter().filter(|_| self.pins.is_none());
        roots.map(PathBuf::as_path).filter(|root| follows_links(root))
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
    /// Without who says it.
    fn reason(&self) -> &str {
        &self.0
    }

    fn new(reason: impl Into<String>) -> Self {
        // What is quoted came from the caller.
        Self(reason.into().chars().take(500).map(|one| if one.is_control() { '?' } else { one }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_allow_the_host_are_no_rules() {
        let all = |root: &str, network: &str, profile: &str| {
            let (roots, networks) = (vec![root.into()], vec![network.to_owned()]);
            let allowed = Allowed { roots, networks, profiles: vec![profile.to_owned()], pins: None };
            Rules::new(StateDir::at("/s"), allowed, DenyEnv::default())
        };
        let rules = |root: &str, network: &str| all(root, network, "mine");
        assert_eq!(rules("/srv/creel", "bridge").unwrap().networks, ["none", "bridge"]);
        for root in ["/", "", "srv", "/srv/", "/srv/../etc", "/srv//x", "/srv/."] {
            assert!(matches!(rules(root, "bridge"), Err(ProxyError::Root { .. })), "{root}");
        }
        for network in ["host", "HOST", " host", "container:x", "ns:/proc/1/ns/net", ""] {
            assert!(matches!(rules("/srv", network), Err(ProxyError::Network { .. })), "{network}");
        }
        for profile in ["unconfined", "Unconfined", " unconfined", ":root:unconfined", ""] {
            let wrong = all("/srv", "bridge", profile);
            assert!(matches!(wrong, Err(ProxyError::Profile { .. })), "{profile}");
        }
    }
}
