//! Switches that say themselves that they are dangerous. Pure.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::{self, at};
use crate::config::Document;
use crate::config::index::{element, member};

/// What such a switch's name begins with.
const BEGINNINGS: [&str; 2] = ["dangerously", "allowInsecure"];
/// Names that are dangerous when they are true, wherever they stand.
const TRUE: [&str; 1] = ["allowUnsafeExternalContent"];
/// How deep is looked; the parser's own bound is the same.
const DEPTH: usize = 64;

pub(super) fn checks(document: &Document) -> Vec<Finding> {
    let mut found = Vec::new();
    walk(document.root(), "", DEPTH, &mut found);
    let root = document.root();
    let apply_patch = ["tools", "exec", "applyPatch", "workspaceOnly"];
    let agents = raw::agents(root).into_iter().map(|layer| (format!("{}.", layer.key), layer.block));
    for (prefix, block) in std::iter::once((String::new(), root)).chain(agents) {
        if at(block, &apply_patch) == Some(&Value::Bool(false)) {
            found.push((format!("{prefix}{}", apply_patch.join(".")), "false".to_owned()));
        }
    }
    let flag = |(key, value): (String, String)| {
        Finding::new(
            "config.insecure_or_dangerous_flags",
            Severity::Warn,
            "A dangerous switch is on",
            format!("{key}={value}"),
            "remove the key unless you know why it is there",
        )
        .at(document, &key)
    };
    let mut all: Vec<Finding> = found.into_iter().map(flag).collect();
    if root.pointer("/commands/useAccessGroups") == Some(&Value::Bool(false)) {
        let key = "commands.useAccessGroups";
        all.push(
            Finding::new(
                "commands.access_groups_off",
                Severity::Warn,
                "Nobody checks who sends a command",
                format!("{key} is false: every sender counts as authorised"),
                format!("remove {key}"),
            )
            .at(document, key),
        );
    }
    all
}

/// Every switch that is on, with its key. Of lists the number of entries is told, not the entries.
fn walk(value: &Value, key: &str, depth: usize, found: &mut Vec<(String, String)>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let key = member(key, name);
                let dangerous = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
                let told = match value {
                    Value::Bool(true) if dangerous || TRUE.contains(&name.as_str()) => {
                        Some("true".to_owned())
                    }
                    Value::Array(list) if dangerous && !list.is_empty() => {
                        Some(format!("{} entries", list.len()))
                    }
                    _ => None,
                };
                match told {
                    Some(told) => found.push((key, told)),
                    None => walk(value, &key, depth, found),
                }
            }
        }
        Value::Array(list) => {
            for (place, value) in list.iter().enumerate() {
                walk(value, &element(key, place), depth, found);
            }
        }
        _ => {}
    }
}
