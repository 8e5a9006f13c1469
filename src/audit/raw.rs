//! Values of a configuration as written. The audit must also say what a file opens that creel refuses to use.

use serde_json::Value;

use crate::config::index::{element, member};

/// A block that may hold `sandbox` and `tools`: the defaults, or an agent's.
#[derive(Debug, Clone)]
pub(super) struct Layer<'a> {
    /// Its key.
    pub(super) key: String,
    /// The agent; `None` for the defaults.
    pub(super) agent: Option<String>,
    /// Its values.
    pub(super) block: &'a Value,
}

/// What stands at a path of names.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// The defaults, then every agent in both spellings.
pub(super) fn layers(root: &Value) -> Vec<Layer<'_>> {
    let mut all = Vec::new();
    if let Some(block) = at(root, &["agents", "defaults"]) {
        all.push(Layer { key: "agents.defaults".to_owned(), agent: None, block });
    }
    all.extend(agents(root));
    all
}

/// Every agent in both spellings.
pub(super) fn agents(root: &Value) -> Vec<Layer<'_>> {
    let listed = at(root, &["agents", "list"]).and_then(Value::as_array).into_iter().flatten().enumerate();
    let listed = listed.map(|(place, block)| {
        let id = block.get("id").and_then(Value::as_str).unwrap_or("?");
        Layer { key: element("agents.list", place), agent: Some(id.to_owned()), block }
    });
    let named = at(root, &["agents", "entries"]).and_then(Value::as_object).into_iter().flatten();
    let named = named.map(|(name, block)| Layer {
        key: member("agents.entries", name),
        agent: Some(name.clone()),
        block,
    });
    listed.chain(named).collect()
}

/// The mode that holds in a layer: its own, else the defaults'.
pub(super) fn mode<'a>(root: &'a Value, block: &'a Value) -> &'a str {
    let own = at(block, &["sandbox", "mode"]).and_then(Value::as_str);
    let default = || at(root, &["agents", "defaults", "sandbox", "mode"]).and_then(Value::as_str);
    own.or_else(default).unwrap_or("off")
}

/// Every bind with its key: of the container and of the browser's.
pub(super) fn binds(root: &Value) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    for layer in layers(root) {
        for part in ["docker", "browser"] {
            let list = at(layer.block, &["sandbox", part, "binds"]).and_then(Value::as_array);
            for (place, bind) in list.into_iter().flatten().enumerate() {
                let key = element(&format!("{}.sandbox.{part}.binds", layer.key), place);
                all.extend(bind.as_str().map(|text| (key, text)));
            }
        }
    }
    all
}
