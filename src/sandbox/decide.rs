//! What to do with a container that is found under our name (spec `sandbox.md` §11.2, adapted). Pure.

use super::hash::Inputs;
use super::labels;
use super::record::Record;
use crate::engine::ContainerFacts;

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// The engine's facts.
    pub(super) facts: &'a ContainerFacts,
    /// The record of its proof.
    pub(super) record: Option<&'a Record>,
    /// Live leases.
    pub(super) leases: usize,
    /// Used within the hot window.
    pub(super) recent: bool,
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The installation's 32 digits.
    pub(super) installation: &'a str,
    /// Configuration hash.
    pub(super) hash: &'a str,
    /// What the hash covers.
    pub(super) inputs: &'a Inputs,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Use it as it is; the drift is empty unless it is in use under an older configuration.
    Use { drift: Vec<String> },
    /// Remove it and make a new one. The reason is for logs.
    Replace(&'static str),
    /// As `Replace`, because its configuration changed: only if init runs no command either.
    Outdated,
    /// Not ours: an error, never touched. Holds whose it is.
    Foreign(String),
    /// Paused by somebody: neither usable nor ours to remove.
    Paused,
    /// In use, while it shows other files than asked for.
    DriftedHot(Vec<String>),
    /// In use, although nothing proves what it is.
    Unproven,
}

/// Judges a container.
pub(super) fn decide(found: Found<'_>, wanted: Wanted<'_>) -> Action {
    let facts = found.facts;
    match facts.labels.get(labels::INSTALLATION) {
        None => return Action::Foreign("carries no installation label".to_owned()),
        Some(other) if other != wanted.installation => {
            return Action::Foreign(format!("belongs to installation {}", other.escape_debug()));
        }
        Some(_) => {}
    }
    if facts.status == "paused" {
        return Action::Paused;
    }
    if !facts.running {
        // A start would run it with mounts that nobody has proven; a `created` one is from a creel that died.
        return Action::Replace("it is not running");
    }
    let Some(record) = found.record.filter(|record| record.container == facts.id.0) else {
        return if found.leases > 0 { Action::Unproven } else { Action::Replace("its proof is missing") };
    };
    if !record.is_about(facts) {
        // The engine started it again: all commands are gone, and the mounts were made anew without a proof.
        return Action::Replace("the engine restarted it");
    }
    let label = facts.labels.get(labels::HASH).map(String::as_str);
    // A label cannot change: what came out of a pool keeps the hash that it was made under.
    let made_as = record.made_as.as_deref().unwrap_or(wanted.hash);
    if record.hash == wanted.hash && label == Some(made_as) {
        return Action::Use { drift: Vec::new() };
    }
    if found.leases == 0 && !found.recent {
        return Action::Outdated;
    }
    let drift = record.inputs.drift(wanted.inputs);
    if record.inputs.mounts_differ(wanted.inputs) { Action::DriftedHot(drift) } else { Action::Use { drift } }
}

#[cfg(test)]
mod tests;
