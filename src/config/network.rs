//! Network modes and security profiles that no sandbox gets (spec `sandbox.md` §7).
//!
//! Judged when the configuration is read and again over the merged values: a flag counts only where it holds.

/// Why a mode or a profile is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The host's own network.
    #[error("the host's network removes all isolation of the network")]
    HostNetwork,
    /// Another container's network, without the flag.
    #[error("joining another container's network shares its addresses and its loopback")]
    Join,
    /// Any network namespace by path (Podman's `ns:`), the host's included.
    #[error("a network namespace by path may be the host's")]
    Namespace,
    /// Nothing is written; engines take that for their default network.
    #[error("an empty network means the engine's default network, which is not isolated")]
    Empty,
    /// No seccomp or `AppArmor` profile.
    #[error("unconfined removes the profile's protection")]
    Unconfined,
}

impl Refused {
    /// The rule's name in refusals and in `docs/compatibility.md`.
    pub fn rule(self) -> &'static str {
        match self {
            Self::HostNetwork => "network-host",
            Self::Join => "network-join",
            Self::Namespace => "network-namespace-path",
            Self::Empty => "network-empty",
            Self::Unconfined => "profile-unconfined",
        }
    }

    /// The smallest change that helps.
    pub fn fix(self) -> &'static str {
        match self {
            Self::HostNetwork | Self::Namespace | Self::Empty => {
                "write \"none\", or \"bridge\" where the network is needed"
            }
            Self::Join => {
                "write \"bridge\"; dangerouslyAllowContainerNamespaceJoin in the same block allows it"
            }
            Self::Unconfined => "remove the key: the engine's own profile is then in force",
        }
    }
}

/// A network mode. `allow_join` is `dangerouslyAllowContainerNamespaceJoin`; nothing opens the rest.
pub fn check_network(mode: &str, allow_join: bool) -> Result<(), Refused> {
    let mode = mode.trim().to_lowercase();
    match mode.as_str() {
        "" => Err(Refused::Empty),
        "host" => Err(Refused::HostNetwork),
        _ if mode.starts_with("ns:") => Err(Refused::Namespace),
        _ if mode.starts_with("container:") && !allow_join => Err(Refused::Join),
        _ => Ok(()),
    }
}

/// A seccomp or `AppArmor` profile.
pub fn check_profile(profile: &str) -> Result<(), Refused> {
    if profile.trim().eq_ignore_ascii_case("unconfined") { Err(Refused::Unconfined) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes() {
        for (mode, join, wanted) in [
            ("none", false, Ok(())),
            (" bridge ", false, Ok(())),
            ("hostx", false, Ok(())),
            ("HOST ", true, Err(Refused::HostNetwork)),
            (" container:abc", false, Err(Refused::Join)),
            ("container:abc", true, Ok(())),
            ("ns:/proc/1/ns/net", true, Err(Refused::Namespace)),
            ("", true, Err(Refused::Empty)),
            ("  ", false, Err(Refused::Empty)),
        ] {
            assert_eq!(check_network(mode, join), wanted, "{mode:?}");
        }
    }

    #[test]
    fn profiles() {
        assert_eq!(check_profile(" Unconfined"), Err(Refused::Unconfined));
        assert_eq!(check_profile("unconfinedx"), Ok(()));
    }
}
