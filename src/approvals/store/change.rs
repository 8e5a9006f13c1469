//! What others change in the document: new entries, usage.

use std::path::{Path, PathBuf};

use super::write::edit;
use super::{StoreError, read};
use crate::approvals::document::{Coverage, Document, EVERYBODY, Entry};
use crate::state::StateDir;

/// One use of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The entry's id.
    pub id: Option<String>,
    /// Its pattern, by which an entry without id is known.
    pub pattern: String,
    /// Its argument pattern.
    pub arg_pattern: Option<String>,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
    /// The command.
    pub command: Option<String>,
    /// The program.
    pub resolved_path: Option<PathBuf>,
}

impl Use {
    /// A use of `entry`.
    pub fn of(entry: &Entry, at_ms: u64, command: Option<&str>, resolved_path: Option<&Path>) -> Self {
        Self {
            id: entry.id.clone(),
            pattern: entry.pattern.clone(),
            arg_pattern: entry.arg_pattern.clone(),
            at_ms,
            command: command.map(str::to_owned),
            resolved_path: resolved_path.map(Path::to_owned),
        }
    }

    fn is_of(&self, entry: &Entry) -> bool {
        match &self.id {
            Some(id) => entry.id.as_ref() == Some(id),
            None => entry.pattern == self.pattern && entry.arg_pattern == self.arg_pattern,
        }
    }
}

/// Adds entries for an agent (its id, or `*`). One with the pattern and argument pattern of an entry that is there
/// renews that entry, which keeps its id. Returns how many are new.
///
/// # Errors
///
/// As [`edit`].
pub fn add_entries(state: &StateDir, agent: &str, entries: &[Entry]) -> Result<usize, StoreError> {
    edit(state, |document| {
        let added = document.change_agent(agent, |agent| {
            entries.iter().filter(|entry| add(&mut agent.allowlist, (*entry).clone())).count()
        });
        Ok::<_, StoreError>(added)
    })
}

/// True where the entry is new.
pub(super) fn add(list: &mut Vec<Entry>, new: Entry) -> bool {
    let same = |old: &&mut Entry| old.pattern == new.pattern && old.arg_pattern == new.arg_pattern;
    let Some(old) = list.iter_mut().find(same) else {
        list.push(new);
        return true;
    };
    // Its source changes only where the entry still holds then.
    let renewed = Entry { source: new.source, ..old.clone() };
    if renewed.coverage() != Coverage::Inactive {
        old.source = new.source;
    }
    old.content_sha256 = new.content_sha256;
    old.command_text = new.command_text.or_else(|| old.command_text.take());
    old.last_used_at = new.last_used_at.or_else(|| old.last_used_at.take());
    old.last_used_command = new.last_used_command.or_else(|| old.last_used_command.take());
    old.last_resolved_path = new.last_resolved_path.or_else(|| old.last_resolved_path.take());
    false
}

/// How soon the same use of an entry is not written again, in milliseconds.
const SAME_USE_MS: u64 = 60_000;

/// Notes that entries were used, for people who tidy the list. An entry that is gone meanwhile stays gone, and nothing
/// but the marks of usage changes (field report I072). The same command within a minute is not written again.
///
/// It costs a write to the disk: call it behind the start of the command, and go on whatever it says.
///
/// # Errors
///
/// As [`edit`].
pub fn touch(state: &StateDir, agent: &str, uses: &[Use]) -> Result<(), StoreError> {
    let fresh = |document: &Document| uses.iter().any(|one| clone_marked(document, agent, one));
    if !fresh(&read(state).held.document) {
        return Ok(());
    }
    edit(state, |document| {
        for one in uses {
            for list in lists(document, agent) {
                list.iter_mut().filter(|entry| one.is_of(entry)).for_each(|entry| mark(entry, one));
            }
        }
        Ok::<_, StoreError>(())
    })
}

/// Whether a use would change anything.
fn clone_marked(document: &Document, agent: &str, one: &Use) -> bool {
    let places = [document.place_of(EVERYBODY), document.place_of(agent)];
    let agents = places.into_iter().flatten().filter_map(|at| document.agents.get(at));
    let mut entries = agents.flat_map(|agent| &agent.allowlist).filter(|entry| one.is_of(entry));
    entries.any(|entry| {
        let mut marked = entry.clone();
        mark(&mut marked, one);
        marked != *entry
    })
}

fn lists<'d>(document: &'d mut Document, agent: &str) -> impl Iterator<Item = &'d mut Vec<Entry>> {
    let places = [document.place_of(EVERYBODY), document.place_of(agent)];
    let agents = document.agents.iter_mut().enumerate().filter(move |(at, _)| places.contains(&Some(*at)));
    agents.map(|(_, agent)| &mut agent.allowlist)
}

fn mark(entry: &mut Entry, one: &Use) {
    let path = one.resolved_path.as_ref().map(|path| path.display().to_string());
    // The command of a generated entry is no secret that a reader of the list should learn (spec `approvals.md` 1.2).
    let generated = matches!(entry.coverage(), Coverage::ArgvAndCwd | Coverage::Inactive);
    let command = one.command.as_deref().filter(|_| !generated).map(crate::approvals::display::noted);
    let last = entry.last_used_at.as_ref().and_then(serde_json::Number::as_u64);
    let soon = last.is_some_and(|last| one.at_ms < last.saturating_add(SAME_USE_MS));
    let same = command.is_none() || command == entry.last_used_command;
    if soon && same && (path.is_none() || path == entry.last_resolved_path) {
        return;
    }
    entry.last_used_at = Some(one.at_ms.into());
    entry.last_used_command = command.or_else(|| entry.last_used_command.take());
    entry.last_resolved_path = path.or_else(|| entry.last_resolved_path.take());
}
