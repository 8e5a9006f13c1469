//! The lists of an agent, each entry with the file and the key under which it stands.

use crate::approvals::desk::Grant;
use crate::approvals::document::{Agent, Document, EVERYBODY, Entry};
use crate::approvals::explain::change::quoted;
use crate::approvals::explain::{EntryShown, Rule, place};
use crate::approvals::store::Local;
use crate::config::index::Index;
use crate::session::AgentId;

/// An entry, and where it stands.
#[derive(Debug, Clone)]
pub(in crate::tools::exec) struct Named {
    /// The file; none for a grant.
    pub(super) locator: Option<String>,
    /// Its key; of a grant its name.
    pub(super) key: String,
    /// It.
    pub(in crate::tools::exec) entry: Entry,
}

impl Named {
    /// Where an entry that denies stands, and the command that takes it out: those of the defaults, and of a document that
    /// creel does not write, go by hand.
    pub(in crate::tools::exec) fn told(&self, local: &Local) -> (String, Option<String>) {
        let locator = self.locator.as_deref().unwrap_or_default();
        let Entry { pattern, arg_pattern, .. } = &self.entry;
        let texts = [Some(pattern.as_str()), arg_pattern.as_deref()];
        let typed = texts.into_iter().flatten().all(|text| !text.chars().any(crate::shown::deceives));
        let agent = self.key.strip_prefix("agents.").and_then(|key| key.rsplit_once(".denylist["));
        let remove = agent.filter(|_| typed && locator == local.locator()).map(|(agent, _)| {
            let (pattern, agent) = (quoted(pattern), quoted(agent));
            let arguments = arg_pattern.as_deref().map(|text| format!(" --arg-pattern {}", quoted(text)));
            let arguments = arguments.unwrap_or_default();
            format!("creel approvals allowlist remove --deny {pattern}{arguments} --agent {agent}")
        });
        (format!("{locator} {}", self.key), remove)
    }

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
pub(in crate::tools::exec) fn denied(local: &Local, agent: &AgentId) -> Vec<Named> {
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
        let removes: Vec<Option<String>> = deny.iter().map(|one| one.told(&local).1).collect();
        let remove = |agent: &str, pattern: &str| {
            Some(format!("creel approvals allowlist remove --deny {pattern} --agent {agent}"))
        };
        assert_eq!(
            removes,
            [None, remove("'*'", "y"), remove("Main", "x")],
            "those of the defaults go by hand"
        );
        let index = Index::of(text).unwrap();
        assert_eq!(allow[0].rule(&local, Some(&index)).line, Some(2));
    }
}
