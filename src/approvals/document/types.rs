//! The document as values.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::config::exec::{Ask, Security};
use crate::session::AgentId;

/// Keys that creel does not know. They are kept, and written back as they were.
pub type Unknown = Map<String, Value>;

/// The whole document, version 1. Empty, it imposes nothing (spec `approvals.md` 1.21).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Where approvals are asked for on this machine.
    pub socket: Socket,
    /// What holds for agents that say nothing.
    pub defaults: Rules,
    /// The agents in the order of the text; [`super::EVERYBODY`] is one of them.
    pub agents: Vec<Agent>,
    /// Unknown keys at the top.
    pub unknown: Unknown,
}

/// The approval socket.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Socket {
    /// Its path as written; `~` is not expanded.
    pub path: Option<String>,
    /// What its clients must know.
    pub token: Option<Token>,
    /// Unknown keys.
    pub unknown: Unknown,
}

/// A bearer token. Its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The rules of the defaults or of an agent; `None` where nothing is written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// How far commands on this machine are trusted.
    pub security: Option<Security>,
    /// When a person is asked.
    pub ask: Option<Ask>,
    /// What holds where nobody can be asked. The words are those of security.
    pub ask_fallback: Option<Security>,
    /// Programs of known skills count as listed, on nodes.
    pub auto_allow_skills: Option<bool>,
    /// What never runs, whatever the mode (extension); looked at before every other list.
    pub denylist: Vec<Entry>,
    /// Unknown keys.
    pub unknown: Unknown,
}

/// One agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// Its key as written.
    pub id: String,
    /// Its rules.
    pub rules: Rules,
    /// What may run, in the order of the text.
    pub allowlist: Vec<Entry>,
    /// MCP tools that were approved for good.
    pub mcp_tools: Vec<McpGrant>,
}

impl Agent {
    /// Whether the key means an agent. Ids are compared as everywhere: without case.
    pub fn is(&self, agent: &AgentId) -> bool {
        self.id != super::EVERYBODY && AgentId::parse(&self.id).is_ok_and(|id| id == *agent)
    }
}

/// Who wrote an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// A person, into the file.
    #[default]
    Manual,
    /// An approval "for good".
    AllowAlways,
}

/// One entry of an allowlist.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// Names the entry to user interfaces and to merges; made by whoever writes the file.
    pub id: Option<String>,
    /// A glob over paths or bare names, trimmed; never blank.
    pub pattern: String,
    /// What the arguments must match; any, where it is absent.
    pub arg_pattern: Option<String>,
    /// Who wrote it.
    pub source: Source,
    /// The command that was approved.
    pub command_text: Option<String>,
    /// When it was last used, in Unix milliseconds.
    pub last_used_at: Option<Number>,
    /// The command that used it.
    pub last_used_command: Option<String>,
    /// The program that it covered then.
    pub last_resolved_path: Option<String>,
    /// Hex SHA-256 that the program's content must have (extension): written by approvals of files that somebody who
    /// runs here can change. Such an entry covers nothing while the content is another, or cannot be read.
    pub content_sha256: Option<String>,
    /// Unknown keys.
    pub unknown: Unknown,
}

/// What of a command an entry looks at (spec `approvals.md` 5.20, 5.21).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// The whole text of one command.
    CommandText,
    /// One argument list in one directory.
    ArgvAndCwd,
    /// Arguments that match a pattern.
    Argv,
    /// Any arguments.
    AnyArgs,
    /// Nothing: it was generated before grants were bound to a directory, and waits to be approved again.
    Inactive,
}

impl Coverage {
    /// As shown to people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::CommandText => "command text",
            Self::ArgvAndCwd => "argv+cwd",
            Self::Argv => "argv",
            Self::AnyArgs => "any args",
            Self::Inactive => "inactive",
        }
    }
}

/// What an entry for a whole command begins with.
const MARKERS: [&str; 2] = ["=command:", "=node-command:"];
/// What a generated pattern that is bound to a directory begins with.
const BOUND: &str = "sha256:cwd-argv:v1:";
/// What any generated pattern begins with.
const GENERATED: &str = "sha256:";

impl Entry {
    /// An entry for a pattern and any arguments.
    pub fn of(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), ..Self::default() }
    }

    /// What of a command the entry looks at.
    ///
    /// Only a grant that is bound to directory and arguments holds for good; a generated value of any other form
    /// matches nothing, whoever the entry says has written it.
    pub fn coverage(&self) -> Coverage {
        let always = self.source == Source::AllowAlways;
        if MARKERS.iter().any(|marker| self.pattern.starts_with(marker)) {
            return if always { Coverage::CommandText } else { Coverage::Inactive };
        }
        match self.arg_pattern.as_deref() {
            Some(bound) if bound.starts_with(BOUND) => Coverage::ArgvAndCwd,
            Some(other) if other.starts_with(GENERATED) => Coverage::Inactive,
            _ if always => Coverage::Inactive,
            Some(_) => Coverage::Argv,
            None => Coverage::AnyArgs,
        }
    }
}

/// An MCP tool that an agent may call with any arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct McpGrant {
    /// The configured server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// When it was granted, in Unix milliseconds.
    pub added_at: Number,
    /// When it was last used, in Unix milliseconds.
    pub last_used_at: Option<Number>,
    /// Unknown keys.
    pub unknown: Unknown,
}

impl Document {
    /// What holds where a document exists and cannot be understood: nothing runs (spec `approvals.md` 1.22).
    pub fn closed() -> Self {
        let defaults = Rules {
            security: Some(Security::Deny),
            ask: Some(Ask::Off),
            ask_fallback: Some(Security::Deny),
            auto_allow_skills: Some(false),
            ..Rules::default()
        };
        Self { defaults, ..Self::default() }
    }

    /// Gives every entry without an id one, and every later bearer of the same id another. Says whether it did.
    pub fn name_entries(&mut self, mut fresh: impl FnMut() -> String) -> bool {
        let mut known = std::collections::HashSet::new();
        let mut changed = false;
        for entry in self.entries_mut() {
            if entry.id.as_ref().is_some_and(|id| known.insert(id.clone())) {
                continue;
            }
            let id = fresh();
            known.insert(id.clone());
            entry.id = Some(id);
            changed = true;
        }
        changed
    }

    /// Every entry of every list, in the order of the text.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        let agents = self
            .agents
            .iter_mut()
            .flat_map(|agent| agent.rules.denylist.iter_mut().chain(&mut agent.allowlist));
        self.defaults.denylist.iter_mut().chain(agents)
    }

    /// Changes the agent with this key, which is made where it is not there yet. Ids are compared as everywhere: without
    /// case.
    pub fn change_agent<T: Default>(&mut self, key: &str, change: impl FnOnce(&mut Agent) -> T) -> T {
        let agent = if let Some(at) = self.place_of(key) {
            self.agents.get_mut(at)
        } else {
            self.agents.push(Agent { id: key.to_owned(), ..Agent::default() });
            self.agents.last_mut()
        };
        agent.map(change).unwrap_or_default()
    }

    /// Where the agent with this key stands.
    pub fn place_of(&self, key: &str) -> Option<usize> {
        let wanted = AgentId::parse(key).ok();
        self.agents.iter().position(|agent| agent.id == key || wanted.as_ref().is_some_and(|id| agent.is(id)))
    }

    /// The same without the secret, for showing.
    pub fn redacted(&self) -> Self {
        // What creel does not know may be a secret too.
        let socket = Socket { path: self.socket.path.clone(), ..Socket::default() };
        Self { socket, ..self.clone() }
    }
}
