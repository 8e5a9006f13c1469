//! Which of several mounts on one target wins (spec `sandbox.md` §4.5). One answer for the container and for
//! everything that maps paths.

use std::collections::HashMap;

use super::validate::ValidBind;

/// The binds that are mounted, and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// In order of their first appearance.
    pub binds: Vec<ValidBind>,
    /// For the user: each bind that is not mounted, and why.
    pub dropped: Vec<Dropped>,
}

/// A valid bind that is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The bind.
    pub bind: ValidBind,
    /// Why.
    pub reason: DropReason,
}

/// Why a valid bind is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropReason {
    /// A later bind has the same target; its key.
    Replaced(String),
    /// The target holds instructions that the sandbox must not change.
    Protected,
}

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bind at {} onto {} is not mounted: ", self.bind.key, self.bind.target)?;
        match &self.reason {
            DropReason::Replaced(key) => write!(f, "{key} has the same target and comes later"),
            DropReason::Protected => write!(f, "the target is a protected read-only mount"),
        }
    }
}

/// Drops binds whose target equals one of `protected` (clean paths); of several with one target the last wins.
pub fn select(binds: Vec<ValidBind>, protected: &[String]) -> Selection {
    let mut selection = Selection::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    for bind in binds {
        if protected.contains(&bind.target) {
            selection.dropped.push(Dropped { bind, reason: DropReason::Protected });
            continue;
        }
        if let Some(before) = places.get(&bind.target).and_then(|at| selection.binds.get_mut(*at)) {
            let reason = DropReason::Replaced(bind.key.clone());
            let bind = std::mem::replace(before, bind);
            selection.dropped.push(Dropped { bind, reason });
        } else {
            places.insert(bind.target.clone(), selection.binds.len());
            selection.binds.push(bind);
        }
    }
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(source: &str, target: &str, key: &str) -> ValidBind {
        ValidBind {
            source_written: source.into(),
            source_resolved: source.into(),
            target: target.into(),
            read_only: false,
            relabel: None,
            key: key.into(),
        }
    }

    #[test]
    fn last_wins_and_protected_targets_stay() {
        let binds = vec![bind("/1", "/a", "b[0]"), bind("/2", "/w/skills", "b[1]"), bind("/3", "/a", "b[2]")];
        let selection = select(binds, &["/w/skills".to_owned()]);
        assert_eq!(selection.binds, [bind("/3", "/a", "b[2]")]);
        assert_eq!(selection.dropped.len(), 2);
        assert_eq!(selection.dropped[0].reason, DropReason::Protected);
        assert_eq!(selection.dropped[1].reason, DropReason::Replaced("b[2]".into()));
        assert!(selection.dropped[1].to_string().contains("b[2]"));
    }
}
