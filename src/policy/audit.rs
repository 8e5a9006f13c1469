//! What the log says of removed tools: entries of `agents/tool-policy` (spec `sandbox.md` §18.7).
//!
//! Names come from models, plugins and servers, so every text is escaped and cut: a log must be neither forged
//! nor flooded.

use super::decide::{Kind, Policy, Removal, Sifted};
use super::sandbox::Layer;
use crate::shown::deceives;

/// The name of the log.
pub const LOGGER: &str = "agents/tool-policy";
/// The longest text in an entry, in characters.
const TEXT_MAX: usize = 160;
/// The most names in an entry.
const NAMES_MAX: usize = 50;

/// One entry for each step that removed tools.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEntry {
    /// The step; `.deny` where only a denial removed.
    pub rule: String,
    /// `allow`, `deny` or `allow+deny`.
    pub rule_kind: &'static str,
    /// The key of the first removal, so that the reader knows where to look.
    pub config_key: String,
    /// The entries that denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matched_rules: Vec<String>,
    /// There were more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub matched_rules_truncated: bool,
    /// How many tools.
    pub removed_tool_count: usize,
    /// Their names.
    pub removed_tools: Vec<String>,
    /// There were more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed_tools_truncated: bool,
}

/// The entry for a call that the sandbox's policy blocked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockEntry {
    /// The tool.
    pub tool: String,
    /// Which list.
    pub rule_kind: Kind,
    /// Who chose the list.
    pub rule_source: Layer,
    /// The key.
    pub config_key: String,
    /// The entry that denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_rule: Option<String>,
    /// The mode of the sandbox.
    pub sandbox_mode: String,
}

/// The entries for what a policy made of a set of tools, in the order of its steps.
pub fn entries(policy: &Policy, sifted: &Sifted) -> Vec<StepEntry> {
    policy.steps().iter().filter_map(|step| entry(sifted, step.label())).collect()
}

fn entry(sifted: &Sifted, layer: &str) -> Option<StepEntry> {
    let removed: Vec<_> = sifted.removed().filter(|(_, removal)| removal.layer == layer).collect();
    let kinds = [Kind::Deny, Kind::Allow].map(|kind| removed.iter().any(|(_, removal)| removal.kind == kind));
    let (rule, rule_kind) = match kinds {
        [true, false] => (removed.first().map(|(_, removal)| removal.rule()), "deny"),
        [false, true] => (None, "allow"),
        _ => (None, "allow+deny"),
    };
    let mut matched: Vec<String> = Vec::new();
    for text in removed.iter().filter_map(|(_, removal)| removal.matched.as_deref()).map(shown) {
        if !matched.contains(&text) {
            matched.push(text);
        }
    }
    let cut = |names: &mut Vec<String>| {
        let more = names.len() > NAMES_MAX;
        names.truncate(NAMES_MAX);
        more
    };
    let matched_rules_truncated = cut(&mut matched);
    let mut names: Vec<String> = removed.iter().map(|(tool, _)| shown(tool.shown())).collect();
    let removed_tools_truncated = cut(&mut names);
    Some(StepEntry {
        rule: shown(&rule.unwrap_or_else(|| layer.to_owned())),
        rule_kind,
        config_key: shown(&removed.first()?.1.key),
        matched_rules: matched,
        matched_rules_truncated,
        removed_tool_count: removed.len(),
        removed_tools: names,
        removed_tools_truncated,
    })
}

/// The entry for a blocked call.
pub fn block(tool: &str, removal: &Removal, source: Layer, mode: &str) -> BlockEntry {
    BlockEntry {
        tool: shown(tool),
        rule_kind: removal.kind,
        rule_source: source,
        config_key: shown(&removal.key),
        matched_rule: removal.matched.as_deref().map(shown),
        sandbox_mode: shown(mode),
    }
}

/// Text for one line of a log: control characters escaped, cut.
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == TEXT_MAX {
            out.push('…');
            break;
        }
        if deceives(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
