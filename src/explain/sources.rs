//! Which key decided what, and what a first command would be refused for.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use serde::Serialize;

use crate::config::{self, Config, Origin, Places, ResolvedSandbox, env, seccomp};
use crate::error::{Diagnose as _, Report};
use crate::paths::deny::{DenyEnv, DenyList};
use crate::paths::{BindError, validate};
use crate::session::{AgentId, SessionKey};

/// The settings whose origin is worth a line.
const SETTINGS: [&str; 15] = [
    "mode",
    "scope",
    "backend",
    "workspaceAccess",
    "workspaceRoot",
    "docker.image",
    "docker.network",
    "docker.readOnlyRoot",
    "docker.user",
    "docker.capDrop",
    "docker.memory",
    "docker.cpus",
    "docker.pidsLimit",
    "docker.setupCommand",
    "pool.size",
];

/// The key that decided a setting, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The key.
    pub key: String,
    /// File, line and column, where the key stands in a file.
    #[serde(flatten)]
    pub origin: Option<At>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct At {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl From<Origin> for At {
    fn from(origin: Origin) -> Self {
        Self { file: origin.file, line: origin.line, column: origin.column }
    }
}

/// Something that refuses the sandbox, in the one shape of every refusal.
pub type Problem = Report;

pub(super) fn sources(config: &Config, sandbox: &ResolvedSandbox) -> BTreeMap<&'static str, Source> {
    let one = |setting: &'static str| {
        let key = sandbox.key(setting)?.to_owned();
        let origin = config.origin(&key).map(At::from);
        Some((setting, Source { key, origin }))
    };
    SETTINGS.into_iter().filter_map(one).collect()
}

/// Every bind that a first command would be refused for.
pub(super) fn problems(sandbox: &ResolvedSandbox, places: &Places, session: &SessionKey) -> Vec<Problem> {
    refused(sandbox, &deny(places), session).iter().map(BindError::report).collect()
}

/// What this host refuses of a configuration that is sound by itself: binds and profiles that no sandbox gets here.
pub fn refused_here(config: &Config, places: &Places) -> Vec<config::Problem> {
    let mut all = refused_binds(config, places);
    all.extend(refused_profiles(config, places));
    all
}

/// Each agent, and the default one where it is not configured.
fn agents(config: &Config) -> impl Iterator<Item = AgentId> {
    let named = config.agents().iter().map(|agent| agent.id.clone());
    named.chain([config.default_agent()])
}

/// Seccomp profiles that cannot be read.
fn refused_profiles(config: &Config, places: &Places) -> Vec<config::Problem> {
    let mut known = HashSet::new();
    let one = |agent: AgentId| {
        let sandbox = config.sandbox(&agent, places).ok()?;
        let key = sandbox.key("docker.seccompProfile").filter(|key| known.insert((*key).to_owned()))?;
        let error = seccomp::read(sandbox.docker.seccomp_profile.as_deref()?).err()?;
        Some(config.problem(key, error, seccomp::FIX))
    };
    agents(config).filter_map(one).collect()
}

/// Binds that the main sessions of all agents would be refused for.
fn refused_binds(config: &Config, places: &Places) -> Vec<config::Problem> {
    let mut problems: Vec<config::Problem> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let deny = deny(places);
    for agent in agents(config) {
        let Ok(sandbox) = config.sandbox(&agent, places) else { continue };
        for error in refused(&sandbox, &deny, &SessionKey::main_of(&agent)) {
            // A bind of the defaults comes once, whoever has it.
            if known.insert(error.key.clone()) {
                let Report { message, fix, .. } = error.report();
                let origin = config.origin(&error.key);
                problems.push(config::Problem { key: error.key, origin, message, fix });
            }
        }
    }
    problems
}

/// The list of this host; it is made once because it looks at many files.
fn deny(places: &Places) -> DenyList {
    let home = places.home.as_ref().map(|home| home.display().to_string());
    let var = |name: &str| if name == "HOME" { home.clone() } else { std::env::var(name).ok() };
    DenyList::new(&DenyEnv::from_vars(var, &places.state).with_os_home())
}

/// Judged as at the first command.
fn refused(sandbox: &ResolvedSandbox, deny: &DenyList, session: &SessionKey) -> Vec<BindError> {
    if sandbox.docker.binds.is_empty() {
        return Vec::new();
    }
    let roots = [super::mounts::host_root(sandbox, session, true), sandbox.agent_workspace.clone()];
    let policy = sandbox.bind_policy(deny.clone(), &roots);
    let binds = sandbox.docker.binds.iter().map(|bind| (bind.written.as_str(), bind.key.as_str()));
    validate::validate_all(binds, &policy).err().unwrap_or_default()
}

/// Names only: a value never leaves.
pub(super) fn credential_names(sandbox: &ResolvedSandbox) -> Vec<String> {
    sandbox.docker.env.keys().filter(|name| env::secret(name).is_some()).cloned().collect()
}
