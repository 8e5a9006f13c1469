//! What holds for a session, where each value comes from, and the keys that change it (spec `sandbox.md` §20).
//!
//! The fields are upstream's, so that what reads them works unchanged; creel's own lie below one key, `creel`. The
//! answer is computed by the functions that decide (configuration, scopes, mounts, tool policy), never by a second
//! opinion. Nothing is started and nothing is written.
//!
//! | file | concern |
//! |---|---|
//! | `mounts` | the workspace and what is mounted, by configuration |
//! | `policy` | tools and the elevated gates |
//! | `sources` | which key decided, problems that a first command would meet |
//! | `validity` | the whole check of a configuration, and of a change of it |
//! | `live` | the engine and the container, as far as they answer in time |

mod live;
mod mounts;
mod policy;
mod sources;
mod validity;

use std::path::PathBuf;

use serde::Serialize;

use crate::config::{Config, Mode, Places, ResolvedSandbox, Subject, SubjectError, WorkspaceAccess};
use crate::session::Scope;

pub use live::{
    ContainerState, ENGINE_TIME, EngineState, Live, OwnContainer, Planned, PlannedMount, PoolState, Road,
    look,
};
pub use mounts::{MountRow, MountSource};
pub use policy::{Elevated, ExecTool, RemovedBy, Sources, Tools};
pub use sources::{At, Problem, Source, refused_here};
pub use validity::{Left, check, no_worse};

/// Where upstream documents the fields.
pub const DOCS_URL: &str = "https://docs.openclaw.ai/sandbox";

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// [`DOCS_URL`].
    pub docs_url: &'static str,
    /// The agent.
    pub agent_id: String,
    /// The session.
    pub session_key: String,
    /// The agent's main session.
    pub main_session_key: String,
    /// Where its commands run.
    pub sandbox: SandboxState,
    /// The way out of the sandbox.
    pub elevated: Elevated,
    /// Keys that change the answer.
    pub fix_it: Vec<String>,
    /// What upstream does not tell.
    pub creel: Own,
}

/// Upstream's part about the sandbox.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxState {
    /// Which sessions are sandboxed.
    pub mode: Mode,
    /// What shares a sandbox.
    pub scope: Scope,
    /// Backend as configured.
    pub backend: String,
    /// What the sandbox sees of the agent's workspace.
    pub workspace_access: WorkspaceAccess,
    /// Where the sandboxes' own workspaces lie.
    pub workspace_root: PathBuf,
    /// The directory of the host that commands work in.
    pub effective_host_workspace_root: PathBuf,
    /// The same as the commands see it; absent where the backend is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_workdir: Option<String>,
    /// Mounts by configuration.
    pub workspace_mounts: Vec<MountRow>,
    /// `direct`, `agent` or `sandbox`.
    pub workspace_source: &'static str,
    /// Whether this session runs in a sandbox.
    pub session_is_sandboxed: bool,
    /// The sandbox's lists of tools.
    pub tools: Tools,
}

/// creel's own part.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Own {
    /// creel's version.
    pub version: &'static str,
    /// The configuration file that was read, or that would have been.
    pub config_file: PathBuf,
    /// Setting to the key and place that decided it; what is absent has its built-in value.
    pub sources: std::collections::BTreeMap<&'static str, Source>,
    /// Whether the agent may call `exec`.
    pub exec: ExecTool,
    /// What would refuse a sandbox of this session.
    pub problems: Vec<Problem>,
    /// Variables of the configuration whose names look like credentials; their values reach every command.
    pub credential_names: Vec<String>,
    /// Engine and container.
    #[serde(flatten)]
    pub live: Live,
}

/// Answers from the configuration. `live` is what was learned of engine and container, see [`look`].
pub fn explain(
    config: &Config,
    places: &Places,
    subject: &Subject,
    live: Live,
) -> Result<Explanation, SubjectError> {
    let sandbox = config.sandbox_of(subject, places)?;
    let sandboxed = sandbox.mode.decide(subject.is_main, &subject.stamp);
    let elevated = policy::elevated(config, subject);
    let problems = sources::problems(&sandbox, places, &subject.session);
    Ok(Explanation {
        docs_url: DOCS_URL,
        agent_id: subject.agent.to_string(),
        session_key: subject.session.to_string(),
        main_session_key: subject.main.clone(),
        fix_it: fix_it(&sandbox, &elevated, subject),
        sandbox: SandboxState {
            effective_host_workspace_root: mounts::host_root(&sandbox, &subject.session, sandboxed),
            runtime_workdir: mounts::workdir(&sandbox, &subject.session, sandboxed),
            workspace_mounts: mounts::rows(&sandbox, &subject.session, sandboxed),
            workspace_source: match (sandboxed, sandbox.workspace_access) {
                (false, _) => "direct",
                (true, WorkspaceAccess::Rw) => "agent",
                (true, _) => "sandbox",
            },
            session_is_sandboxed: sandboxed,
            tools: policy::tools(config, subject),
            mode: sandbox.mode,
            scope: sandbox.scope,
            backend: sandbox.backend.clone(),
            workspace_access: sandbox.workspace_access,
            workspace_root: sandbox.workspace_root.clone(),
        },
        elevated,
        creel: Own {
            version: env!("CARGO_PKG_VERSION"),
            config_file: config.file().to_owned(),
            sources: sources::sources(config, &sandbox),
            exec: policy::exec(config, subject, sandboxed),
            problems,
            credential_names: sources::credential_names(&sandbox),
            live,
        },
    })
}

/// Upstream's list, in its order. No key lets a session out whose role demands a sandbox.
fn fix_it(sandbox: &ResolvedSandbox, elevated: &Elevated, subject: &Subject) -> Vec<String> {
    let mode: &[&str] = match sandbox.mode {
        Mode::Off => &[],
        _ if subject.stamp.is_required() => &[],
        _ => &["agents.defaults.sandbox.mode=off", "agents.entries.*.sandbox.mode=off"],
    };
    let tools = [
        "tools.sandbox.tools.allow",
        "tools.sandbox.tools.alsoAllow",
        "tools.sandbox.tools.deny",
        "agents.entries.*.tools.sandbox.tools.allow",
        "agents.entries.*.tools.sandbox.tools.alsoAllow",
        "agents.entries.*.tools.sandbox.tools.deny",
        "tools.elevated.enabled",
    ];
    let channel = elevated.channel.iter().map(|channel| format!("tools.elevated.allowFrom.{channel}"));
    mode.iter().chain(&tools).map(|key| (*key).to_owned()).chain(channel).collect()
}
