//! The configuration: JSON5 into typed values that remember where they were written.
//!
//! A file is parsed once ([`document`]), read into layers with every problem collected ([`reader`]), and merged
//! per agent on demand ([`Config::sandbox`], [`Config::exec`]). Sections that creel does not read are passed
//! over; inside those that it reads, an unknown key is an error, because a misspelt security key must not be
//! ignored.
//!
//! | file | concern |
//! |---|---|
//! | [`locate()`] | which file |
//! | [`index`] | where in the text each key stands |
//! | [`document`] | file, text, values, positions |
//! | [`reader`] | typed reading that collects problems |
//! | [`substitute`] | `${NAME}` in strings |
//! | [`size`] | `512m` into bytes, by the engine's rules |
//! | [`limits`] | memory, processors, ulimits |
//! | [`network`] | network modes and profiles that are refused |
//! | `tmpfs` | the options of temporary file systems |
//! | [`seccomp`] | the file of a seccomp profile |
//! | [`mod@env`] | environment names and values |
//! | [`docker`], [`sandbox`], [`exec`], [`tools`], `agents` | one block of the configuration each |
//! | [`mounts`] | what is mounted besides the binds |
//! | [`resolved`] | the merged values for one agent |
//! | [`path`], [`edit`], [`store`] | keys as people write them, a change in the text, a change in the file |
//! | [`legacy`] | keys of former versions, rewritten in place |
//! | [`safe_bins`] | programs that only filter their input |
//! | [`schema`] | the JSON Schema |
//! | [`reviewer`] | who looks at a command in mode `auto` |
//! | `subject` | which agent and session are meant |

mod agents;
pub mod docker;
pub mod document;
pub mod edit;
pub mod env;
mod error;
pub mod exec;
mod foreign;
pub mod index;
pub mod legacy;
pub mod limits;
pub mod locate;
pub mod mounts;
pub mod network;
pub mod path;
pub mod reader;
pub mod resolved;
pub mod reviewer;
pub mod safe_bins;
pub mod sandbox;
pub mod schema;
pub mod seccomp;
pub mod size;
pub mod store;
mod subject;
pub mod substitute;
mod tmpfs;
pub mod tools;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::policy;
use crate::session::{self, AgentId, Stamp};

pub use agents::Agent;
pub use document::{Document, Origin};
pub use error::{ConfigError, NamedBy, Problem};
pub use exec::ResolvedExec;
pub use locate::{FILE_NAME, Located, locate};
pub use path::KeyPath;
pub use resolved::{BindEntry, DockerSettings, Prune, ResolvedSandbox};
pub use safe_bins::{SafeBinProfile, SafeBinSettings};
pub use sandbox::{Mode, WorkspaceAccess};
pub use subject::{Subject, SubjectError};

/// Where relative things belong: values, so that reading a configuration needs no environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The home that `~` stands for.
    pub home: Option<PathBuf>,
    /// The state directory.
    pub state: PathBuf,
}

/// A configuration that was read and found sound.
#[derive(Debug, Clone)]
pub struct Config {
    document: Arc<Document>,
    defaults: sandbox::SandboxLayer,
    default_workspace: Option<reader::Set<String>>,
    elevated_default: Option<reader::Set<policy::Level>>,
    exec: exec::ExecLayer,
    tools: policy::Scope,
    empty_allow_is_all: bool,
    agents: agents::Agents,
    explicit_ownership: bool,
    global_sessions: bool,
    channels: Vec<String>,
}

impl Config {
    /// Reads what [`locate()`] found; a default file that does not exist is an empty configuration.
    pub fn load(located: &Located, var: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        match document::read(located)? {
            Some(text) => Self::parse(&text, &located.path, var),
            None => Self::parse("{}", &located.path, var),
        }
    }

    /// Reads a configuration from text. `file` is named in messages; `var` gives variables for `${NAME}`.
    pub fn parse(text: &str, file: &Path, var: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let document = Document::parse(text, file)?;
        let reader = reader::Reader::new(&document, var);
        let root = reader.root();
        if let Some(root) = &root {
            foreign::check(root);
        }
        let blocks = root.as_ref().and_then(|root| root.open("agents"));
        let defaults = blocks.as_ref().and_then(|agents| agents.open("defaults"));
        let tools = root.as_ref().and_then(|root| root.open("tools"));
        let empty_is_all = tools.as_ref().is_some_and(tools::empty_is_all);
        let global = tools.as_ref().map(|tools| tools::read(tools, empty_is_all)).unwrap_or_default();
        let config = (
            defaults.as_ref().and_then(sandbox::SandboxLayer::read).unwrap_or_default(),
            defaults.as_ref().and_then(|defaults| defaults.text("workspace")),
            defaults.as_ref().and_then(tools::elevated_default),
            tools.as_ref().and_then(exec::ExecLayer::read).unwrap_or_default(),
            blocks.as_ref().map(|agents| agents::read(agents, empty_is_all)).unwrap_or_default(),
            blocks.as_ref().is_some_and(agents::explicit_ownership),
        );
        let global_sessions = root.as_ref().is_some_and(global_sessions);
        let channels = root.as_ref().map(channels).unwrap_or_default();
        reader.finish()?;
        let (defaults, default_workspace, elevated_default, exec, agents, explicit_ownership) = config;
        Ok(Self {
            document: Arc::new(document),
            defaults,
            default_workspace,
            elevated_default,
            exec,
            tools: global,
            empty_allow_is_all: empty_is_all,
            agents: agents::Agents::new(agents),
            explicit_ownership,
            global_sessions,
            channels,
        })
    }

    /// The file as it was read.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Where a key (`agents.defaults.sandbox.docker.binds[0]`) is written.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        self.document.origin(key)
    }

    /// The values as written, variables not filled in.
    pub fn written(&self) -> &serde_json::Value {
        self.document.root()
    }

    /// Every problem that shows only when the layers are merged, of all agents, each once.
    pub fn merged_problems(&self, places: &Places) -> Vec<Problem> {
        let named = self.agents.all().iter().map(|agent| agent.id.clone());
        let mut all: Vec<Problem> = Vec::new();
        let mut known = HashSet::new();
        for id in named.chain([self.default_agent()]) {
            let Err(ConfigError::Invalid { problems, .. }) = self.sandbox(&id, places) else { continue };
            all.extend(
                problems.into_iter().filter(|one| known.insert((one.key.clone(), one.message.clone()))),
            );
        }
        all
    }

    /// Checks what shows only when the layers are merged, for every agent.
    pub fn check_all(&self, places: &Places) -> Result<(), ConfigError> {
        self.refuse(self.merged_problems(places))
    }

    /// The file that was read, or that would have been.
    pub fn file(&self) -> &Path {
        self.document.file()
    }

    /// The agents that are configured by name, in their order.
    pub fn agents(&self) -> &[Agent] {
        self.agents.all()
    }

    /// The agent that is meant when none is named: the one marked so, else `main` where it exists or nothing
    /// is configured, else the first.
    pub fn default_agent(&self) -> AgentId {
        self.agents.default().clone()
    }

    /// Refuses an agent that is not configured, naming the nearest that is.
    pub fn known_agent(&self, id: &AgentId, named_by: NamedBy) -> Result<(), ConfigError> {
        if self.agent(id).is_some() || id == self.agents.default() {
            return Ok(());
        }
        let known: Vec<&str> = self.agents.all().iter().map(|agent| agent.id.as_str()).collect();
        Err(ConfigError::UnknownAgent {
            agent: id.to_string(),
            named_by,
            nearest: reader::nearest(id.as_str(), &known).map(str::to_owned),
        })
    }

    /// The agent's workspace on the host, absolute.
    pub fn agent_workspace(&self, id: &AgentId, places: &Places) -> Result<PathBuf, ConfigError> {
        let is_default = self.owns_default_workspace(id);
        let own = self.agent(id).and_then(|agent| agent.workspace.as_ref());
        let set = own.or_else(|| self.default_workspace.as_ref().filter(|_| is_default));
        match set {
            Some(set) => self.host_path(set, places),
            None => Ok(session::agent_workspace(&places.state, id, is_default)),
        }
    }

    /// The sandbox settings that hold for an agent. An agent that is not configured has the defaults.
    pub fn sandbox(&self, id: &AgentId, places: &Places) -> Result<ResolvedSandbox, ConfigError> {
        let own = self.agent(id).map(|agent| &agent.sandbox);
        resolved::resolve(self, &self.defaults, own, id, places, &Stamp::None)
    }

    /// The sandbox settings of the defaults alone, as the shared sandbox has them.
    pub fn shared_sandbox(&self, places: &Places) -> Result<ResolvedSandbox, ConfigError> {
        resolved::resolve(self, &self.defaults, None, &self.default_agent(), places, &Stamp::None)
    }

    /// The sandbox settings that hold for a session. One that is stamped `required` has scope `agent`, and `rw` counts
    /// as `ro` (spec `sandbox.md` §2.3).
    pub fn sandbox_of(&self, subject: &Subject, places: &Places) -> Result<ResolvedSandbox, ConfigError> {
        let own = self.agent(&subject.agent).map(|agent| &agent.sandbox);
        resolved::resolve(self, &self.defaults, own, &subject.agent, places, &subject.stamp)
    }

    /// The exec settings that hold for an agent.
    pub fn exec(&self, id: &AgentId) -> ResolvedExec {
        ResolvedExec::merge(&self.exec, self.agent(id).map(|agent| &agent.exec))
    }

    /// The exec settings that hold for an agent, with what the gateway's environment says where nothing is written.
    pub fn exec_in(&self, id: &AgentId, env: &exec::ExecEnv) -> ResolvedExec {
        ResolvedExec::merge_in(&self.exec, self.agent(id).map(|agent| &agent.exec), env)
    }

    /// `agents.defaults.elevatedDefault`, where it is written.
    pub fn elevated_default(&self) -> Option<policy::Level> {
        self.elevated_default.as_ref().map(|set| set.value)
    }

    /// The blocks `tools.exec`, global and of an agent, as they were written.
    pub fn exec_layers(&self, id: &AgentId) -> (&exec::ExecLayer, Option<&exec::ExecLayer>) {
        (&self.exec, self.agent(id).map(|agent| &agent.exec))
    }

    /// The global block `tools`, as far as it says which tools there are.
    pub fn tools(&self) -> &policy::Scope {
        &self.tools
    }

    /// The agent's block `tools`.
    pub fn agent_tools(&self, id: &AgentId) -> Option<&policy::Scope> {
        self.agent(id).map(|agent| &agent.tools)
    }

    /// The tools that a caller has who runs under an agent.
    pub fn tool_policy(&self, id: &AgentId, caller: &policy::Caller<'_>) -> policy::Policy {
        let rules = policy::Rules {
            global: &self.tools,
            agent: self.agent_tools(id).map(|tools| (id.as_str(), tools)),
            empty_allow_is_all: self.empty_allow_is_all,
        };
        policy::Policy::new(&rules, caller)
    }

    /// The names of `mcp.servers`, in the order of the text. The section belongs to the agent host: what is not as
    /// expected there is passed over.
    pub fn mcp_servers(&self) -> Vec<String> {
        let servers = self.document.root().get("mcp").and_then(|mcp| mcp.get("servers"));
        let mut names: Vec<&String> =
            servers.and_then(|all| all.as_object()).map(|all| all.keys().collect()).unwrap_or_default();
        names.sort_by_cached_key(|name| self.document.position(&index::member("mcp.servers", name)));
        names.into_iter().cloned().collect()
    }

    /// Every known tool by name, then each MCP server as a whole: what it offers is known only to itself.
    pub fn known_tools(&self) -> Vec<policy::Tool> {
        use policy::{Tool, mcp, tables};
        let mut names: Vec<&str> = tables::known().collect();
        names.sort_unstable();
        let servers = self.mcp_servers();
        let servers = mcp::server_names(servers.iter().map(String::as_str));
        let known = |name| if name == tables::CANVAS { Tool::owned(name, name) } else { Tool::new(name) };
        let server = |name: &String| Tool::owned(&format!("{name}__*"), tables::MCP_OWNER);
        names.into_iter().map(known).chain(servers.iter().map(server)).collect()
    }

    /// The lists that hold in an agent's sandbox.
    pub fn sandbox_tools(&self, id: &AgentId) -> policy::SandboxTools {
        let agent = self.agent_tools(id).map(|tools| &tools.sandbox);
        policy::SandboxTools::resolve(&self.tools.sandbox, agent, self.empty_allow_is_all)
    }

    /// Whether the workspace without a name is this agent's. With explicit ownership no agent inherits it by
    /// being the first in the file.
    fn owns_default_workspace(&self, id: &AgentId) -> bool {
        if self.explicit_ownership && self.agents.all().len() > 1 && !self.agents.is_marked() {
            return false;
        }
        id == self.agents.default()
    }

    fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// A configured host path: `~` expanded, cleaned, absolute.
    fn host_path(&self, set: &reader::Set<String>, places: &Places) -> Result<PathBuf, ConfigError> {
        let path = crate::paths::lexical::expand_home(set.value.trim(), places.home.as_deref());
        if path.is_absolute() {
            return Ok(crate::paths::lexical::clean(path));
        }
        let message = format!("{:?} is not an absolute path", set.value);
        let problems = vec![self.problem(&set.key, message, "begin it with / or ~/")];
        Err(ConfigError::Invalid { file: self.file().to_owned(), problems })
    }

    /// A problem with what is written at a key.
    pub fn problem(&self, key: &str, message: String, fix: &str) -> Problem {
        Problem { key: key.to_owned(), origin: self.origin(key), message, fix: fix.to_owned() }
    }

    /// Refuses the file for these problems, if there are any.
    pub fn refuse(&self, problems: Vec<Problem>) -> Result<(), ConfigError> {
        if problems.is_empty() {
            return Ok(());
        }
        Err(ConfigError::Invalid { file: self.file().to_owned(), problems })
    }
}

/// `session.scope: "global"`: all channels share one session. The rest of the block belongs to the agent host.
fn global_sessions(root: &reader::Block<'_>) -> bool {
    let scope = root.open("session").and_then(|session| session.text("scope"));
    scope.is_some_and(|set| set.value.trim() == "global")
}

/// The channels that the configuration has and does not switch off. Their blocks are not read.
fn channels(root: &reader::Block<'_>) -> Vec<String> {
    let Some(set) = root.raw("channels") else { return Vec::new() };
    let on =
        |block: &serde_json::Value| block.get("enabled").and_then(serde_json::Value::as_bool) != Some(false);
    let blocks = set.value.as_object().into_iter().flatten();
    blocks.filter(|(_, block)| block.is_object() && on(block)).map(|(name, _)| name.to_lowercase()).collect()
}

#[cfg(test)]
mod tests;
