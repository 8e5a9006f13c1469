//! What a scope key, as listings show it, says of its owner; and which of them somebody means. Pure.

use super::{AgentId, SessionKey};

/// What ends a scope key that belongs to a workspace.
const WORKSPACE: &str = ":workspace:";

/// The agent that a scope key names; none for the shared sandbox.
pub fn agent_of(scope_key: &str) -> Option<AgentId> {
    let id = scope_key.strip_prefix("agent:")?.split(':').next()?;
    AgentId::parse(id).ok().filter(|agent| agent.as_str() == id)
}

/// A session whose sandbox has this scope key, where the key tells one: any of the agent's for an agent's sandbox.
/// Sandboxes of other options and those with an isolation subject have none that could be told.
pub fn session_of(scope_key: &str) -> Option<SessionKey> {
    if scope_key == "shared" {
        return Some(SessionKey::main_of(&AgentId::main()));
    }
    let (subject, _) = scope_key.rsplit_once(WORKSPACE)?;
    let agent = agent_of(scope_key).unwrap_or_else(AgentId::main);
    if stands_alone(scope_key) {
        return None;
    }
    if subject == format!("agent:{agent}") {
        return Some(SessionKey::main_of(&agent));
    }
    SessionKey::parse(subject, &agent).ok().filter(|key| key.as_str() == subject)
}

/// The key of a sandbox that one session or one creator has for itself, with a digest in the place of their name.
pub fn stands_alone(scope_key: &str) -> bool {
    let mut parts = scope_key.split(':').skip(2);
    let kind = parts.next();
    matches!(kind, Some("principal" | "required-session")) && parts.next().is_some_and(is_digest)
}

/// Which sandboxes somebody means (spec `sandbox.md` §22).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Every one of the installation.
    All,
    /// The one with exactly this scope key.
    Scope(String),
    /// Those of an agent.
    Agent(String),
}

impl Selection {
    /// Whether a sandbox is meant.
    pub fn holds(&self, scope_key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Scope(key) => key == scope_key,
            Self::Agent(id) => scope_key
                .strip_prefix("agent:")
                .and_then(|rest| rest.strip_prefix(id.as_str()))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(':')),
        }
    }
}

/// The command that makes the sandbox of this scope key anew, and no other than it needs to (spec `sandbox.md` §11.2).
pub fn recreate_hint(scope_key: &str) -> String {
    if scope_key == "shared" {
        return "creel sandbox recreate --all".to_owned();
    }
    let own = agent_of(scope_key)
        .filter(|agent| scope_key.strip_prefix(&format!("agent:{agent}{WORKSPACE}")).is_some_and(is_digest));
    match own {
        Some(agent) => format!("creel sandbox recreate --agent {agent}"),
        None => format!("creel sandbox recreate --session {}", quoted(scope_key)),
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ":._@/-".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const H: &str = "59f00c3df4a2af58523f193f9e8ada36";

    #[test]
    fn agents_are_selected_by_whole_names() {
        let agent = Selection::Agent("ma".to_owned());
        assert!(!agent.holds(&format!("agent:main:workspace:{H}")));
        assert!(agent.holds("agent:ma") && agent.holds(&format!("agent:ma:x:workspace:{H}")));
        assert!(!agent.holds("shared") && Selection::All.holds("shared"));
        let scope = Selection::Scope("agent:main:main".to_owned());
        assert!(!scope.holds(&format!("agent:main:main:workspace:{H}")), "exactly, nothing is completed");
    }

    #[test]
    fn owners() {
        assert_eq!(agent_of("shared"), None);
        assert_eq!(agent_of(&format!("agent:ops:x:workspace:{H}")).unwrap().as_str(), "ops");
        let session = |key: &str| session_of(key).map(|key| key.as_str().to_owned());
        assert_eq!(session(&format!("agent:ops:workspace:{H}")).unwrap(), "agent:ops:main");
        assert_eq!(session(&format!("agent:ops:x:y:workspace:{H}")).unwrap(), "agent:ops:x:y");
        assert_eq!(session(&format!("global:workspace:{H}")).unwrap(), "global");
        assert_eq!(session("x"), None);
        let alone = format!("agent:ops:required-session:{H}:workspace:{H}");
        assert!(session(&alone).is_none() && stands_alone(&alone));
        assert!(!stands_alone(&format!("agent:ops:principal:x:workspace:{H}")));
    }

    #[test]
    fn hints_follow_the_scope() {
        assert_eq!(recreate_hint("shared"), "creel sandbox recreate --all");
        let agent = format!("agent:main:workspace:{H}");
        assert_eq!(recreate_hint(&agent), "creel sandbox recreate --agent main");
        let session = format!("agent:main:discord:group:1:workspace:{H}");
        assert_eq!(recreate_hint(&session), format!("creel sandbox recreate --session {session}"));
        assert_eq!(recreate_hint("agent:a:it's"), "creel sandbox recreate --session 'agent:a:it'\\''s'");
        let variant = format!("{agent}:variant:workspace:{H}");
        assert!(recreate_hint(&variant).contains("--session"));
    }
}
