//! The workspace of a session and what is mounted, as the configuration has it. Binds are shown as written even where
//! they will be refused: the refusal is told beside them.

use std::path::PathBuf;

use serde::Serialize;

use crate::config::ResolvedSandbox;
use crate::config::mounts::{Kind, Managed};
use crate::paths::{BindSpec, ValidBind, lexical, select};
use crate::session::{self, ScopeKey, SessionKey};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MountRow {
    /// On the host.
    pub host_root: PathBuf,
    /// In the container.
    pub container_root: String,
    /// Commands may write.
    pub writable: bool,
    /// Why it is there.
    pub source: MountSource,
}

/// Why a mount is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MountSource {
    /// The working directory.
    Workspace,
    /// The agent's workspace beside it.
    Agent,
    /// A configured bind.
    Bind,
    /// Instructions that the sandbox must not change.
    ProtectedSkill,
    /// What a subagent was given.
    Attachments,
}

/// The backend is an engine of containers.
fn is_engine(sandbox: &ResolvedSandbox) -> bool {
    matches!(sandbox.backend_id().as_str(), "docker" | "podman")
}

/// The directory of the host that commands work in.
pub(super) fn host_root(sandbox: &ResolvedSandbox, session: &SessionKey, sandboxed: bool) -> PathBuf {
    if sandboxed { sandbox.host_workspace(session) } else { sandbox.agent_workspace.clone() }
}

/// The same as commands see it.
pub(super) fn workdir(sandbox: &ResolvedSandbox, session: &SessionKey, sandboxed: bool) -> Option<String> {
    if !sandboxed {
        return Some(sandbox.agent_workspace.display().to_string());
    }
    match sandbox.backend_id().as_str() {
        "docker" | "podman" => Some(sandbox.docker.workdir.clone()),
        "ssh" => {
            let slug = match sandbox.scope_key(session, &sandbox.agent_workspace) {
                ScopeKey::Shared => "shared".to_owned(),
                ScopeKey::Of(key) => session::slug(&key),
            };
            Some(format!("{}/openclaw-ssh-{slug}/workspace", sandbox.ssh_workspace_root))
        }
        _ => None,
    }
}

/// The mounts of a sandboxed session: those that creel manages and the binds over them, chosen as for its container.
pub(super) fn rows(sandbox: &ResolvedSandbox, session: &SessionKey, sandboxed: bool) -> Vec<MountRow> {
    if !sandboxed || !is_engine(sandbox) {
        return Vec::new();
    }
    let (workspace, beside) = sandbox.managed(session, &sandbox.host_workspace(session));
    let managed: Vec<Managed> = std::iter::once(workspace).chain(beside).collect();
    let guarded: Vec<String> =
        managed.iter().filter(|one| one.kind.stays()).map(|one| one.target.clone()).collect();
    let mut rows: Vec<MountRow> = managed.into_iter().map(MountRow::from).collect();
    // The configuration refuses what cannot be parsed.
    let binds = sandbox.docker.binds.iter().filter_map(|bind| {
        let BindSpec { source, target, read_only, relabel } = BindSpec::parse(&bind.written).ok()?;
        let source_resolved = lexical::clean(&source).display().to_string();
        Some(ValidBind {
            source_written: source,
            source_resolved,
            target,
            read_only,
            relabel,
            key: bind.key.clone(),
        })
    });
    for bind in select::select(binds.collect(), &guarded).binds {
        let bind = MountRow {
            host_root: PathBuf::from(bind.source_resolved),
            container_root: bind.target,
            writable: !bind.read_only,
            source: MountSource::Bind,
        };
        match rows.iter_mut().find(|before| before.container_root == bind.container_root) {
            Some(before) => *before = bind,
            None => rows.push(bind),
        }
    }
    rows
}

impl From<Managed> for MountRow {
    fn from(mount: Managed) -> Self {
        Self {
            host_root: mount.source,
            container_root: mount.target,
            writable: mount.writable,
            source: match mount.kind {
                Kind::Workspace | Kind::Way => MountSource::Workspace,
                Kind::Agent => MountSource::Agent,
                Kind::ProtectedSkill => MountSource::ProtectedSkill,
                Kind::Attachments => MountSource::Attachments,
            },
        }
    }
}
