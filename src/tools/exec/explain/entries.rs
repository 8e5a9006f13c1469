//! The lists of an agent, each entry with the key under which it stands.

use crate::approvals::document::{Document, EVERYBODY, Entry};
use crate::session::AgentId;

/// Entries that allow, in the order in which they hold: those of all agents, then the agent's own.
pub(super) fn allowed(document: &Document, agent: &AgentId) -> Vec<(String, Entry)> {
    let all = document.agents.iter().filter(|one| one.id == EVERYBODY).take(1);
    let own = document.agents.iter().filter(|one| one.is(agent)).take(1);
    let keyed = all.chain(own).flat_map(|one| {
        let key = |at: usize| format!("agents.{}.allowlist[{at}]", one.id);
        one.allowlist.iter().enumerate().map(move |(at, entry)| (key(at), entry.clone()))
    });
    keyed.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_order_is_the_documents() {
        let text =
            r#"{"version": 1, "agents": {"Main": {"allowlist": ["a", "b"]}, "*": {"allowlist": ["c"]}}}"#;
        let document = Document::parse(text, Path::new("d")).unwrap();
        let main = AgentId::main();
        let found = allowed(&document, &main);
        let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["agents.*.allowlist[0]", "agents.Main.allowlist[0]", "agents.Main.allowlist[1]"]);
        let entries: Vec<&Entry> = found.iter().map(|(_, entry)| entry).collect();
        assert_eq!(entries, document.rules(Some(&main)).allowlist);
    }
}
