//! What holds, as JSON for people and programs (spec `approvals.md` 16.08 to 16.10).

use serde::Serialize;

use super::effective::{Effective, Way};
use super::requested::Source;
use crate::config::exec::{Ask, ExecHost, ExecMode, Security};

/// One scope: the whole configuration, or one agent.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// `tools.exec` or `agent:<id>`.
    pub scope_label: String,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Where commands are to run.
    pub host: HostColumn,
    /// The mode.
    pub mode: ModeColumn,
    /// How far commands are trusted.
    pub security: Column<Security>,
    /// When a person is asked.
    pub ask: Column<Ask>,
    /// What holds where nobody can be asked.
    pub ask_fallback: FallbackColumn,
    /// `local-file`, or `node-runtime` where another machine's document decides.
    pub runtime_approvals_source: &'static str,
}

/// Where commands are to run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostColumn {
    /// What is configured.
    pub requested: ExecHost,
    /// By whom.
    pub requested_source: String,
}

/// The mode, requested and effective.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeColumn {
    /// What is configured.
    pub requested: ExecMode,
    /// By whom.
    pub requested_source: String,
    /// What holds.
    pub effective: Known<ExecMode>,
    /// Whether they differ, and why.
    pub note: &'static str,
}

/// One value on its way.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Column<T> {
    /// What is configured.
    pub requested: T,
    /// By whom.
    pub requested_source: String,
    /// What the machine's document says.
    pub host: Known<T>,
    /// Where.
    pub host_source: String,
    /// What holds.
    pub effective: Known<T>,
    /// Whether they differ, and why.
    pub note: &'static str,
}

/// What holds where nobody can be asked.
#[derive(Debug, Clone, Serialize)]
pub struct FallbackColumn {
    /// What holds.
    pub effective: Known<Security>,
    /// The document's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A value, or the word `unknown` where only another machine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known<T>(pub Option<T>);

impl<T: Serialize> Serialize for Known<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str("unknown"),
        }
    }
}

const NODE: &str = "the node's own approvals decide when the command runs";

/// Reports what holds for an agent, or for the whole configuration.
pub fn scope(effective: &Effective, agent: Option<&str>) -> Scope {
    let node = effective.host.value == ExecHost::Node;
    let mode = effective.policy().mode();
    let note = match (node, mode == effective.mode.value) {
        (true, _) => NODE,
        (false, true) => "requested mode applies",
        (false, false) => "host policy changes effective mode",
    };
    Scope {
        scope_label: agent.map_or_else(|| "tools.exec".to_owned(), |id| format!("agent:{id}")),
        agent_id: agent.map(str::to_owned),
        host: HostColumn {
            requested: effective.host.value,
            requested_source: told(&effective.host.source, effective.host.value),
        },
        mode: ModeColumn {
            requested: effective.mode.value,
            requested_source: told(&effective.mode.source, effective.mode.value),
            effective: Known((!node).then_some(mode)),
            note,
        },
        security: column(
            &effective.security,
            node,
            "requested security applies",
            "stricter host security wins",
        ),
        ask: column(&effective.ask, node, "requested ask applies", "more aggressive ask wins"),
        ask_fallback: FallbackColumn {
            effective: Known((!node).then_some(effective.ask_fallback.value)),
            source: match &effective.ask_fallback.source {
                source @ Source::Document { .. } if !node => Some(source.to_string()),
                _ => None,
            },
        },
        runtime_approvals_source: if node { "node-runtime" } else { "local-file" },
    }
}

fn column<T: Copy + PartialEq + Serialize>(
    way: &Way<T>,
    node: bool,
    same: &'static str,
    other: &'static str,
) -> Column<T> {
    let note = match (node, way.effective == way.requested.value) {
        (true, _) => NODE,
        (false, true) => same,
        (false, false) => other,
    };
    Column {
        requested: way.requested.value,
        requested_source: told(&way.requested.source, way.requested.value),
        host: Known((!node).then_some(way.host.value)),
        host_source: if node { "node runtime approvals".to_owned() } else { way.host.source.to_string() },
        effective: Known((!node).then_some(way.effective)),
        note,
    }
}

/// A built-in value is told with its source.
fn told<T: Serialize>(source: &Source, value: T) -> String {
    match (source, serde_json::to_value(value)) {
        (Source::BuiltIn, Ok(serde_json::Value::String(word))) => format!("{source} ({word})"),
        _ => source.to_string(),
    }
}
