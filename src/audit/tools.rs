//! What the tool policy removed, as the log `agents/tool-policy` says it (spec `sandbox.md` §18.7). Pure.

use serde::Serialize;
use serde_json::Value;

use super::exec;
use super::finding::{Finding, Severity};
use super::raw::{self, at};
use crate::config::{Config, Document, Mode, Places};
use crate::policy::Caller;
use crate::policy::audit::{self, StepEntry};

pub use crate::policy::audit::LOGGER;

/// What one agent's policy removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// The agent.
    pub agent_id: String,
    /// The sandbox's lists took part: some of its sessions run in one.
    pub sandboxed: bool,
    /// One entry for each step that removed tools.
    pub entries: Vec<StepEntry>,
}

/// For every agent.
pub(super) fn removed(config: &Config, places: &Places) -> Vec<Removed> {
    let tools = config.known_tools();
    let one = |id: crate::session::AgentId| {
        let sandboxed = config.sandbox(&id, places).is_ok_and(|sandbox| sandbox.mode != Mode::Off);
        let policy = config.tool_policy(&id, &Caller { sandboxed, ..Caller::default() });
        let entries = audit::entries(&policy, &policy.sift(&tools));
        Removed { agent_id: id.to_string(), sandboxed, entries }
    };
    exec::agents(config).into_iter().map(one).filter(|removed| !removed.entries.is_empty()).collect()
}

/// The same as findings.
pub(super) fn findings(removed: &[Removed], document: &Document) -> Vec<Finding> {
    let one = |agent: &str, entry: &StepEntry| {
        let more = if entry.removed_tools_truncated { ", …" } else { "" };
        Finding::new(
            LOGGER,
            Severity::Info,
            match entry.removed_tool_count {
                1 => format!("{} removed 1 tool", entry.rule),
                count => format!("{} removed {count} tools", entry.rule),
            },
            format!("agent {agent} ({}): {}{more}", entry.rule_kind, entry.removed_tools.join(", ")),
            format!("see `creel tools list` with --why; the key is {}", entry.config_key),
        )
        .at(document, &entry.config_key)
    };
    let all = removed
        .iter()
        .flat_map(|removed| removed.entries.iter().map(move |entry| one(&removed.agent_id, entry)));
    all.collect()
}

/// The narrowest profile holds globally, and an agent has another.
pub(super) fn minimal_overridden(document: &Document) -> Vec<Finding> {
    let root = document.root();
    if at(root, &["tools", "profile"]).and_then(Value::as_str) != Some("minimal") {
        return Vec::new();
    }
    let one = |layer: raw::Layer<'_>| {
        let profile =
            at(layer.block, &["tools", "profile"])?.as_str().filter(|profile| *profile != "minimal")?;
        let key = format!("{}.tools.profile", layer.key);
        let detail =
            format!("tools.profile is minimal, and agent {} has {profile}", layer.agent.unwrap_or_default());
        Some(
            Finding::new(
                "tools.profile_minimal_overridden",
                Severity::Warn,
                "An agent widens the minimal profile",
                detail,
                format!("remove {key}, or set the profile it needs on purpose"),
            )
            .at(document, &key),
        )
    };
    raw::agents(root).into_iter().filter_map(one).collect()
}
