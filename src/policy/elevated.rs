//! The gates and levels of elevated: whether `exec` may leave the sandbox (spec `sandbox.md` §19).
//!
//! Elevated adds no tool and overrides no list. Every gate must pass; nobody passes who is not named.

use super::lists::List;
use super::sender::{self, Sender};

/// Who may, for one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowFrom {
    /// The provider as written.
    pub provider: String,
    /// The senders.
    pub senders: List,
}

/// The block `tools.elevated`, global or of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ElevatedScope {
    /// Unset counts as on: the lists decide.
    pub enabled: Option<bool>,
    /// By provider. An agent's block can only restrict.
    pub allow_from: Option<Vec<AllowFrom>>,
}

impl ElevatedScope {
    fn senders(&self, provider: &str) -> Option<&List> {
        let same = |from: &&AllowFrom| from.provider.trim().eq_ignore_ascii_case(provider.trim());
        self.allow_from.iter().flatten().find(same).map(|from| &from.senders)
    }
}

/// A gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Gate {
    /// The session need not be sandboxed.
    Sandbox,
    /// Switched on.
    Enabled,
    /// The provider is known.
    Provider,
    /// A list names the sender.
    AllowFrom,
}

/// A gate that does not let through, and the key that opens it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failing {
    /// The gate.
    pub gate: Gate,
    /// The key; agents are `agents.entries.*`.
    pub key: String,
}

/// Who asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requester<'a> {
    /// The provider of the message.
    pub provider: Option<&'a str>,
    /// Its sender.
    pub sender: Option<&'a Sender>,
    /// The list of the channel, which holds where none is configured for the provider.
    pub fallback: Option<&'a List>,
    /// The role of the session's creator demands a sandbox: nobody leaves it.
    pub required: bool,
}

const ENABLED: &str = "tools.elevated.enabled";
const AGENT: &str = "agents.entries.*.";

fn allow_from(provider: &str) -> String {
    format!("tools.elevated.allowFrom.{}", provider.trim().to_lowercase())
}

/// The gates that fail for a requester; empty means that elevated is available. Both switches are told together,
/// behind them the first gate that fails is enough.
pub fn failing(global: &ElevatedScope, agent: Option<&ElevatedScope>, who: &Requester<'_>) -> Vec<Failing> {
    let failing: Vec<Failing> = switches(global, agent).into_iter().chain(demanded(who.required)).collect();
    if !failing.is_empty() {
        return failing;
    }
    let one = |gate, key| vec![Failing { gate, key }];
    let Some(provider) = who.provider.filter(|provider| !provider.trim().is_empty()) else {
        return one(Gate::Provider, "ctx.Provider".to_owned());
    };
    let named = |list: Option<&List>| match (list, who.sender) {
        (Some(list), Some(sender)) => sender::find(list, sender).is_some(),
        (Some(list), None) => sender::is_open(list),
        (None, _) => false,
    };
    if !named(global.senders(provider).or(who.fallback)) {
        return one(Gate::AllowFrom, allow_from(provider));
    }
    let restricted = agent.filter(|agent| agent.allow_from.is_some());
    if restricted.is_some_and(|agent| !named(agent.senders(provider))) {
        return one(Gate::AllowFrom, format!("{AGENT}{}", allow_from(provider)));
    }
    Vec::new()
}

/// A session whose creator's role demands a sandbox never leaves it (spec `sandbox.md` §2.3); no key opens that.
fn demanded(required: bool) -> Option<Failing> {
    required.then(|| Failing { gate: Gate::Sandbox, key: "sandbox=required".to_owned() })
}

fn switches(global: &ElevatedScope, agent: Option<&ElevatedScope>) -> Vec<Failing> {
    let off = |scope: &ElevatedScope| scope.enabled == Some(false);
    let fail = |key: String| Failing { gate: Gate::Enabled, key };
    let global = off(global).then(|| fail(ENABLED.to_owned()));
    let agent = agent.is_some_and(off).then(|| fail(format!("{AGENT}{ENABLED}")));
    global.into_iter().chain(agent).collect()
}

/// The keys that may open the way, for a refusal's text.
pub fn fix_it(provider: Option<&str>) -> [String; 4] {
    let list = provider.map_or_else(|| "tools.elevated.allowFrom.<provider>".to_owned(), allow_from);
    [ENABLED.to_owned(), list.clone(), format!("{AGENT}{ENABLED}"), format!("{AGENT}{list}")]
}

/// What the configuration alone says, without a sender: for `sandbox explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// Neither switch is off.
    pub enabled: bool,
    /// The lists that count name somebody.
    pub allowed: bool,
    /// They name everybody.
    pub always: bool,
    /// The global list for the channel, where the channel is known.
    pub global: Option<Vec<String>>,
    /// The agent's, where it has lists.
    pub agent: Option<Vec<String>>,
    /// What is in the way.
    pub failures: Vec<Failing>,
}

/// What the configuration says for a channel.
pub fn configured(
    global: &ElevatedScope,
    agent: Option<&ElevatedScope>,
    channel: Option<&str>,
    required: bool,
) -> Configured {
    let mut failures = switches(global, agent);
    let enabled = failures.is_empty();
    failures.extend(demanded(required));
    let Some(channel) = channel else {
        return Configured { enabled, allowed: false, always: false, global: None, agent: None, failures };
    };
    let texts = |list: Option<&List>| {
        let texts = list.iter().flat_map(|list| &list.entries).map(|entry| entry.text.trim().to_owned());
        texts.filter(|text| !text.is_empty()).collect::<Vec<String>>()
    };
    let restricted = agent.filter(|agent| agent.allow_from.is_some());
    let far = texts(global.senders(channel));
    let near = restricted.map(|agent| texts(agent.senders(channel)));
    let everybody = |list: &Vec<String>| list.iter().any(|text| text == "*");
    if far.is_empty() {
        failures.push(Failing { gate: Gate::AllowFrom, key: allow_from(channel) });
    }
    if near.as_ref().is_some_and(Vec::is_empty) {
        let key = format!("{AGENT}{}", allow_from(channel));
        failures.push(Failing { gate: Gate::AllowFrom, key });
    }
    let allowed = failures.is_empty();
    let always = allowed && everybody(&far) && near.as_ref().is_none_or(everybody);
    Configured { enabled, allowed, always, global: Some(far), agent: near, failures }
}

/// How far elevated goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not at all.
    #[default]
    Off,
    /// On the host, under the host's approvals; `on` is the same.
    Ask,
    /// On the host, without approvals where the host's policy has none either.
    Full,
}

impl Level {
    /// The level that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim().to_lowercase().as_str() {
            "off" | "false" | "no" | "0" => Some(Self::Off),
            "on" | "true" | "yes" | "1" | "ask" | "prompt" | "approval" | "approve" => Some(Self::Ask),
            "full" | "auto" | "auto-approve" | "autoapprove" => Some(Self::Full),
            _ => None,
        }
    }
}

/// What was chosen, the nearest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Levels {
    /// In the message.
    pub inline: Option<Level>,
    /// In the session.
    pub session: Option<Level>,
    /// `agents.defaults.elevatedDefault`.
    pub configured: Option<Level>,
}

impl Levels {
    /// The level for a call, if all gates pass. `requested` is the call's own `elevated`.
    ///
    /// Off unless somebody chose otherwise; a person's `off` in the session holds against the model's request.
    pub fn for_call(&self, requested: Option<bool>) -> Level {
        let person = self.inline.or(self.session);
        let level = person.or(self.configured).unwrap_or_default();
        match requested {
            Some(false) => Level::Off,
            Some(true) if person == Some(Level::Off) => Level::Off,
            Some(true) => level.max(Level::Ask),
            None => level,
        }
    }
}
