//! The workspace of a session and what is mounted, as the configuration has it. Binds are shown as written even where
//! they will be refused: the refusal is told beside them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::{ResolvedSandbox, WorkspaceAccess};
use crate::paths::policy::AGENT_TARGET;
use crate::paths::protected::protected;
use crate::paths::{BindSpec, lexical};
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
}

/// The backend is an engine of containers.
fn is_engine(sandbox: &ResolvedSandbox) -> bool {
    matches!(sandbox.backend_id().as_str(), "docker" | "podman")
}

fn scope(sandbox: &ResolvedSandbox, session: &SessionKey) -> ScopeKey {
    ScopeKey::new(sandbox.scope, session, &sandbox.agent_workspace)
}

/// The directory of the host that commands work in.
pub(super) fn host_root(sandbox: &ResolvedSandbox, session: &SessionKey, sandboxed: bool) -> PathBuf {
    if !sandboxed || sandbox.workspace_access == WorkspaceAccess::Rw {
        return sandbox.agent_workspace.clone();
    }
    session::sandbox_workspace(&sandbox.workspace_root, &scope(sandbox, session))
}

/// The same as commands see it.
pub(super) fn workdir(sandbox: &ResolvedSandbox, session: &SessionKey, sandboxed: bool) -> Option<String> {
    if !sandboxed {
        return Some(sandbox.agent_workspace.display().to_string());
    }
    match sandbox.backend_id().as_str() {
        "docker" | "podman" => Some(sandbox.docker.workdir.clone()),
        "ssh" => {
            let slug = match scope(sandbox, session) {
                ScopeKey::Shared => "shared".to_owned(),
                ScopeKey::Of(key) => session::slug(&key),
            };
            Some(format!("{}/openclaw-ssh-{slug}/workspace", sandbox.ssh_workspace_root))
        }
        _ => None,
    }
}

/// The mounts of a sandboxed session: workspace, agent's workspace, protected directories, binds (spec §4.5).
pub(super) fn rows(sandbox: &ResolvedSandbox, session: &SessionKey, sandboxed: bool) -> Vec<MountRow> {
    if !sandboxed || !is_engine(sandbox) {
        return Vec::new();
    }
    let root = host_root(sandbox, session, sandboxed);
    let access = sandbox.workspace_access;
    let row = |host_root: &Path, container_root: &str, writable, source| MountRow {
        host_root: host_root.to_owned(),
        container_root: container_root.to_owned(),
        writable,
        source,
    };
    let mut rows =
        vec![row(&root, &sandbox.docker.workdir, access != WorkspaceAccess::Ro, MountSource::Workspace)];
    if access == WorkspaceAccess::Ro {
        rows.push(row(&sandbox.agent_workspace, AGENT_TARGET, false, MountSource::Agent));
    }
    let protected =
        if access == WorkspaceAccess::Rw { protected(&root, &sandbox.docker.workdir) } else { Vec::new() };
    rows.extend(
        protected.iter().map(|one| row(&one.source, &one.target, false, MountSource::ProtectedSkill)),
    );
    let kept = |spec: &BindSpec| !protected.iter().any(|one| one.target == spec.target);
    // The configuration refuses what cannot be parsed.
    let binds = sandbox.docker.binds.iter().filter_map(|bind| BindSpec::parse(&bind.written).ok());
    for spec in binds.filter(kept) {
        let bind = row(&lexical::clean(&spec.source), &spec.target, !spec.read_only, MountSource::Bind);
        match rows.iter_mut().find(|before| before.container_root == bind.container_root) {
            Some(before) => *before = bind,
            None => rows.push(bind),
        }
    }
    rows
}
