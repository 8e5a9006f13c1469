//! `agents.entries.<id>` and `agents.list[]`: both spellings of the same thing.

use std::collections::HashMap;

use super::exec::ExecLayer;
use super::reader::{Block, Set};
use super::sandbox::SandboxLayer;
use super::{foreign, tools};
use crate::policy;
use crate::session::AgentId;

/// What the configuration says of one agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its id, normalised.
    pub id: AgentId,
    /// The key of its block.
    pub key: String,
    /// Marked as the agent that is meant when none is named.
    pub default: bool,
    /// Its workspace as written.
    pub workspace: Option<Set<String>>,
    /// Its sandbox block.
    pub sandbox: SandboxLayer,
    /// Its `tools.exec` block.
    pub exec: ExecLayer,
    /// Its `tools` block, as far as it says which tools there are.
    pub tools: policy::Scope,
}

/// All agents, and what is asked of them again and again.
#[derive(Debug, Clone)]
pub(super) struct Agents {
    all: Vec<Agent>,
    by_id: HashMap<AgentId, usize>,
    default: AgentId,
    marked: bool,
}

impl Agents {
    /// Of several blocks for one agent the first counts; [`read`] leaves no second.
    pub(super) fn new(all: Vec<Agent>) -> Self {
        let mut by_id = HashMap::new();
        for (at, agent) in all.iter().enumerate() {
            by_id.entry(agent.id.clone()).or_insert(at);
        }
        let main = AgentId::main();
        let marked = all.iter().find(|agent| agent.default);
        let named = marked.or_else(|| by_id.get(&main).and_then(|at| all.get(*at)));
        let default = named.or_else(|| all.first()).map_or(main, |agent| agent.id.clone());
        let marked = marked.is_some();
        Self { all, by_id, default, marked }
    }

    /// In the order of the text.
    pub(super) fn all(&self) -> &[Agent] {
        &self.all
    }

    /// One by its id.
    pub(super) fn get(&self, id: &AgentId) -> Option<&Agent> {
        self.by_id.get(id).and_then(|at| self.all.get(*at))
    }

    /// The one that is meant when none is named.
    pub(super) fn default(&self) -> &AgentId {
        &self.default
    }

    /// One is marked as that.
    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }
}

/// All agents, the list before the entries. Two blocks for one agent are a problem: neither would be complete.
pub(super) fn read(agents: &Block<'_>, empty_is_all: bool) -> Vec<Agent> {
    let listed = agents.blocks("list").into_iter().filter_map(|block| {
        if !block.has("id") {
            block.problem_at(block.path(), "has no id", "add id: \"<name>\"");
            return None;
        }
        let id = block.word("id")?;
        Some((id, block))
    });
    let entries = agents.open("entries");
    let named = entries.iter().flat_map(|entries| {
        entries.names().into_iter().filter_map(|name| {
            let block = entries.open(name)?;
            Some((Set { value: name.to_owned(), key: block.path().to_owned() }, block))
        })
    });
    let mut read: Vec<Agent> = Vec::new();
    let mut known: HashMap<AgentId, String> = HashMap::new();
    for (name, block) in listed.chain(named) {
        let Some(agent) = one(&name, &block, empty_is_all) else { continue };
        if let Some(before) = known.get(&agent.id) {
            let message = format!("agent {} is configured at {before} already", agent.id);
            block.problem_at(&name.key, message, "keep one of the two blocks");
            continue;
        }
        known.insert(agent.id.clone(), agent.key.clone());
        read.push(agent);
    }
    read
}

/// `agents.ownership: "explicit"`: no agent is the default by its place in the file.
pub(super) fn explicit_ownership(agents: &Block<'_>) -> bool {
    agents.has("ownership") && agents.text("ownership").is_some_and(|set| set.value.trim() == "explicit")
}

fn one(name: &Set<String>, block: &Block<'_>, empty_is_all: bool) -> Option<Agent> {
    let id = AgentId::parse(&name.value)
        .map_err(|error| block.problem_at(&name.key, error.to_string(), "use letters, digits, - and _"))
        .ok()?;
    foreign::agent(block);
    let own = block.open("tools");
    if let Some(own) = own.as_ref().filter(|own| own.has(tools::EMPTY_KEY)) {
        own.problem(tools::EMPTY_KEY, "counts in the global block only", "write it in tools, or remove it");
    }
    Some(Agent {
        id,
        key: block.path().to_owned(),
        default: block.flag("default").is_some_and(|set| set.value),
        workspace: block.word("workspace"),
        sandbox: SandboxLayer::read(block).unwrap_or_default(),
        exec: own.as_ref().and_then(ExecLayer::read).unwrap_or_default(),
        tools: own.as_ref().map(|own| tools::read(own, empty_is_all)).unwrap_or_default(),
    })
}
