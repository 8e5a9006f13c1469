//! What in a document holds for nobody, or not as it reads: told besides, because it is what people look for when a list
//! seems to be ignored.

use super::entries::Named;
use crate::approvals::document::{Coverage, Document, EVERYBODY};
use crate::approvals::store::Local;
use crate::config::Config;
use crate::session::AgentId;
use crate::shown::one_line;

/// Keys that hold something only below an agent.
const BELOW_AGENTS: &[&str] = &["allowlist", "mcpTools"];

/// Of the documents, for one agent. `unusable`: entries whose pattern of arguments cannot be compared, and why.
pub(super) fn of(
    local: &Local,
    config: &Config,
    entries: &[Named],
    unusable: &[(usize, String)],
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(local.problems().map(ToString::to_string));
    misplaced(&local.held.document, local.locator(), &mut notes);
    strangers(&local.held.document, local.locator(), config, &mut notes);
    let place = |named: &Named| match &named.locator {
        Some(file) => format!("{} {}", one_line(file), one_line(&named.key)),
        None => one_line(&named.key),
    };
    for named in entries.iter().filter(|named| named.entry.coverage() == Coverage::Inactive) {
        notes.push(format!(
            "{} matches nothing: it was approved without arguments and directory, and waits to be approved again",
            place(named)
        ));
    }
    for (at, why) in unusable {
        if let Some(named) = entries.get(*at) {
            notes.push(format!("{} matches nothing: {why}", place(named)));
        }
    }
    notes
}

/// A list that stands where nobody looks for one.
fn misplaced(document: &Document, file: &str, notes: &mut Vec<String>) {
    let places = [("", &document.unknown), ("defaults.", &document.defaults.unknown)];
    for (place, unknown) in places {
        for key in BELOW_AGENTS.iter().filter(|key| unknown.contains_key(**key)) {
            notes.push(format!(
                "{} {place}{key} holds for nobody: lists stand below an agent, agents.*.{key} for all of them",
                one_line(file)
            ));
        }
    }
}

/// Rules for an agent that nobody has.
fn strangers(document: &Document, file: &str, config: &Config, notes: &mut Vec<String>) {
    let default = config.default_agent();
    let known = |id: &AgentId| *id == default || config.agents().iter().any(|agent| agent.id == *id);
    for agent in document.agents.iter().filter(|agent| agent.id != EVERYBODY) {
        if AgentId::parse(&agent.id).is_ok_and(|id| known(&id)) {
            continue;
        }
        notes.push(format!(
            "{} agents.{} holds for nobody: no agent of that name is configured",
            one_line(file),
            one_line(&agent.id)
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_holds_for_nobody_is_told_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.json");
        std::fs::write(
            &file,
            r#"{"version": 1, "allowlist": ["rg"], "defaults": {"allowlist": ["rg"]},
                "agents": {"mian": {"allowlist": ["rg"]}, "*": {"allowlist": ["rg"]}, "ops": {}}}"#,
        )
        .unwrap();
        let local = Local::alone(&file).unwrap();
        let config =
            Config::parse("{agents: {entries: {main: {}, OPS: {}}}}", Path::new("/c"), &|_| None).unwrap();
        let notes = of(&local, &config, &[], &[]);
        let told = |wanted: &str| notes.iter().any(|note| note.contains(wanted));
        assert_eq!(notes.len(), 3, "{notes:#?}");
        assert!(told("a.json allowlist holds for nobody") && told("defaults.allowlist holds for nobody"));
        assert!(told("agents.mian holds for nobody"), "{notes:#?}");
    }
}
