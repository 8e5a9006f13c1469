//! Tools and the elevated gates: what the policy decided, in upstream's fields.

use std::collections::BTreeMap;

use serde::Serialize;

use super::At;
use crate::config::{Config, Subject};
use crate::policy::elevated::{self, Failing};
use crate::policy::{Caller, Entry, Tool, changes, sandbox::Source};

/// The sandbox's lists of tools, groups expanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tools {
    /// What may be called; empty is everything that is not denied.
    pub allow: Vec<String>,
    /// What may not.
    pub deny: Vec<String>,
    /// Where the lists come from.
    pub sources: Sources,
}

/// Where the lists come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sources {
    /// Of `allow`.
    pub allow: Source,
    /// Of `deny`.
    pub deny: Source,
}

/// Whether commands may leave the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Elevated {
    /// Not switched off anywhere.
    pub enabled: bool,
    /// The channel of the session, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// There is somebody whom the configuration lets out.
    pub allowed_by_config: bool,
    /// Everybody in that channel.
    pub always_allowed_by_config: bool,
    /// `global` and `agent` to their lists for the channel.
    pub allow_from: BTreeMap<&'static str, Vec<String>>,
    /// Gates that fail whoever asks.
    pub failures: Vec<Failing>,
}

/// Whether the session's agent may call `exec` at all. The sandbox's lists are only a part of what decides that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecTool {
    /// It may.
    pub callable: bool,
    /// What takes it away, first to last; empty where nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_by: Vec<RemovedBy>,
    /// What together brings it back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The command that tells more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub see: Option<String>,
}

/// A rule that takes a tool away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedBy {
    /// The rule, as in `tools.deny`.
    pub rule: String,
    /// The key that decides.
    pub key: String,
    /// Where it stands; absent for what is built in.
    #[serde(flatten)]
    pub origin: Option<At>,
}

/// Asked as for a call without a model, a sender or a group: what they take away belongs to a message.
pub(super) fn exec(config: &Config, subject: &Subject, sandboxed: bool) -> ExecTool {
    let policy = config.tool_policy(&subject.agent, &Caller { sandboxed, ..Caller::default() });
    let removals = policy.removals(&Tool::new("exec"));
    let see = format!("creel tools list --why --agent {} --session {}", subject.agent, subject.session);
    ExecTool {
        callable: removals.is_empty(),
        changes: changes(&removals).into_iter().map(str::to_owned).collect(),
        see: (!removals.is_empty()).then_some(see),
        removed_by: removals
            .into_iter()
            .map(|removal| RemovedBy {
                rule: removal.rule(),
                origin: config.origin(&removal.key).map(At::from),
                key: removal.key,
            })
            .collect(),
    }
}

pub(super) fn tools(config: &Config, subject: &Subject) -> Tools {
    let lists = config.sandbox_tools(&subject.agent);
    let names = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.text).collect();
    Tools {
        allow: names(lists.allow),
        deny: names(lists.deny),
        sources: Sources { allow: lists.allow_source, deny: lists.deny_source },
    }
}

pub(super) fn elevated(config: &Config, subject: &Subject) -> Elevated {
    let channel = config.channel(&subject.session);
    let agent = config.agent_tools(&subject.agent).map(|tools| &tools.elevated);
    let says = elevated::configured(&config.tools().elevated, agent, channel, subject.stamp.is_required());
    let lists = [("global", says.global), ("agent", says.agent)];
    Elevated {
        enabled: says.enabled,
        channel: channel.map(str::to_owned),
        allowed_by_config: says.allowed,
        always_allowed_by_config: says.always,
        allow_from: lists.into_iter().filter_map(|(name, list)| Some((name, list?))).collect(),
        failures: says.failures,
    }
}
