//! Who may leave the sandbox. Pure.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::{self, at};
use crate::config::Document;
use crate::config::index::member;

/// A list that names more than these is a crowd.
const MANY: usize = 25;

/// Not switched off: unset counts as on.
pub(super) fn is_on(root: &Value) -> bool {
    at(root, &["tools", "elevated", "enabled"]) != Some(&Value::Bool(false))
}

pub(super) fn checks(document: &Document) -> Vec<Finding> {
    let root = document.root();
    if !is_on(root) {
        return Vec::new();
    }
    let global = [("tools".to_owned(), at(root, &["tools"]))];
    let agents = raw::agents(root).into_iter();
    let agents = agents.map(|layer| (format!("{}.tools", layer.key), layer.block.get("tools")));
    let mut all = Vec::new();
    for (key, tools) in global.into_iter().chain(agents) {
        let lists = tools.and_then(|tools| at(tools, &["elevated", "allowFrom"])).and_then(Value::as_object);
        for (provider, list) in lists.into_iter().flatten() {
            let key = member(&format!("{key}.elevated.allowFrom"), provider);
            all.extend(list.as_array().and_then(|list| one(document, provider, &key, list)));
        }
    }
    all
}

fn one(document: &Document, provider: &str, key: &str, list: &[Value]) -> Option<Finding> {
    let everybody = list.iter().filter_map(Value::as_str).any(|entry| entry.trim() == "*");
    let (end, severity, title, detail) = if everybody {
        ("wildcard", Severity::Critical, "Everybody may leave the sandbox", format!("{key} names \"*\""))
    } else if list.len() > MANY {
        ("large", Severity::Warn, "Many may leave the sandbox", format!("{key} has {} entries", list.len()))
    } else {
        return None;
    };
    let check = format!("tools.elevated.allowFrom.{provider}.{end}");
    Some(Finding::new(check, severity, title, detail, "name the few who need it").at(document, key))
}
