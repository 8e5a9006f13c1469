//! What shares a sandbox (spec `sandbox.md` §3.1), and the directories that follow (§3.4).

use std::fmt;
use std::path::{Path, PathBuf};

use super::name::{DIGEST, sha, slug};
use super::{AgentId, Isolation, SessionKey};

/// Which sessions share one sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Every session has its own.
    Session,
    /// The sessions of one agent share one.
    #[default]
    Agent,
    /// All agents share one.
    Shared,
}

/// The identity of a sandbox within an installation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ScopeKey {
    /// The one shared sandbox.
    Shared,
    /// A session's or agent's sandbox, with a suffix for the agent workspace: two workspaces with the same keys
    /// must not share a container.
    Of(String),
}

impl ScopeKey {
    /// The key for a session under a scope; `workspace` is the agent's, absolute, `~` expanded.
    pub fn new(scope: Scope, session: &SessionKey, workspace: &Path) -> Self {
        let subject = match scope {
            Scope::Shared => return Self::Shared,
            Scope::Session => session.as_str().to_owned(),
            Scope::Agent => format!("agent:{}", session.agent()),
        };
        Self::of(&subject, workspace)
    }

    /// The key of a sandbox that stands alone, whatever the scope.
    pub fn isolated(isolation: &Isolation, session: &SessionKey, workspace: &Path) -> Self {
        let (kind, whose) = match isolation {
            Isolation::Creator(profile) => ("principal", profile.as_str()),
            Isolation::Session => ("required-session", session.as_str()),
        };
        Self::of(&format!("agent:{}:{kind}:{}", session.agent(), sha(whose, DIGEST)), workspace)
    }

    fn of(subject: &str, workspace: &Path) -> Self {
        Self::Of(format!("{subject}:workspace:{}", sha(&workspace.to_string_lossy(), DIGEST)))
    }
}

impl fmt::Display for ScopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::Of(key) => key,
        })
    }
}

/// The sandbox's own workspace on the host.
///
/// The shared sandbox gets a directory of its own below `root`. Upstream mounts `root` itself, and with it the
/// workspaces of every other scope.
pub fn sandbox_workspace(root: &Path, scope: &ScopeKey) -> PathBuf {
    match scope {
        ScopeKey::Shared => root.join("shared"),
        ScopeKey::Of(key) => root.join(slug(key)),
    }
}

/// Where the agent host puts the attachments of a subagent's session (spec `sandbox.md` §3.4).
pub fn attachments(state: &Path, session: &SessionKey) -> PathBuf {
    let digest = sha(session.as_str(), DIGEST);
    state.join("attachments/subagents").join(session.agent().as_str()).join(digest)
}

/// Where the agent host lays the skills out that a sandbox with the agent's own workspace sees (spec `sandbox.md` §3.4).
pub fn skills(state: &Path, scope: &ScopeKey) -> PathBuf {
    let slug = match scope {
        ScopeKey::Shared => "shared".to_owned(),
        ScopeKey::Of(key) => slug(key),
    };
    state.join("sandbox/skills-workspaces").join(slug).join(".openclaw/sandbox-skills")
}

/// An agent's workspace where none is configured: `<state>/workspace` for the default agent, else
/// `<state>/workspace-<id>`.
pub fn agent_workspace(state: &Path, agent: &AgentId, is_default: bool) -> PathBuf {
    if is_default { state.join("workspace") } else { state.join(format!("workspace-{agent}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories() {
        let root = Path::new("/r");
        assert_eq!(sandbox_workspace(root, &ScopeKey::Shared), Path::new("/r/shared"));
        let key =
            ScopeKey::new(Scope::Agent, &SessionKey::main_of(&AgentId::main()), Path::new("/home/u/ws"));
        assert_eq!(sandbox_workspace(root, &key), Path::new("/r/workspace-79c5f2c2fb731cde560a327cc3447285"));
        let ops = AgentId::parse("ops").unwrap();
        assert_eq!(agent_workspace(root, &ops, false), Path::new("/r/workspace-ops"));
        assert_eq!(agent_workspace(root, &AgentId::main(), true), Path::new("/r/workspace"));
    }

    #[test]
    fn isolated_keys() {
        let session = SessionKey::parse("agent:ops:x", &AgentId::main()).unwrap();
        let key = |isolation| ScopeKey::isolated(&isolation, &session, Path::new("/home/u/ws")).to_string();
        let digest = |text: &str| sha(text, DIGEST);
        let suffix = "workspace:59f00c3df4a2af58523f193f9e8ada36";
        let creator = key(Isolation::Creator("ann".to_owned()));
        assert_eq!(creator, format!("agent:ops:principal:{}:{suffix}", digest("ann")));
        assert_eq!(
            key(Isolation::Session),
            format!("agent:ops:required-session:{}:{suffix}", digest("agent:ops:x"))
        );
    }

    #[test]
    fn scopes_do_not_meet() {
        let session = SessionKey::parse("work", &AgentId::main()).unwrap();
        let keys = [Scope::Session, Scope::Agent, Scope::Shared]
            .map(|scope| ScopeKey::new(scope, &session, Path::new("/w")).to_string());
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
        assert_ne!(
            ScopeKey::new(Scope::Agent, &session, Path::new("/a")),
            ScopeKey::new(Scope::Agent, &session, Path::new("/b"))
        );
    }
}
