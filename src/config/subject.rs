//! Which agent and which session are meant, and whether that session is a main one (spec `sandbox.md` §2, §20).

use super::{Config, ConfigError, NamedBy};
use crate::error::{Diagnose, Report};
use crate::session::{AgentId, SessionError, SessionKey, Stamp};

/// The literal that names the one session of the global session scope.
const GLOBAL: &str = "global";

/// An agent and one of its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The agent.
    pub agent: AgentId,
    /// The session.
    pub session: SessionKey,
    /// The key of the agent's main session.
    pub main: String,
    /// The session is the main one.
    pub is_main: bool,
    /// What the agent host stamped onto it.
    pub stamp: Stamp,
}

impl Subject {
    /// With the stamp that the agent host keeps of the session.
    #[must_use]
    pub fn stamped(self, stamp: Stamp) -> Self {
        Self { stamp, ..self }
    }
}

/// Why nobody is meant.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubjectError {
    /// Agent or session is no name.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The agent is not configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Diagnose for SubjectError {
    fn report(&self) -> Report {
        match self {
            Self::Session(error) => error.report(),
            Self::Config(error) => error.report(),
        }
    }
}

impl Config {
    /// Reads what a caller names. Without an agent it is the session's own, without both the default agent's main
    /// session. Agent and session must not contradict each other.
    pub fn subject(&self, agent: Option<&str>, session: Option<&str>) -> Result<Subject, SubjectError> {
        let named = agent.map(AgentId::parse).transpose()?;
        let fallback = named.clone().unwrap_or_else(|| self.default_agent());
        let session = match (session, &named) {
            (None, _) => SessionKey::main_of(&fallback),
            (Some(key), Some(agent)) => SessionKey::parse_for(key, agent)?,
            (Some(key), None) => SessionKey::parse(key, &fallback)?,
        };
        let named_by = if named.is_some() { NamedBy::Id } else { NamedBy::Session };
        let agent = named.unwrap_or_else(|| session.agent().clone());
        self.known_agent(&agent, named_by)?;
        // `global` is a main session only where sessions are global; elsewhere it is a session like any other.
        let is_main = session.is_main() && (self.global_sessions || session.as_str() != GLOBAL);
        let main = if self.global_sessions {
            GLOBAL.to_owned()
        } else {
            SessionKey::main_of(&agent).as_str().to_owned()
        };
        Ok(Subject { agent, session, main, is_main, stamp: Stamp::None })
    }

    /// The channel that a session belongs to, by its key: `webchat`, or a channel that the configuration has.
    pub fn channel<'k>(&self, session: &'k SessionKey) -> Option<&'k str> {
        let (channel, rest) = session.as_str().splitn(3, ':').nth(2)?.split_once(':')?;
        let known = channel == "webchat" || self.channels.iter().any(|name| name == channel);
        (known && !rest.is_empty()).then_some(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("/c"), &|_| None).unwrap()
    }

    #[test]
    fn main_sessions() {
        let main = |text: &str, session| {
            let subject = config(text).subject(None, session).unwrap();
            (subject.is_main, subject.main)
        };
        let own = "agent:main:main".to_owned();
        assert_eq!(main("{}", None), (true, own.clone()));
        assert_eq!(main("{}", Some("global")), (false, own.clone()));
        assert_eq!(main("{}", Some("work")), (false, own));
        let global = "{session: {scope: 'global'}}";
        assert_eq!(main(global, Some("global")), (true, "global".to_owned()));
        assert_eq!(main(global, None), (true, "global".to_owned()));
        assert_eq!(main(global, Some("agent:main:x")), (false, "global".to_owned()));
    }

    #[test]
    fn contradictions_and_strangers_are_refused() {
        let config = config("{agents: {entries: {main: {}, ops: {}}}}");
        assert!(matches!(
            config.subject(Some("ops"), Some("agent:main:x")),
            Err(SubjectError::Session(SessionError::OtherAgent { .. }))
        ));
        assert!(matches!(config.subject(Some(" "), None), Err(SubjectError::Session(_))));
        assert!(matches!(config.subject(None, Some("agent:op:x")), Err(SubjectError::Config(_))));
        // The fix is about what was given.
        let fix = |agent, session| config.subject(agent, session).unwrap_err().report().fix;
        assert_eq!(fix(None, Some("agent:op:x")), "did you mean agent:ops:…?");
        assert!(fix(None, Some("agent:somebody-else:x")).contains("name a session"));
        assert!(fix(Some("somebody-else"), None).contains("leave out --agent"));
        assert_eq!(config.subject(None, Some("agent:ops:x")).unwrap().agent.as_str(), "ops");
    }

    #[test]
    fn channels_are_configured_ones() {
        let key = |text: &str| SessionKey::parse(text, &AgentId::main()).unwrap();
        let with = config("{channels: {telegram: {}, slack: {enabled: false}}}");
        assert_eq!(with.channel(&key("agent:main:telegram:direct:1")), Some("telegram"));
        assert_eq!(with.channel(&key("agent:main:slack:direct:1")), None);
        assert_eq!(with.channel(&key("agent:main:subagent:1")), None);
        assert_eq!(with.channel(&key("agent:main:telegram")), None);
        assert_eq!(config("{}").channel(&key("agent:main:webchat:direct:1")), Some("webchat"));
    }
}
