//! Which setting an engine's words are about: it names what it lacks, not who asked for it. Pure.

/// The container whose network a network mode joins.
pub(super) fn joined(network: &str) -> Option<&str> {
    let (kind, container) = network.split_once(':')?;
    kind.trim().eq_ignore_ascii_case("container").then_some(container)
}

/// Whether a refusal to make or start a container is about the network that it should join. Docker knows a network at
/// the start, Podman when the container is made; the container of a joined network both know when it is made.
pub(super) fn network(network: &str, reason: &str) -> bool {
    if matches!(network, "none" | "bridge" | "default" | "") {
        return false;
    }
    let name = joined(network).unwrap_or(network);
    let part = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let named = reason.split(part).any(|word| word.trim_end_matches('.') == name);
    let reason = reason.to_lowercase();
    match joined(network) {
        Some(_) => reason.contains("join network") || (named && reason.contains("container")),
        None => named && reason.contains("network"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_engines() {
        for (mode, reason) in [
            ("lab", "start of container 9c45: network lab not found"),
            ("lab", "unable to find network with name or ID lab: network not found"),
            ("container:web", "create of container x: No such container: web"),
            ("container:web", "cannot join network of a non running container: 0af3"),
        ] {
            assert!(network(mode, reason), "{mode}: {reason}");
        }
        for (mode, reason) in [
            ("lab", "OCI runtime create failed: no such file"),
            ("lab", "network labyrinth not found"),
            ("none", "network none not found"),
            ("container:web", "No such container: other"),
        ] {
            assert!(!network(mode, reason), "{mode}: {reason}");
        }
        assert_eq!((joined("Container:web"), joined("lab")), (Some("web"), None));
    }
}
