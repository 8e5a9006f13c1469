//! What people change: one entry of one list (spec `approvals.md` 16.1).

use super::StoreError;
use super::write::edit;
use crate::approvals::document::{Agent, Coverage, Document, Entry, McpGrant, Rules, Source};
use crate::state::StateDir;

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// What may run without a question.
    Allow,
    /// What never runs.
    Deny,
}

impl List {
    /// The list of an agent.
    pub fn of(self, agent: &Agent) -> &[Entry] {
        match self {
            Self::Allow => &agent.allowlist,
            Self::Deny => &agent.rules.denylist,
        }
    }

    fn of_mut(self, agent: &mut Agent) -> &mut Vec<Entry> {
        match self {
            Self::Allow => &mut agent.allowlist,
            Self::Deny => &mut agent.rules.denylist,
        }
    }
}

/// Puts an entry into a list; false where one with its pattern and argument pattern is there and holds.
///
/// # Errors
///
/// As [`edit`].
pub fn list(state: &StateDir, agent: &str, which: List, entry: &Entry) -> Result<bool, StoreError> {
    let same = |old: &&mut Entry| old.pattern == entry.pattern && old.arg_pattern == entry.arg_pattern;
    edit(state, |document| {
        let added = document.change_agent(agent, |agent| {
            let list = which.of_mut(agent);
            match list.iter_mut().find(same) {
                // A person says now what an approval of former times does not say any more.
                Some(old) if old.coverage() == Coverage::Inactive => {
                    old.source = Source::Manual;
                    true
                }
                Some(_) => false,
                None => {
                    list.push(entry.clone());
                    true
                }
            }
        });
        Ok::<_, StoreError>(added)
    })
}

/// Takes every entry with this pattern out of a list, those with `arg_pattern` only where one is given. Agents of whom
/// nothing is left disappear. Returns how many there were.
///
/// # Errors
///
/// As [`edit`].
pub fn unlist(
    state: &StateDir,
    agent: &str,
    which: List,
    pattern: &str,
    arg_pattern: Option<&str>,
) -> Result<usize, StoreError> {
    edit(state, |document| {
        let Some(agent) = document.place_of(agent).and_then(|at| document.agents.get_mut(at)) else {
            return Ok::<_, StoreError>(0);
        };
        let list = which.of_mut(agent);
        let before = list.len();
        let meant = |entry: &Entry| {
            entry.pattern == pattern
                && arg_pattern.is_none_or(|wanted| entry.arg_pattern.as_deref() == Some(wanted))
        };
        list.retain(|entry| !meant(entry));
        let removed = before - list.len();
        if removed > 0 {
            tidy(document);
        }
        Ok(removed)
    })
}

fn tidy(document: &mut Document) {
    let empty = |agent: &Agent| {
        let nothing: (&Rules, &[Entry], &[McpGrant]) = (&Rules::default(), &[], &[]);
        (&agent.rules, &agent.allowlist[..], &agent.mcp_tools[..]) == nothing
    };
    document.agents.retain(|agent| !empty(agent));
}

/// An approval of former times that waits to be given again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The agent's key.
    pub agent: String,
    /// The entry's pattern.
    pub pattern: String,
    /// Its argument pattern.
    pub arg_pattern: Option<String>,
    /// It can be adopted: what it meant is still written in it.
    pub adoptable: bool,
}

/// Every approval that waits, of one agent or of all.
pub fn waiting(document: &Document, agent: Option<&str>) -> Vec<Waiting> {
    let of = |agent: &Agent| {
        let waits = agent.allowlist.iter().filter(|entry| entry.coverage() == Coverage::Inactive);
        let one = |entry: &Entry| Waiting {
            agent: agent.id.clone(),
            pattern: entry.pattern.clone(),
            arg_pattern: entry.arg_pattern.clone(),
            adoptable: adopted(entry).is_some(),
        };
        waits.map(one).collect::<Vec<_>>()
    };
    let wanted = agent.map(|key| document.place_of(key));
    let agents = document.agents.iter().enumerate();
    agents
        .filter(|(at, _)| wanted.is_none_or(|place| place == Some(*at)))
        .flat_map(|(_, agent)| of(agent))
        .collect()
}

/// The entry as a person's own. One whose arguments are only a digest cannot be: nobody can read what it would allow.
fn adopted(entry: &Entry) -> Option<Entry> {
    let now = Entry { source: Source::Manual, ..entry.clone() };
    (now.coverage() != Coverage::Inactive).then_some(now)
}

/// Makes approvals that wait a person's own entries, those with one of `patterns` only where any are given. Returns what
/// it adopted.
///
/// # Errors
///
/// As [`edit`].
pub fn adopt(state: &StateDir, agent: Option<&str>, patterns: &[String]) -> Result<Vec<Waiting>, StoreError> {
    edit(state, |document| {
        let meant = |one: &Waiting| one.adoptable && (patterns.is_empty() || patterns.contains(&one.pattern));
        let all: Vec<Waiting> = waiting(document, agent).into_iter().filter(meant).collect();
        let taken = |id: &str, entry: &Entry| {
            all.iter().any(|one| {
                one.agent == id && one.pattern == entry.pattern && one.arg_pattern == entry.arg_pattern
            })
        };
        for agent in &mut document.agents {
            for entry in &mut agent.allowlist {
                if let Some(now) = adopted(entry)
                    .filter(|_| taken(&agent.id, entry) && entry.coverage() == Coverage::Inactive)
                {
                    *entry = now;
                }
            }
        }
        Ok::<_, StoreError>(all)
    })
}

/// Removes approvals that wait; entries of people stay (spec `approvals.md` 17.2). Returns what was removed.
///
/// # Errors
///
/// As [`edit`].
pub fn drop_waiting(state: &StateDir) -> Result<Vec<Waiting>, StoreError> {
    edit(state, |document| {
        let all = waiting(document, None);
        for agent in &mut document.agents {
            agent.allowlist.retain(|entry| entry.coverage() != Coverage::Inactive);
        }
        if !all.is_empty() {
            tidy(document);
        }
        Ok::<_, StoreError>(all)
    })
}
