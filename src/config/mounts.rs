//! What a sandbox mounts besides its binds (spec `sandbox.md` §4): one answer for whoever makes the container and for
//! whoever explains it. Looks at the file system for directories that are mounted only where they exist.

use std::path::{Path, PathBuf};

use super::{ResolvedSandbox, WorkspaceAccess};
use crate::paths::policy::AGENT_TARGET;
use crate::paths::protected::{self, Protected};
use crate::session::{self, Isolation, Scope, ScopeKey, SessionKey};

/// Where a subagent finds what it was given.
pub const ATTACHMENTS_TARGET: &str = "/openclaw/attachments";

/// A mount that the configuration does not list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// On the host; the workspace's as configured, everything else resolved.
    pub source: PathBuf,
    /// In the container.
    pub target: String,
    /// Commands may write.
    pub writable: bool,
    /// Why it is there.
    pub kind: Kind,
}

/// Why a mount is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The working directory.
    Workspace,
    /// The agent's workspace beside it.
    Agent,
    /// Instructions that the sandbox must not change.
    ProtectedSkill,
    /// A directory of the workspace on the way to such instructions: as a mount point it cannot be renamed.
    Way,
    /// What a subagent was given.
    Attachments,
}

impl Kind {
    /// A bind with the same target is left out; the others give way to one.
    pub fn stays(self) -> bool {
        matches!(self, Self::ProtectedSkill | Self::Attachments)
    }
}

impl ResolvedSandbox {
    /// The identity of a session's sandbox within the installation (spec `sandbox.md` §3.1). `place` is the directory
    /// that stands for the agent's workspace.
    pub fn scope_key(&self, session: &SessionKey, place: &Path) -> ScopeKey {
        // Attachments are one session's: what it was given is not for others of its scope, or of its creator.
        if self.attachments(session).is_some() {
            return ScopeKey::isolated(&Isolation::Session, session, place);
        }
        match &self.isolation {
            Some(isolation) => ScopeKey::isolated(isolation, session, place),
            None => ScopeKey::new(self.scope, session, place),
        }
    }

    /// The directory of the host that a session's commands work in.
    pub fn host_workspace(&self, session: &SessionKey) -> PathBuf {
        if self.workspace_access == WorkspaceAccess::Rw {
            return self.agent_workspace.clone();
        }
        session::sandbox_workspace(&self.workspace_root, &self.scope_key(session, &self.agent_workspace))
    }

    /// The mounts of a session's sandbox besides its binds: the workspace, which is `root`, and what lies beside it.
    pub fn managed(&self, session: &SessionKey, root: &Path) -> (Managed, Vec<Managed>) {
        let (access, workdir) = (self.workspace_access, self.docker.workdir.as_str());
        let mount = |source: &Path, target: &str, writable, kind| Managed {
            source: source.to_owned(),
            target: target.to_owned(),
            writable,
            kind,
        };
        let workspace = mount(root, workdir, access != WorkspaceAccess::Ro, Kind::Workspace);
        let mut all = Vec::new();
        if access == WorkspaceAccess::Ro {
            all.push(mount(&self.agent_workspace, AGENT_TARGET, false, Kind::Agent));
        } else {
            let skill = |one: &Protected| mount(&one.source, &one.target, false, Kind::ProtectedSkill);
            all.extend(protected::protected(root, workdir).iter().map(skill));
        }
        if access == WorkspaceAccess::Rw {
            let laid_out = session::skills(&self.state, &self.scope_key(session, &self.agent_workspace));
            let found = protected::below(&laid_out, "skills");
            let target = protected::laid_out(workdir);
            all.extend(found.map(|source| mount(&source, &target, false, Kind::ProtectedSkill)));
        }
        let way = |one: Protected| mount(&one.source, &one.target, true, Kind::Way);
        let targets = all.iter().filter(|one| one.kind == Kind::ProtectedSkill);
        let ways: Vec<Managed> =
            targets.flat_map(|one| protected::ways(root, workdir, &one.target)).map(way).collect();
        all.extend(ways);
        let attached = self.attachments(session);
        all.extend(attached.map(|source| mount(&source, ATTACHMENTS_TARGET, false, Kind::Attachments)));
        (workspace, all)
    }

    /// What a session was given, where there is such a directory. The shared sandbox is everybody's: nothing of one
    /// session is mounted there.
    fn attachments(&self, session: &SessionKey) -> Option<PathBuf> {
        let dir = session::attachments(&self.state, session);
        let (parent, name) = dir.parent().zip(dir.file_name()?.to_str())?;
        protected::below(parent, name).filter(|_| self.scope != Scope::Shared)
    }
}
