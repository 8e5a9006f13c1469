//! The lists of an agent, each entry with the file and the key under which it stands.

use crate::approvals::desk::Grant;
use crate::approvals::document::{Agent, Document, EVERYBODY, Entry};
use crate::approvals::explain::{EntryShown, Rule, place};
use crate::approvals::store::Local;
use crate::config::index::Index;
use crate::session::AgentId;

/// An entry, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The file; none for a grant.
    pub(super) locator: Option<String>,
    /// Its key; of a grant its name.
    pub(super) key: String,
    /// It.
    pub(super) entry: Entry,
}

impl Named {
    /// As a rule. `index`: that of the machine's document, for line and column.
    pub(super) fn rule(&self, local: &Local, index: Option<&Index>) -> Rule {
        let shown = Some(EntryShown::of(&self.entry));
        match &self.locator {
            Some(file) => {
                let index = index.filter(|_| file == local.locator());
                Rule { entry: shown, ..place::in_document(&self.key, file, index) }
            }
            None => Rule { entry: shown, ..Rule::built_in(&self.key) },
        }
    }
}

/// Entries that allow, in the order in which they are compiled: those of each document, then those of grants.
pub(super) fn allowed(local: &Local, agent: &AgentId, grants: &[Grant]) -> Vec<Named> {
    let mut all = each(local, |document| {
        let of = |one: &Agent| keyed(&format!("agents.{}.allowlist", one.id), &one.allowlist);
        everybody(document).into_iter().chain(own(document, agent)).flat_map(of).collect()
    });
    for grant in grants {
        let key = format!("grant {}", grant.grant_id);
        all.extend(grant.entries().into_iter().map(|entry| Named { locator: None, key: key.clone(), entry }));
    }
    all
}

/// Entries that deny, in the order in which they are compiled.
pub(super) fn denied(local: &Local, agent: &AgentId) -> Vec<Named> {
    each(local, |document| {
        let of = |one: &Agent| keyed(&format!("agents.{}.denylist", one.id), &one.rules.denylist);
        let mut all = keyed("defaults.denylist", &document.defaults.denylist);
        all.extend(everybody(document).into_iter().chain(own(document, agent)).flat_map(of));
        all
    })
}

fn everybody(document: &Document) -> Option<&Agent> {
    document.agents.iter().find(|one| one.id == EVERYBODY)
}

fn own<'d>(document: &'d Document, agent: &AgentId) -> Option<&'d Agent> {
    document.agents.iter().find(|one| one.is(agent))
}

fn keyed(list: &str, entries: &[Entry]) -> Vec<(String, Entry)> {
    entries.iter().enumerate().map(|(at, entry)| (format!("{list}[{at}]"), entry.clone())).collect()
}

fn each(local: &Local, of: impl Fn(&Document) -> Vec<(String, Entry)>) -> Vec<Named> {
    let file = std::iter::once((local.locator(), &local.held.document));
    let floors = local.floors().iter().map(|floor| (floor.locator.as_str(), &floor.document));
    let mut all = Vec::new();
    for (locator, document) in file.chain(floors) {
        let named = |(key, entry)| Named { locator: Some(locator.to_owned()), key, entry };
        all.extend(of(document).into_iter().map(named));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_compiled_lists() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.json");
        let text = r#"{"version": 1, "defaults": {"denylist": ["z"]}, "agents": {
            "Main": {"allowlist": ["a", "b"], "denylist": ["x"]}, "*": {"allowlist": ["c"], "denylist": ["y"]}}}"#;
        std::fs::write(&file, text).unwrap();
        let local = Local::alone(&file).unwrap();
        let main = AgentId::main();
        let keys = |named: &[Named]| named.iter().map(|one| one.key.clone()).collect::<Vec<_>>();
        let (allow, deny) = (allowed(&local, &main, &[]), denied(&local, &main));
        assert_eq!(
            keys(&allow),
            ["agents.*.allowlist[0]", "agents.Main.allowlist[0]", "agents.Main.allowlist[1]"]
        );
        assert_eq!(keys(&deny), ["defaults.denylist[0]", "agents.*.denylist[0]", "agents.Main.denylist[0]"]);
        let entries: Vec<&Entry> = allow.iter().map(|one| &one.entry).collect();
        assert_eq!(entries, local.allowlist(Some(&main)));
        let entries: Vec<&Entry> = deny.iter().map(|one| &one.entry).collect();
        assert_eq!(entries, local.denylist(Some(&main)));
        let index = Index::of(text).unwrap();
        assert_eq!(allow[0].rule(&local, Some(&index)).line, Some(2));
    }
}
