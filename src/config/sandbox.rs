//! The block `sandbox`, of the defaults and of each agent (spec `sandbox.md` §1.1).

use super::docker::{self, DockerLayer};
use super::reader::{Block, Set};
use crate::session::{Scope, Stamp};

pub(super) const KEYS: &[&str] = &[
    "mode",
    "backend",
    "scope",
    "workspaceAccess",
    "workspaceRoot",
    "sessionToolsVisibility",
    "docker",
    "ssh",
    "browser",
    "prune",
    "pool",
];
/// The most containers that wait in one pool: each holds memory and a place in the engine.
pub const MAX_POOL: u64 = 64;
const SSH_KEYS: &[&str] = &[
    "target",
    "command",
    "workspaceRoot",
    "strictHostKeyChecking",
    "updateHostKeys",
    "identityFile",
    "certificateFile",
    "knownHostsFile",
    "identityData",
    "certificateData",
    "knownHostsData",
];
const BROWSER_KEYS: &[&str] = &[
    "enabled",
    "image",
    "containerPrefix",
    "network",
    "cdpPort",
    "cdpSourceRange",
    "vncPort",
    "noVncPort",
    "headless",
    "noVncEnabled",
    "enableNoVnc",
    "allowHostControl",
    "autoStart",
    "autoStartTimeoutMs",
    "binds",
];

/// Which sessions run in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// None.
    #[default]
    Off,
    /// All but main sessions.
    NonMain,
    /// All.
    All,
}

impl Mode {
    /// Whether a session runs in a sandbox, as far as the configuration alone decides (spec `sandbox.md` §2.2).
    /// `is_main` is [`super::Subject::is_main`].
    pub fn sandboxes(self, is_main: bool) -> bool {
        self.decide(is_main, &Stamp::None)
    }

    /// Whether a session with this stamp runs in a sandbox; the first line that applies (spec `sandbox.md` §2.2).
    pub fn decide(self, is_main: bool, stamp: &Stamp) -> bool {
        match stamp {
            Stamp::Required(_) => true,
            Stamp::OptedOut => false,
            Stamp::None => match self {
                Self::Off => false,
                Self::NonMain => !is_main,
                Self::All => true,
            },
        }
    }
}

/// What a sandbox sees of the agent's workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceAccess {
    /// Nothing; it has a workspace of its own.
    #[default]
    None,
    /// The agent's at `/agent`, and everything read-only.
    Ro,
    /// The agent's as its own, writable.
    Rw,
}

/// What one layer says; `None` where it says nothing.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are the keys of the block, documented in `ResolvedSandbox`")]
pub struct SandboxLayer {
    pub mode: Option<Set<Mode>>,
    pub backend: Option<Set<String>>,
    pub scope: Option<Set<Scope>>,
    pub workspace_access: Option<Set<WorkspaceAccess>>,
    pub workspace_root: Option<Set<String>>,
    pub idle_hours: Option<Set<u64>>,
    pub max_age_days: Option<Set<u64>>,
    pub pool_size: Option<Set<u64>>,
    pub ssh_workspace_root: Option<Set<String>>,
    pub docker: DockerLayer,
}

impl SandboxLayer {
    /// Reads `sandbox` out of a block of defaults or of an agent.
    pub fn read(parent: &Block<'_>) -> Option<Self> {
        let block = &parent.open("sandbox")?;
        no_per_session(block);
        let prune = block.closed("prune", &["idleHours", "maxAgeDays"]);
        let docker = DockerLayer::read(block).unwrap_or_default();
        browser(block, docker.allow_namespace_join.as_ref().is_some_and(|set| set.value));
        let ssh = block.closed("ssh", SSH_KEYS);
        let _ = block.choice("sessionToolsVisibility", &[("spawned", ()), ("all", ())]);
        Some(Self {
            mode: block
                .choice("mode", &[("off", Mode::Off), ("non-main", Mode::NonMain), ("all", Mode::All)]),
            backend: block.text("backend").filter(|set| !set.value.trim().is_empty()),
            scope: block.choice(
                "scope",
                &[("session", Scope::Session), ("agent", Scope::Agent), ("shared", Scope::Shared)],
            ),
            workspace_access: block.choice(
                "workspaceAccess",
                &[("none", WorkspaceAccess::None), ("ro", WorkspaceAccess::Ro), ("rw", WorkspaceAccess::Rw)],
            ),
            workspace_root: block.word("workspaceRoot"),
            idle_hours: prune.as_ref().and_then(|prune| prune.whole("idleHours", 0)),
            max_age_days: prune.as_ref().and_then(|prune| prune.whole("maxAgeDays", 0)),
            pool_size: block.closed("pool", &["size"]).as_ref().and_then(pool_size),
            ssh_workspace_root: ssh.as_ref().and_then(ssh_workspace_root),
            docker,
        })
    }
}

/// How many containers wait.
fn pool_size(pool: &Block<'_>) -> Option<Set<u64>> {
    let set = pool.whole("size", 0)?;
    if set.value > MAX_POOL {
        pool.problem("size", format!("{} is more than {MAX_POOL}", set.value), "write a smaller number");
        return None;
    }
    Some(set)
}

/// A directory on the other machine; creel has no such backend and only tells it.
fn ssh_workspace_root(ssh: &Block<'_>) -> Option<Set<String>> {
    let set = ssh.word("workspaceRoot")?.map(|text| text.replace('\\', "/"));
    if !set.value.starts_with('/') {
        ssh.problem("workspaceRoot", format!("{:?} is not an absolute path", set.value), "begin it with /");
        return None;
    }
    Some(set.map(|text| text.trim_end_matches('/').to_owned()))
}

/// The former key is told apart from a misspelling: what it meant is known.
fn no_per_session(block: &Block<'_>) {
    if !block.has("perSession") {
        return block.only(KEYS);
    }
    let fix = "write scope: \"session\" for true, scope: \"shared\" for false";
    block.problem("perSession", "is no longer a key", fix);
    let known: Vec<&str> = KEYS.iter().copied().chain(["perSession"]).collect();
    block.only(&known);
}

/// The browser's container is judged by the same rules, so that it cannot be the way around them.
fn browser(block: &Block<'_>, allow_join: bool) {
    let Some(browser) = block.closed("browser", BROWSER_KEYS) else { return };
    let _ = docker::network(&browser, "network", allow_join);
    let _ = docker::container_prefix(&browser, "containerPrefix");
    let _ = docker::binds(&browser, "binds");
}
