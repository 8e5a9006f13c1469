//! Forms of former versions (spec `approvals.md` 1.09).

use super::types::{Agent, Document, Entry};
use crate::session::AgentId;

/// What `main` was called.
const LEGACY: &str = "default";

/// Renames the agent `default` to `main`. Where both are written, `main` wins value by value, and has the entries of both.
pub(super) fn agents(document: &mut Document) {
    let legacy = |agent: &Agent| AgentId::parse(&agent.id).is_ok_and(|id| id.as_str() == LEGACY);
    let Some(at) = document.agents.iter().position(legacy) else { return };
    if document.agents.iter().any(|agent| agent.is(&AgentId::main())) {
        let old = document.agents.remove(at);
        if let Some(main) = document.agents.iter_mut().find(|agent| agent.is(&AgentId::main())) {
            merge(main, old);
        }
    } else if let Some(agent) = document.agents.get_mut(at) {
        AgentId::main().as_str().clone_into(&mut agent.id);
    }
}

fn merge(main: &mut Agent, old: Agent) {
    let rules = &mut main.rules;
    rules.security = rules.security.or(old.rules.security);
    rules.ask = rules.ask.or(old.rules.ask);
    rules.ask_fallback = rules.ask_fallback.or(old.rules.ask_fallback);
    rules.auto_allow_skills = rules.auto_allow_skills.or(old.rules.auto_allow_skills);
    for entry in old.rules.denylist {
        if !rules.denylist.contains(&entry) {
            rules.denylist.push(entry);
        }
    }
    for (name, value) in old.rules.unknown {
        rules.unknown.entry(name).or_insert(value);
    }
    for entry in old.allowlist {
        if !main.allowlist.iter().any(|known| same(known, &entry)) {
            main.allowlist.push(entry);
        }
    }
    for grant in old.mcp_tools {
        if !main.mcp_tools.iter().any(|known| known.server == grant.server && known.tool == grant.tool) {
            main.mcp_tools.push(grant);
        }
    }
}

/// Patterns are compared without case here, as upstream does, although they match with case: a merge never adds a
/// grant that upstream would not have (1.10).
fn same(one: &Entry, other: &Entry) -> bool {
    let arguments = |entry: &Entry| entry.arg_pattern.as_deref().map(|text| text.trim().to_owned());
    one.pattern.to_lowercase() == other.pattern.to_lowercase() && arguments(one) == arguments(other)
}
