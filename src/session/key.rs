//! Agent ids and session keys (spec `sandbox.md` §2.1).

use std::fmt;

use crate::error::{Diagnose, Report};

/// The longest agent id; it becomes part of directory names.
const AGENT_MAX: usize = 64;
/// The longest session key; it is stored, hashed and shown.
const KEY_MAX: usize = 512;

/// Why text is no agent id or session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Nothing usable is left of the agent's name.
    #[error("agent id {0:?} has no letter or digit")]
    BlankAgent(String),
    /// The key is not `agent:<id>:<rest>`.
    #[error("session key {0:?} is not of the form agent:<id>:<name>")]
    Malformed(String),
    /// The key holds a control character or is longer than 512 bytes.
    #[error("session key contains a control character or is longer than {KEY_MAX} bytes")]
    Unreadable,
    /// Agent and session disagree.
    #[error("session {key} belongs to agent {found}, not to agent {wanted}")]
    OtherAgent {
        /// The key.
        key: String,
        /// The agent in the key.
        found: String,
        /// The agent that was asked for.
        wanted: String,
    },
}

impl Diagnose for SessionError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::BlankAgent(_) => ("CRL-SESSION-001", "name an agent, for example main"),
            Self::Malformed(_) => {
                ("CRL-SESSION-002", "write a plain name, or the full key agent:<id>:<name>")
            }
            Self::Unreadable => ("CRL-SESSION-003", "use a shorter key of printable characters"),
            Self::OtherAgent { .. } => {
                ("CRL-SESSION-004", "leave out --agent, or name the session's own agent")
            }
        };
        Report { code, message: self.to_string(), rule: Some("session keys".to_owned()), fix: fix.to_owned() }
    }
}

/// A normalised agent id: lower case, `[a-z0-9_-]`, at most 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct AgentId(String);

impl AgentId {
    /// The agent that exists without any configuration.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// Trims, lowers, and replaces each run of other characters by one `-`.
    ///
    /// An id is part of file names and keys, so nothing else than these characters may come through.
    pub fn parse(text: &str) -> Result<Self, SessionError> {
        let dashed = super::name::dashed(text, |c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'));
        let id = dashed.get(..AGENT_MAX).unwrap_or(&dashed).trim_matches('-');
        if id.is_empty() { Err(SessionError::BlankAgent(text.to_owned())) } else { Ok(Self(id.to_owned())) }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session key in full (`agent:main:main`), or the literal `global`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    text: String,
    agent: AgentId,
    main: bool,
}

impl SessionKey {
    /// The main session of an agent.
    pub fn main_of(agent: &AgentId) -> Self {
        Self { text: format!("agent:{agent}:main"), agent: agent.clone(), main: true }
    }

    /// A key as a person or a tool gives it.
    ///
    /// Blank is the main session of `agent`; `global` is itself and main; text without a colon is a name in
    /// `agent`, lower-cased; a full key names its own agent. Prefix, agent id and the name `main` are folded to
    /// lower case, the rest of a full key stays as written: channel ids may differ by case alone.
    pub fn parse(text: &str, agent: &AgentId) -> Result<Self, SessionError> {
        let text = text.trim();
        if text.chars().any(char::is_control) || text.len() > KEY_MAX {
            return Err(SessionError::Unreadable);
        }
        if text.is_empty() || text.eq_ignore_ascii_case("main") {
            return Ok(Self::main_of(agent));
        }
        if text == "global" {
            return Ok(Self { text: text.to_owned(), agent: agent.clone(), main: true });
        }
        if !text.contains(':') {
            return Ok(Self::build(agent.clone(), &text.to_lowercase()));
        }
        let malformed = || SessionError::Malformed(text.to_owned());
        let mut parts = text.splitn(3, ':');
        let prefix = parts.next().unwrap_or_default();
        let (id, rest) = parts.next().zip(parts.next()).ok_or_else(malformed)?;
        if !prefix.eq_ignore_ascii_case("agent") || rest.trim().is_empty() {
            return Err(malformed());
        }
        Ok(Self::build(AgentId::parse(id)?, rest))
    }

    /// The same, refusing a key that belongs to another agent than the one that was named beside it.
    pub fn parse_for(text: &str, agent: &AgentId) -> Result<Self, SessionError> {
        let key = Self::parse(text, agent)?;
        if key.agent == *agent {
            return Ok(key);
        }
        Err(SessionError::OtherAgent {
            found: key.agent.to_string(),
            wanted: agent.to_string(),
            key: key.text,
        })
    }

    fn build(agent: AgentId, rest: &str) -> Self {
        if rest.eq_ignore_ascii_case("main") {
            return Self::main_of(&agent);
        }
        Self { text: format!("agent:{agent}:{rest}"), agent, main: false }
    }

    /// The full key.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The agent that the session belongs to.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Whether this is its agent's main session. Decided by the key: groups and channels never are.
    pub fn is_main(&self) -> bool {
        self.main
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> String {
        SessionKey::parse(text, &AgentId::main()).unwrap().text
    }

    #[test]
    fn aliases_lead_to_the_main_key() {
        for alias in ["", "  ", "main", "MAIN", "agent:main:main", "Agent:Main:Main"] {
            assert_eq!(key(alias), "agent:main:main", "{alias:?}");
        }
        assert!(SessionKey::parse("main", &AgentId::main()).unwrap().is_main());
        assert!(SessionKey::parse("global", &AgentId::main()).unwrap().is_main());
    }

    #[test]
    fn names_and_full_keys() {
        assert_eq!(key("Work"), "agent:main:work");
        assert_eq!(key("agent:ops:telegram:direct:1"), "agent:ops:telegram:direct:1");
        assert_eq!(key("Agent:Ops:WhatsApp:group:Ab@g.us"), "agent:ops:WhatsApp:group:Ab@g.us");
        assert!(!SessionKey::parse("agent:main:discord:group:1", &AgentId::main()).unwrap().is_main());
        for bad in ["agent:main", "agent:main:", "x:y:z", "agent::x", ":::"] {
            assert!(SessionKey::parse(bad, &AgentId::main()).is_err(), "{bad}");
        }
        assert_eq!(SessionKey::parse("a\nb", &AgentId::main()), Err(SessionError::Unreadable));
    }

    #[test]
    fn another_agents_session_is_refused() {
        let ops = AgentId::parse("ops").unwrap();
        assert!(matches!(SessionKey::parse_for("agent:main:x", &ops), Err(SessionError::OtherAgent { .. })));
        assert_eq!(SessionKey::parse_for("x", &ops).unwrap().as_str(), "agent:ops:x");
    }

    #[test]
    fn agent_ids_are_normalised() {
        for (given, wanted) in
            [(" Main ", "main"), ("My Agent!", "my-agent"), ("a/../b", "a-b"), ("x_y-1", "x_y-1")]
        {
            assert_eq!(AgentId::parse(given).unwrap().as_str(), wanted);
        }
        assert!(AgentId::parse("../..").is_err());
        assert_eq!(AgentId::parse(&"é".repeat(70)).unwrap_err(), SessionError::BlankAgent("é".repeat(70)));
        assert_eq!(AgentId::parse(&"a".repeat(70)).unwrap().as_str().len(), 64);
    }

    proptest::proptest! {
        #[test]
        fn parsing_never_panics_and_is_stable(text in "\\PC{0,40}|(agent|Agent)(:[A-Za-z.]{0,5}){0,4}") {
            let agent = AgentId::main();
            if let Ok(key) = SessionKey::parse(&text, &agent) {
                assert_eq!(SessionKey::parse(key.as_str(), key.agent()).unwrap(), key);
            }
        }
    }
}
