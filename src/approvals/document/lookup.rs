//! What the document says for an agent (spec `approvals.md` 1.12 to 1.14).

use super::EVERYBODY;
use super::types::{Agent, Document, Entry, Rules};
use crate::config::exec::{Ask, Security};
use crate::config::reader::Set;
use crate::session::AgentId;

/// The document's word for one agent; `None` where it has none. Each value with the key that wrote it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentRules<'a> {
    /// How far commands are trusted.
    pub security: Option<Set<Security>>,
    /// When a person is asked.
    pub ask: Option<Set<Ask>>,
    /// What holds where nobody can be asked.
    pub ask_fallback: Option<Set<Security>>,
    /// Programs of skills count as listed.
    pub auto_allow_skills: Option<Set<bool>>,
    /// What never runs: entries of the defaults, of all agents, then the agent's own.
    pub denylist: Vec<&'a Entry>,
    /// The entries of all agents, then the agent's own.
    pub allowlist: Vec<&'a Entry>,
}

impl Document {
    /// What holds for an agent: its own value, else that of all agents, else the default. An agent's value replaces
    /// the others, so that one agent can have more freedom than the defaults give (1.13). Without an agent, only
    /// the latter two count.
    pub fn rules(&self, agent: Option<&AgentId>) -> AgentRules<'_> {
        let own = agent.and_then(|id| self.agents.iter().find(|entry| entry.is(id)));
        let all = self.agents.iter().find(|entry| entry.id == EVERYBODY);
        let layers = Layers { own, all, defaults: &self.defaults };
        AgentRules {
            security: layers.find("security", |rules| rules.security),
            ask: layers.find("ask", |rules| rules.ask),
            ask_fallback: layers.find("askFallback", |rules| rules.ask_fallback),
            auto_allow_skills: layers.find("autoAllowSkills", |rules| rules.auto_allow_skills),
            denylist: [Some(&self.defaults), all.map(|agent| &agent.rules), own.map(|agent| &agent.rules)]
                .into_iter()
                .flatten()
                .flat_map(|rules| &rules.denylist)
                .collect(),
            allowlist: entries_of(all).chain(entries_of(own)).collect(),
        }
    }
}

fn entries_of(agent: Option<&Agent>) -> impl Iterator<Item = &Entry> {
    agent.into_iter().flat_map(|agent| &agent.allowlist)
}

struct Layers<'a> {
    own: Option<&'a Agent>,
    all: Option<&'a Agent>,
    defaults: &'a Rules,
}

impl Layers<'_> {
    fn find<T>(&self, name: &str, get: impl Fn(&Rules) -> Option<T>) -> Option<Set<T>> {
        let of = |agent: Option<&Agent>| {
            let agent = agent?;
            Some(Set { value: get(&agent.rules)?, key: format!("agents.{}.{name}", agent.id) })
        };
        let default = || Some(Set { value: get(self.defaults)?, key: format!("defaults.{name}") });
        of(self.own).or_else(|| of(self.all)).or_else(default)
    }
}
