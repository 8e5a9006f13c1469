//! One policy written to both sides, the document and the configuration (spec `approvals.md` §16.2). Pure: texts and
//! documents in, texts and documents out.

use serde::Serialize;

use super::document::Document;
use super::policy::{ModePolicy, Requested};
use crate::config::edit::{self, EditError};
use crate::config::exec::{Ask, ExecHost, Security};
use crate::config::{KeyPath, path::NotAKey};

/// What is to hold; what is absent stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// Where commands run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<ExecHost>,
    /// How far they are trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// When a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// What holds where nobody can be asked; only the document has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_fallback: Option<Security>,
}

/// A policy with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Everything runs, nobody is asked.
    Yolo,
    /// What is listed runs, a person is asked about the rest.
    Cautious,
    /// Nothing runs.
    DenyAll,
}

impl Preset {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yolo => "yolo",
            Self::Cautious => "cautious",
            Self::DenyAll => "deny-all",
        }
    }

    /// What it stands for.
    pub const fn wanted(self) -> Wanted {
        let (security, ask, fallback) = match self {
            Self::Yolo => (Security::Full, Ask::Off, Security::Full),
            Self::Cautious => (Security::Allowlist, Ask::OnMiss, Security::Deny),
            Self::DenyAll => (Security::Deny, Ask::Off, Security::Deny),
        };
        Wanted {
            host: Some(ExecHost::Gateway),
            security: Some(security),
            ask: Some(ask),
            ask_fallback: Some(fallback),
        }
    }
}

/// The three values of the document's defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Values {
    security: Option<Security>,
    ask: Option<Ask>,
    ask_fallback: Option<Security>,
}

impl Wanted {
    /// Writes into the document's defaults; returns what was there.
    pub fn write(self, document: &mut Document) -> Values {
        let defaults = &mut document.defaults;
        let before =
            Values { security: defaults.security, ask: defaults.ask, ask_fallback: defaults.ask_fallback };
        defaults.security = self.security.or(defaults.security);
        defaults.ask = self.ask.or(defaults.ask);
        defaults.ask_fallback = self.ask_fallback.or(defaults.ask_fallback);
        before
    }

    /// Takes back what [`Self::write`] wrote, value by value: only what is still there, and only where what was there
    /// before is not looser (16.12).
    pub fn take_back(self, document: &mut Document, before: Values) {
        let defaults = &mut document.defaults;
        // Nothing written imposes nothing; of the fallback it is `deny`.
        let security = |value: Option<Security>| value.unwrap_or(Security::Full);
        let ask = |value: Option<Ask>| value.unwrap_or(Ask::Off);
        let fallback = |value: Option<Security>| value.unwrap_or(Security::Deny);
        if self.security.is_some()
            && defaults.security == self.security
            && security(before.security) <= security(self.security)
        {
            defaults.security = before.security;
        }
        if self.ask.is_some() && defaults.ask == self.ask && ask(before.ask) >= ask(self.ask) {
            defaults.ask = before.ask;
        }
        if self.ask_fallback.is_some()
            && defaults.ask_fallback == self.ask_fallback
            && fallback(before.ask_fallback) <= fallback(self.ask_fallback)
        {
            defaults.ask_fallback = before.ask_fallback;
        }
    }

    /// The configuration's text with the policy in `tools.exec`: as a mode where one says exactly this, else as the pair
    /// of old (16.13). `now` is what the text asks for.
    ///
    /// # Errors
    ///
    /// Where the text cannot be changed in place.
    pub fn configure(self, text: &str, now: &Requested) -> Result<String, EditError> {
        let mut text = text.to_owned();
        if let Some(host) = self.host.filter(|host| *host != now.host.value || now.host.source.is_built_in())
        {
            text = set(&text, "host", host)?;
        }
        let before = now.policy();
        let (security, ask) = (self.security.unwrap_or(before.security), self.ask.unwrap_or(before.ask));
        let asked = self.security.is_some() || self.ask.is_some();
        let same = now.policy() == ModePolicy::pair(security, ask) && !now.security.source.is_built_in();
        if !asked || same {
            return Ok(text);
        }
        if let Some(mode) = ModePolicy::pair(security, ask).exact() {
            text = without(&text, "security")?;
            text = without(&text, "ask")?;
            set(&text, "mode", mode)
        } else {
            text = without(&text, "mode")?;
            text = set(&text, "security", security)?;
            set(&text, "ask", ask)
        }
    }
}

fn key(name: &str) -> Result<KeyPath, EditError> {
    KeyPath::parse(&format!("tools.exec.{name}")).map_err(|NotAKey(text)| EditError::Layout(text))
}

fn set(text: &str, name: &str, value: impl Serialize) -> Result<String, EditError> {
    edit::set(text, &key(name)?, &serde_json::to_value(value).unwrap_or_default())
}

fn without(text: &str, name: &str) -> Result<String, EditError> {
    match edit::unset(text, &key(name)?) {
        Err(EditError::Absent(_)) => Ok(text.to_owned()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approvals::policy::Layers;
    use crate::config::Config;

    fn configured(text: &str, wanted: Wanted) -> serde_json::Value {
        let config = Config::parse(text, std::path::Path::new("/c"), &|_| None).unwrap();
        let (global, _) = config.exec_layers(&config.default_agent());
        let now = Requested::of(&Layers { global: Some(global), ..Layers::default() }, false);
        let text = wanted.configure(text, &now).unwrap();
        json5::from_str::<serde_json::Value>(&text).unwrap()["tools"]["exec"].clone()
    }

    #[test]
    fn an_exact_mode_takes_the_place_of_a_pair_and_nothing_else() {
        for (before, preset, after) in [
            ("{}", Preset::Yolo, r#"{"host":"gateway","mode":"full"}"#),
            (
                "{tools:{exec:{security:'full',ask:'off',node:'a'}}}",
                Preset::Cautious,
                r#"{"host":"gateway","mode":"ask","node":"a"}"#,
            ),
            ("{tools:{exec:{mode:'auto'}}}", Preset::DenyAll, r#"{"host":"gateway","mode":"deny"}"#),
            // Who asks for a person does not mean the reviewer of `auto`.
            ("{tools:{exec:{mode:'auto'}}}", Preset::Cautious, r#"{"host":"gateway","mode":"ask"}"#),
        ] {
            let after: serde_json::Value = serde_json::from_str(after).unwrap();
            assert_eq!(configured(before, preset.wanted()), after, "{before}");
        }
        let always = Wanted { ask: Some(Ask::Always), ..Wanted::default() };
        let pair: serde_json::Value = serde_json::from_str(r#"{"security":"full","ask":"always"}"#).unwrap();
        assert_eq!(configured("{tools:{exec:{mode:'full'}}}", always), pair);
        let nothing = Wanted { ask_fallback: Some(Security::Full), ..Wanted::default() };
        assert_eq!(configured("{tools:{exec:{mode:'full'}}}", nothing)["mode"], "full");
    }

    #[test]
    fn what_is_taken_back_never_loosens() {
        let all = [None, Some(Security::Deny), Some(Security::Allowlist), Some(Security::Full)];
        for before in all {
            for security in all.into_iter().flatten() {
                let mut document = Document::default();
                document.defaults.security = before;
                let wanted = Wanted { security: Some(security), ..Wanted::default() };
                let kept = wanted.write(&mut document);
                assert_eq!(document.defaults.security, Some(security));
                wanted.take_back(&mut document, kept);
                let now = document.defaults.security.unwrap_or(Security::Full);
                assert!(now <= security, "{before:?} {security:?}");
                assert_eq!(now, security.min(before.unwrap_or(Security::Full)));
            }
        }
        let mut document = Document::default();
        let wanted = Preset::Yolo.wanted();
        let kept = wanted.write(&mut document);
        wanted.take_back(&mut document, kept);
        assert_eq!(document, Document::default());
        let kept = wanted.write(&mut document);
        // Somebody tightened it meanwhile.
        document.defaults.ask = Some(Ask::Always);
        wanted.take_back(&mut document, kept);
        assert_eq!(document.defaults.ask, Some(Ask::Always));
    }
}
