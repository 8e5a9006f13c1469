//! What is too much and what is missing. Pure.

use std::collections::BTreeSet;

use crate::sandbox::SandboxName;
use crate::sandbox::pool::{Slot, Waiting};

/// A pool that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Its key.
    pub(super) key: String,
    /// How many wait.
    pub(super) size: usize,
}

/// What to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Places to empty.
    pub(super) drain: Vec<SandboxName>,
    /// Places to fill: which of the wanted pools, which place.
    pub(super) fill: Vec<(usize, usize)>,
}

/// Compares what is wanted with what waits. `running` are the names of running containers; no two of `wanted` have one
/// key. The first places of all pools are filled before the second ones.
pub(super) fn plan(wanted: &[Wanted], waiting: &[Waiting], running: &BTreeSet<String>) -> Plan {
    let good = |one: &Waiting| one.ready && running.contains(one.name.as_str());
    let kept = |one: &Waiting| {
        wanted.iter().any(|pool| (0..pool.size).any(|number| Slot { key: &pool.key, number }.holds(one)))
    };
    let drain = waiting.iter().filter(|one| !kept(one)).map(|one| one.name.clone()).collect();
    let deepest = wanted.iter().map(|pool| pool.size).max().unwrap_or(0);
    let places = (0..deepest).flat_map(|number| (0..wanted.len()).map(move |pool| (pool, number)));
    let missing = |(pool, number): &(usize, usize)| {
        wanted.get(*pool).is_some_and(|pool| {
            let slot = Slot { key: &pool.key, number: *number };
            *number < pool.size && !waiting.iter().any(|one| slot.holds(one) && good(one))
        })
    };
    Plan { drain, fill: places.filter(missing).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(key: &str, number: usize, ready: bool) -> Waiting {
        let name = SandboxName::parse(&format!("creel-pool-{key}-{number}-abcdef")).unwrap();
        Waiting::of(name, key, ready)
    }

    #[test]
    fn fills_breadth_first_and_drains_what_nobody_wants() {
        let wanted = [Wanted { key: "aa".into(), size: 2 }, Wanted { key: "bb".into(), size: 1 }];
        let waiting =
            [waits("aa", 0, true), waits("aa", 2, true), waits("bb", 0, false), waits("cc", 0, true)];
        let running: BTreeSet<String> = waiting.iter().map(|one| one.name.to_string()).collect();
        let made = plan(&wanted, &waiting, &running);
        let drain: Vec<&str> = made.drain.iter().map(SandboxName::as_str).collect();
        assert_eq!(drain, ["creel-pool-aa-2-abcdef", "creel-pool-cc-0-abcdef"]);
        assert_eq!(made.fill, [(1, 0), (0, 1)]);
        assert_eq!(plan(&wanted, &waiting, &BTreeSet::new()).fill, [(0, 0), (1, 0), (0, 1)]);
        assert_eq!(plan(&[], &[], &running), Plan::default());
    }
}
