//! What a session has chosen for its commands: `/exec` and `/elevated` (spec `exec.md` §9.1, §10). Pure.
//!
//! The configuration is never written by them. What is chosen can only be stored by somebody who may command
//! ([`super::directive`]); a stricter approvals document holds all the same.

use serde::{Deserialize, Serialize};

use crate::approvals::policy::words;
use crate::config::exec::{Ask, ExecHost, ExecLayer, Security};
use crate::config::reader::Set;
use crate::error::{Diagnose, Report};
use crate::policy::Level;

/// The word that takes a choice back.
const UNSET: &str = "unset";
/// The longest name of a node, in characters.
const NODE_MAX: usize = 256;

/// What a session has chosen; `None` where the configuration decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Overrides {
    /// Where commands run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<ExecHost>,
    /// How far they are trusted on a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// When a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// The paired machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The level of elevated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elevated: Option<Level>,
}

/// A change of one choice or several: `None` leaves it, `Some(None)` takes it back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Where commands run.
    pub host: Option<Option<ExecHost>>,
    /// How far they are trusted on a host.
    pub security: Option<Option<Security>>,
    /// When a person is asked.
    pub ask: Option<Option<Ask>>,
    /// The paired machine.
    pub node: Option<Option<String>>,
    /// The level of elevated.
    pub elevated: Option<Option<Level>>,
}

/// Why options are not understood. Nothing of them is stored then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// The word is no value of its key.
    #[error("{value:?} is no value of {key}; valid values: {valid}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was written.
        value: String,
        /// What could be.
        valid: &'static str,
    },
    /// The node has no name.
    #[error("node= names no node")]
    EmptyNode,
    /// The word is no option.
    #[error("{0:?} is no option; options are host=, security=, ask=, node= and elevated=")]
    Unknown(String),
}

impl Diagnose for OverrideError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Value { valid, .. } => ("CRL-SESSION-010", format!("write one of {valid}")),
            Self::EmptyNode => ("CRL-SESSION-011", "write node=<id or name>, or node=unset".to_owned()),
            Self::Unknown(_) => ("CRL-SESSION-012", "write host=auto, for example".to_owned()),
        };
        Report { code, message: self.to_string(), rule: Some("session options".to_owned()), fix }
    }
}

/// Splits an option at its first `=` or `:`.
pub(super) fn option(word: &str) -> Option<(&str, &str)> {
    let at = word.find(['=', ':'])?;
    Some((word.get(..at)?, word.get(at + 1..)?))
}

impl Change {
    /// Reads options: `host=node security:deny`. Keys and words in any case; the last of several counts.
    ///
    /// # Errors
    ///
    /// For a word that is no option, a value that its key does not have, and a node without a name.
    pub fn parse<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Self, OverrideError> {
        let mut change = Self::default();
        for word in words {
            let shown = || crate::shown::one_line(word).chars().take(80).collect();
            let (key, value) = option(word).ok_or_else(|| OverrideError::Unknown(shown()))?;
            if !change.set(key, value)? {
                return Err(OverrideError::Unknown(shown()));
            }
        }
        Ok(change)
    }

    /// Sets one option; false where there is no such key.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<bool, OverrideError> {
        match key.to_ascii_lowercase().as_str() {
            "host" => self.host = Some(one("host", value, words::target, "auto, sandbox, gateway, node")?),
            "security" => {
                self.security = Some(one("security", value, words::security, "deny, allowlist, full")?);
            }
            "ask" => self.ask = Some(one("ask", value, words::ask, "off, on-miss, always")?),
            "node" => self.node = Some(node(value)?),
            "elevated" => self.elevated = Some(one("elevated", value, Level::parse, "off, on, ask, full")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Nothing runs on a host any more, and nothing else changes: that is always safe to hear.
    pub fn only_denies(&self) -> bool {
        *self == Self { security: Some(Some(Security::Deny)), ..Self::default() }
    }

    /// What counts in a message that says something else too: where commands run is not changed by the way.
    #[must_use]
    pub fn in_passing(self) -> Self {
        Self { host: None, node: None, ..self }
    }
}

fn one<T>(
    key: &'static str,
    value: &str,
    read: impl Fn(&str) -> Option<T>,
    valid: &'static str,
) -> Result<Option<T>, OverrideError> {
    if value.trim().eq_ignore_ascii_case(UNSET) {
        return Ok(None);
    }
    let shown = || crate::shown::one_line(value).chars().take(80).collect();
    read(value).map(Some).ok_or_else(|| OverrideError::Value { key, value: shown(), valid })
}

fn node(value: &str) -> Result<Option<String>, OverrideError> {
    let value = value.trim();
    if value.is_empty() || value.chars().any(char::is_control) || value.chars().count() > NODE_MAX {
        return Err(OverrideError::EmptyNode);
    }
    Ok((!value.eq_ignore_ascii_case(UNSET)).then(|| value.to_owned()))
}

impl Overrides {
    /// With a change. Whoever takes the node back takes `host=node` back with it: it would mean another node.
    #[must_use]
    pub fn changed(self, change: &Change) -> Self {
        let mut host = change.host.unwrap_or(self.host);
        if change.node == Some(None) && change.host.is_none() && host == Some(ExecHost::Node) {
            host = None;
        }
        Self {
            host,
            security: change.security.unwrap_or(self.security),
            ask: change.ask.unwrap_or(self.ask),
            node: change.node.clone().unwrap_or(self.node),
            elevated: change.elevated.unwrap_or(self.elevated),
        }
    }

    /// Nothing is chosen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As a layer over the configuration.
    pub fn layer(&self) -> ExecLayer {
        fn set<T: Copy>(value: Option<T>, key: &str) -> Option<Set<T>> {
            value.map(|value| Set { value, key: format!("/exec {key}") })
        }
        ExecLayer {
            host: set(self.host, "host"),
            security: set(self.security, "security"),
            ask: set(self.ask, "ask"),
            node: self.node.clone().map(|value| Set { value, key: "/exec node".to_owned() }),
            ..ExecLayer::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn options_are_read_and_change_what_they_name() {
        let words = "HOST=auto security:allowlist ask=On-Miss node=mac-1 elevated=full".split(' ');
        let change = Change::parse(words).unwrap();
        let chosen = Overrides::default().changed(&change);
        assert_eq!(chosen.host, Some(ExecHost::Auto));
        assert_eq!((chosen.security, chosen.ask), (Some(Security::Allowlist), Some(Ask::OnMiss)));
        assert_eq!((chosen.node.as_deref(), chosen.elevated), (Some("mac-1"), Some(Level::Full)));
        let back = Change::parse(["ask=unset", "elevated=unset"]).unwrap();
        let left = chosen.clone().changed(&back);
        assert_eq!((left.ask, left.elevated, left.security), (None, None, Some(Security::Allowlist)));
        let layer = chosen.layer();
        assert_eq!(layer.security.unwrap().key, "/exec security");
    }

    #[test]
    fn without_its_node_a_session_does_not_run_on_another() {
        let chosen =
            Overrides { host: Some(ExecHost::Node), node: Some("a".to_owned()), ..Overrides::default() };
        assert!(chosen.clone().changed(&Change::parse(["node=unset"]).unwrap()).is_empty());
        let both = Change::parse(["node=unset", "host=node"]).unwrap();
        assert_eq!(chosen.changed(&both).host, Some(ExecHost::Node));
    }

    #[test]
    fn bad_options_name_the_word_and_what_could_be() {
        let error = |word: &str| Change::parse([word]).unwrap_err();
        assert_eq!(error("node="), OverrideError::EmptyNode);
        assert!(
            error("security=ful").to_string().contains("\"ful\" is no value of security; valid values: deny")
        );
        assert_eq!(error("mode=full"), OverrideError::Unknown("mode=full".to_owned()));
        assert_eq!(error("hello"), OverrideError::Unknown("hello".to_owned()));
        assert!(!error("host=\u{1b}[31m").to_string().contains('\u{1b}'));
    }

    #[test]
    fn only_a_plain_denial_is_always_safe() {
        let of = |words: &[&str]| Change::parse(words.iter().copied()).unwrap().only_denies();
        assert!(of(&["security=deny"]));
        for words in [&["security=deny", "host=gateway"][..], &["ask=always"], &["security=full"], &[]] {
            assert!(!of(words), "{words:?}");
        }
    }
}
