//! The configuration hash: SHA-256 over canonical JSON. Order of lists counts (A110), order of keys does not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::request::Identity;
use crate::engine::ContainerSpec;
use crate::paths::protected;

/// Changes whenever the builder of containers changes what it makes from the same request (I044).
pub const EPOCH: &str = "2026-11-30-init";

/// What the hash covers; kept beside the container, so that drift can be told key by key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inputs(Value);

impl Inputs {
    /// The parts of `shape` that affect the container, the files that are mounted, and the code versions involved.
    pub(super) fn new(
        shape: &ContainerSpec,
        identities: &BTreeMap<String, Identity>,
        init: &str,
        setup: Option<&str>,
    ) -> Self {
        // A value made of strings, numbers and lists always serialises; an error would only make the hash differ.
        let mut value = serde_json::to_value(shape).unwrap_or(Value::Null);
        if let Value::Object(fields) = &mut value {
            fields.remove("labels");
            if let Some(Value::Array(argv)) = fields.get_mut("argv") {
                without_idle(argv);
            }
            fields.insert("epoch".to_owned(), json!(EPOCH));
            fields.insert("init".to_owned(), json!(init));
            fields.insert("identities".to_owned(), json!(identities));
            // Only the digest: the command may hold what must not lie in state files.
            fields.insert("setup".to_owned(), json!(setup.map(sha256)));
        }
        Self(value)
    }

    /// 64 hex digits.
    pub fn hash(&self) -> String {
        let mut text = String::new();
        canonical(&self.0, &mut text);
        sha256(&text)
    }

    /// What containers of one pool have in common: everything but the name and, where creel makes the workspace, which
    /// directory of `root` it is. `context` is what else they must agree in.
    pub(super) fn pool_key(&self, root: Option<&str>, context: &str) -> String {
        let mut value = self.0.clone();
        if let Value::Object(fields) = &mut value {
            fields.remove("name");
            fields.insert("pool".to_owned(), json!(sha256(context)));
            let workdir = fields.get("workdir").and_then(Value::as_str).map(str::to_owned);
            if let (Some(root), Some(workdir)) = (root, workdir) {
                for mount in fields.get_mut("mounts").and_then(Value::as_array_mut).into_iter().flatten() {
                    if target(mount) == Some(&workdir)
                        && let Value::Object(mount) = mount
                    {
                        mount.insert("source".to_owned(), json!(format!("{root}/*")));
                    }
                }
                if let Some(Value::Object(all)) = fields.get_mut("identities") {
                    all.remove(&workdir);
                }
            }
        }
        Self(value).hash()
    }

    /// The same container under another name, with another path to its workspace.
    pub(super) fn moved(&self, name: &str, workspace: Option<(&str, &str)>) -> Self {
        let mut value = self.0.clone();
        if let Value::Object(fields) = &mut value {
            fields.insert("name".to_owned(), json!(name));
            let mounts = fields.get_mut("mounts").and_then(Value::as_array_mut);
            for mount in mounts.into_iter().flatten().filter_map(Value::as_object_mut) {
                if let Some((from, to)) = workspace
                    && mount.get("source").and_then(Value::as_str) == Some(from)
                {
                    mount.insert("source".to_owned(), json!(to));
                }
            }
        }
        Self(value)
    }

    /// What differs between this (a container's inputs) and `wanted`, one line for each key.
    pub fn drift(&self, wanted: &Self) -> Vec<String> {
        let mut lines = self.drift_apart_from_init(wanted);
        if self.0.get("init") != wanted.0.get("init") {
            // Its mount differs with it, by a digest in its path that tells nobody anything.
            lines.insert(0, "init: another version of creel-init".to_owned());
        }
        lines
    }

    /// The same without creel-init, whose version is no choice of the configuration.
    pub(super) fn drift_apart_from_init(&self, wanted: &Self) -> Vec<String> {
        let (old, new) = (self.apart_from_init(), wanted.apart_from_init());
        let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.into_iter().filter_map(|key| difference(key, old.get(key), new.get(key))).collect()
    }

    fn apart_from_init(&self) -> serde_json::Map<String, Value> {
        let mut fields = self.0.as_object().cloned().unwrap_or_default();
        fields.remove("init");
        if let Some(Value::Array(mounts)) = fields.get_mut("mounts") {
            mounts.retain(|mount| !is_init(mount));
        }
        fields
    }

    /// The mounts differ: file tools would see other files than the container (spec `sandbox.md` §11.2).
    pub fn mounts_differ(&self, wanted: &Self) -> bool {
        // The init binary's own mount changes with every version of creel; it holds no files of the user. Protected
        // directories show the workspace's own files: that one appears there must not end what runs.
        let part = |inputs: &Self, key: &str| match (key, inputs.0.get(key)) {
            ("mounts", Some(Value::Array(mounts))) => {
                let own = |mount: &&Value| !is_init(mount) && !inputs.is_protected(mount);
                Value::Array(mounts.iter().filter(own).cloned().collect())
            }
            ("identities", Some(Value::Object(all))) => {
                let gone: Vec<&str> =
                    inputs.mounts().filter(|mount| inputs.is_protected(mount)).filter_map(target).collect();
                let kept = all.iter().filter(|(target, _)| !gone.contains(&target.as_str()));
                Value::Object(kept.map(|(target, one)| (target.clone(), one.clone())).collect())
            }
            (_, value) => value.cloned().unwrap_or(Value::Null),
        };
        ["mounts", "tmpfs", "identities", "workdir"].iter().any(|key| part(self, key) != part(wanted, key))
    }

    /// The directory of the host that is mounted as the working directory.
    pub fn workspace(&self) -> Option<&str> {
        let workdir = self.0.get("workdir").and_then(Value::as_str);
        self.mounts().find(|mount| target(mount).is_some() && target(mount) == workdir).and_then(source)
    }

    fn mounts(&self) -> impl Iterator<Item = &Value> {
        self.0.get("mounts").and_then(Value::as_array).into_iter().flatten()
    }

    /// A directory with instructions: of the workspace and mounted read-only over itself, or laid out by the agent host,
    /// which lays it out anew as it likes; or a directory on the way to one, mounted writable over itself.
    fn is_protected(&self, mount: &Value) -> bool {
        let workdir = self.0.get("workdir").and_then(Value::as_str);
        let workspace = self.mounts().find(|one| target(one).is_some() && target(one) == workdir);
        let pair = |mount: &Value| Some((source(mount)?.to_owned(), target(mount)?.to_owned()));
        workspace.and_then(pair).zip(pair(mount)).is_some_and(|(workspace, one)| {
            let (one, workspace) =
                ((one.0.as_str(), one.1.as_str()), (workspace.0.as_str(), workspace.1.as_str()));
            if mount.get("read_only") != Some(&Value::Bool(true)) {
                return protected::is_way(one, workspace);
            }
            protected::is_protected(one, workspace) || one.1 == protected::laid_out(workspace.1)
        })
    }
}

/// How long a sandbox may be idle is no part of what it is (spec `sandbox.md` §11.1): prune goes by the configuration of
/// now, whatever init was started with.
fn without_idle(argv: &mut Vec<Value>) {
    if let Some(flag) = argv.iter().position(|word| word == "--idle") {
        argv.drain(flag..(flag + 2).min(argv.len()));
    }
}

fn target(mount: &Value) -> Option<&str> {
    mount.get("target").and_then(Value::as_str)
}

fn source(mount: &Value) -> Option<&str> {
    mount.get("source").and_then(Value::as_str)
}

fn is_init(mount: &Value) -> bool {
    target(mount) == Some(super::spec::INIT_TARGET)
}

fn sha256(text: &str) -> String {
    crate::state::hex(&Sha256::digest(text.as_bytes()))
}

fn difference(key: &str, old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    if old == new {
        return None;
    }
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (old, new) {
        let gone = old.iter().filter(|item| !new.contains(item)).map(|item| format!("-{}", brief(item)));
        let come = new.iter().filter(|item| !old.contains(item)).map(|item| format!("+{}", brief(item)));
        let items: Vec<String> = gone.chain(come).collect();
        let what = if items.is_empty() { "another order".to_owned() } else { items.join(" ") };
        return Some(format!("{key}: {what}"));
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (old, new) {
        let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        let parts = names.into_iter().filter_map(|name| difference(name, old.get(name), new.get(name)));
        return Some(format!("{key}: {}", parts.collect::<Vec<_>>().join(", ")));
    }
    let told = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), brief);
    Some(format!("{key}: {} → {}", told(old), told(new)))
}

/// A value as people write it: mounts as `source:target:mode`, the rest as JSON, cut to a line.
fn brief(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if let (Some(source), Some(target)) = (text("source"), text("target")) {
        let read_only = value.get("read_only").and_then(Value::as_bool).unwrap_or(false);
        return format!("{source}:{target}:{}", if read_only { "ro" } else { "rw" });
    }
    if let (Some(name), Some(soft), Some(hard)) = (text("name"), value.get("soft"), value.get("hard")) {
        return format!("{name}={soft}:{hard}");
    }
    if let (Some(target), Some(options)) = (text("target"), text("options")) {
        return format!("{target}:{options}");
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

/// JSON without spaces and with sorted keys, whatever map type the JSON library was built with.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            out.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(out, "{}{}:", if index > 0 { "," } else { "" }, Value::String(key.clone()));
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        plain => {
            let _ = write!(out, "{plain}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Value) -> Inputs {
        Inputs(value)
    }

    #[test]
    fn keys_are_sorted_and_lists_are_not() {
        let mut text = String::new();
        canonical(&json!({"b": [2, 1], "a": {"z": null, "y": "\"\n"}}), &mut text);
        assert_eq!(text, r#"{"a":{"y":"\"\n","z":null},"b":[2,1]}"#);
        let (one, two) = (of(json!({"dns": ["a", "b"]})), of(json!({"dns": ["b", "a"]})));
        assert_ne!(one.hash(), two.hash());
        assert_eq!(one.drift(&two), ["dns: another order"]);
    }

    #[test]
    fn drift_is_told_key_by_key() {
        let old = of(json!({"network": "none", "mounts": [], "same": 1}));
        let mount = json!({"source": "/a", "target": "/b", "read_only": true});
        let limits = |pids: u64| of(json!({"limits": {"memory": null, "pids": pids}}));
        assert_eq!(limits(1).drift(&limits(2)), ["limits: pids: 1 → 2"]);
        let new = of(json!({"network": "bridge", "mounts": [mount], "same": 1, "more": "x"}));
        assert_eq!(old.drift(&new), ["more: nothing → x", "mounts: +/a:/b:ro", "network: none → bridge"]);
        assert!(old.mounts_differ(&new));
        assert_eq!(old.drift(&old), Vec::<String>::new());
    }

    #[test]
    fn a_protected_directory_that_appears_ends_nothing() {
        let mount = |source: &str, target: &str, read_only: bool| json!({"source": source, "target": target, "read_only": read_only});
        let all = |mounts: Vec<Value>, ids: Value| {
            of(json!({"workdir": "/w", "mounts": mounts, "identities": ids}))
        };
        let before = all(vec![mount("/ws", "/w", false)], json!({"/w": 1}));
        let after = all(
            vec![mount("/ws", "/w", false), mount("/ws/skills", "/w/skills", true)],
            json!({"/w": 1, "/w/skills": 2}),
        );
        assert!(!before.mounts_differ(&after) && !before.drift(&after).is_empty());
        let other = all(vec![mount("/ws", "/w", false), mount("/x", "/w/skills", true)], json!({"/w": 1}));
        assert!(before.mounts_differ(&other));
    }

    #[test]
    fn a_pool_has_one_key_for_all_names_and_places() {
        let at = |name: &str, source: &str, ino: u64| {
            of(json!({"name": name, "workdir": "/w", "identities": {"/w": ino, "/d": 9},
                "mounts": [{"source": source, "target": "/w"}, {"source": "/d", "target": "/d"}]}))
        };
        let (waits, session) = (at("p", "/r/.pool-p", 1), at("s", "/r/s", 1));
        let key = |inputs: &Inputs| inputs.pool_key(Some("/r"), "c");
        assert_eq!(key(&waits), key(&at("s", "/r/s", 2)));
        assert_ne!(key(&waits), waits.pool_key(Some("/other"), "c"));
        assert_ne!(key(&waits), waits.pool_key(Some("/r"), "d"));
        assert_ne!(waits.pool_key(None, "c"), at("p", "/r/.pool-p", 2).pool_key(None, "c"));
        assert_eq!(waits.moved("s", Some(("/r/.pool-p", "/r/s"))), session);
        assert_ne!(waits.moved("s", Some(("/r/.pool-p", "/r/s"))), at("s", "/r/s", 2));
    }

    #[test]
    fn the_idle_limit_is_no_part_of_the_identity() {
        let mut argv = vec![json!("init"), json!("--idle"), json!("60"), json!("more")];
        without_idle(&mut argv);
        assert_eq!(argv, [json!("init"), json!("more")]);
        let mut cut = vec![json!("--idle")];
        without_idle(&mut cut);
        assert!(cut.is_empty());
    }

    #[test]
    fn another_init_is_no_other_view_of_files() {
        let with = |source: &str| {
            of(
                json!({"init": source, "mounts": [{"source": source, "target": "/.creel/init", "read_only": true}]}),
            )
        };
        assert_eq!(with("/x/1").drift(&with("/x/2")), ["init: another version of creel-init"]);
        assert!(!with("/x/1").mounts_differ(&with("/x/2")));
        assert_ne!(with("/x/1").hash(), with("/x/2").hash());
    }
}
