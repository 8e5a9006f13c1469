//! Keys of former versions: found, and rewritten without touching comments and layout. Pure.

use serde_json::{Map, Value};

use super::edit::{self, EditError};
use super::exec::{ASK, MODE, SECURITY};
use super::index::{Index, element, member};
use super::path::KeyPath;
use crate::approvals::policy::ModePolicy;

/// A key of a former version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Legacy {
    /// The key as it is written.
    pub key: String,
    /// What takes its place.
    pub now: String,
    /// It means the same as before; otherwise it is refused.
    pub accepted: bool,
    /// It can be rewritten without a doubt about what is meant.
    pub clear: bool,
}

/// Every key of a former version in a file's values.
pub fn find(root: &Value) -> Vec<Legacy> {
    let mut found = Vec::new();
    for (key, block) in sandboxes(root) {
        if let Some(value) = block.get("perSession") {
            let scope = if value == &Value::Bool(true) { "session" } else { "shared" };
            let (now, clear) = match block.get("scope") {
                // One sandbox for each session was asked for: whoever shares it all the same has to say so.
                Some(written) if scope == "session" && written != scope => {
                    (format!("{key}.scope, which says something else: keep what is meant"), false)
                }
                Some(_) => (format!("{key}.scope, which is written already"), true),
                None => (format!("{key}.scope: \"{scope}\""), true),
            };
            let key = format!("{key}.perSession");
            found.push(Legacy { key, now, accepted: false, clear: clear && value.is_boolean() });
        }
        if block.get("browser").and_then(|browser| browser.get("enableNoVnc")).is_some() {
            let now = format!("{key}.browser.noVncEnabled");
            found.push(Legacy {
                key: format!("{key}.browser.enableNoVnc"),
                now,
                accepted: true,
                clear: true,
            });
        }
    }
    found.extend(execs(root).into_iter().flat_map(|(key, block)| pair(&key, block)));
    let agents = root.get("agents");
    if let Some(list) = agents.and_then(|agents| agents.get("list")) {
        let alone = agents.and_then(|agents| agents.get("entries")).is_none();
        let clear = alone && list.as_array().is_some_and(|list| entries(list).is_some());
        found.push(Legacy {
            key: "agents.list".to_owned(),
            now: "agents.entries, by id".to_owned(),
            accepted: true,
            clear,
        });
    }
    found
}

/// A pair where a mode is written, or where one says exactly the same (spec `approvals.md` 2.08).
fn pair(key: &str, block: &Value) -> Vec<Legacy> {
    let names = ["security", "ask"].into_iter().filter(|name| block.get(name).is_some());
    let written = block.get("mode").is_some();
    let (now, clear) = match (written, mode_for(block)) {
        (true, None) => (format!("{key}.mode or the pair, whichever is meant"), false),
        (true, Some(mode)) if Some(mode) == word(block, "mode") => {
            (format!("{key}.mode, which is written already"), true)
        }
        (_, Some(mode)) => (format!("{key}.mode: \"{mode}\""), true),
        (false, None) => return Vec::new(),
    };
    let one = |name| Legacy { key: format!("{key}.{name}"), now: now.clone(), accepted: !written, clear };
    names.map(one).collect()
}

fn word<'v>(block: &'v Value, name: &str) -> Option<&'v str> {
    block.get(name).and_then(Value::as_str)
}

/// The mode that can take the place of what is written; `None` where only a person knows what was meant.
fn mode_for(block: &Value) -> Option<&'static str> {
    if block.get("mode").is_none() {
        return exact(block);
    }
    let (_, mode) = MODE.iter().find(|(text, _)| Some(*text) == word(block, "mode"))?;
    let (mut security, mut ask) = mode.pair();
    // A half alone changes that half of what it stands beside.
    if block.get("security").is_some() {
        security = SECURITY.iter().find(|(text, _)| Some(*text) == word(block, "security"))?.1;
    }
    if block.get("ask").is_some() {
        ask = ASK.iter().find(|(text, _)| Some(*text) == word(block, "ask"))?.1;
    }
    let of_pair = ModePolicy::pair(security, ask);
    let of_mode = ModePolicy::of(*mode);
    let kept = match of_pair.exact() {
        _ if of_mode.within(of_pair) => *mode,
        Some(other) if ModePolicy::of(other).within(of_mode) => other,
        _ => return None,
    };
    MODE.iter().find(|(_, known)| *known == kept).map(|(text, _)| *text)
}

/// The mode that says what a whole pair says.
fn exact(block: &Value) -> Option<&'static str> {
    let (_, security) = SECURITY.iter().find(|(text, _)| Some(*text) == word(block, "security"))?;
    let (_, ask) = ASK.iter().find(|(text, _)| Some(*text) == word(block, "ask"))?;
    let mode = ModePolicy::pair(*security, *ask).exact()?;
    MODE.iter().find(|(_, known)| *known == mode).map(|(text, _)| *text)
}

/// Every block `tools.exec` with its key.
fn execs(root: &Value) -> Vec<(String, &Value)> {
    let Some(agents) = root.get("agents") else {
        return exec("", root).into_iter().collect();
    };
    let named = agents.get("entries").and_then(Value::as_object).into_iter().flatten();
    let named = named.map(|(name, block)| (member("agents.entries", name) + ".", block));
    let listed = agents.get("list").and_then(Value::as_array).into_iter().flatten().enumerate();
    let listed = listed.map(|(at, block)| (element("agents.list", at) + ".", block));
    let all = std::iter::once((String::new(), root)).chain(named).chain(listed);
    all.filter_map(|(key, block)| exec(&key, block)).collect()
}

fn exec<'v>(key: &str, block: &'v Value) -> Option<(String, &'v Value)> {
    Some((format!("{key}tools.exec"), block.get("tools")?.get("exec")?))
}

/// Every sandbox block with its key.
fn sandboxes(root: &Value) -> Vec<(String, &Value)> {
    let Some(agents) = root.get("agents") else { return Vec::new() };
    let mut owners: Vec<(String, &Value)> = Vec::new();
    owners.extend(agents.get("defaults").map(|block| ("agents.defaults".to_owned(), block)));
    let named = agents.get("entries").and_then(Value::as_object).into_iter().flatten();
    owners.extend(named.map(|(name, block)| (member("agents.entries", name), block)));
    let listed = agents.get("list").and_then(Value::as_array).into_iter().flatten().enumerate();
    owners.extend(listed.map(|(at, block)| (element("agents.list", at), block)));
    owners
        .into_iter()
        .filter_map(|(key, block)| Some((format!("{key}.sandbox"), block.get("sandbox")?)))
        .collect()
}

/// The list's blocks by id; `None` where an id is missing or doubled.
fn entries(list: &[Value]) -> Option<Map<String, Value>> {
    let mut entries = Map::new();
    for block in list {
        let mut block = block.as_object()?.clone();
        let id = block.remove("id")?.as_str()?.trim().to_owned();
        // A variable is filled into values, not into names.
        let plain = !id.is_empty() && !id.contains('$');
        if !plain || entries.insert(id, Value::Object(block)).is_some() {
            return None;
        }
    }
    Some(entries)
}

/// The text with every clear legacy key rewritten.
///
/// # Errors
///
/// When the layout is one that cannot be changed in place; nothing is half rewritten.
pub fn rewrite(text: &str) -> Result<String, EditError> {
    let mut text = text.to_owned();
    let root = edit::parse(&text).map_err(|error| EditError::Syntax(error.to_string()))?;
    let mut paired = None;
    for one in find(&root).into_iter().filter(|one| one.clear) {
        text = match one.key.rsplit_once('.') {
            _ if one.key == "agents.list" => to_entries(&text)?,
            Some((block, "security" | "ask")) if paired.as_deref() == Some(block) => continue,
            Some((block, "security" | "ask")) => {
                paired = Some(block.to_owned());
                to_mode(&text, block)?
            }
            _ => rename(&text, &one.key)?,
        };
    }
    Ok(text)
}

fn path(key: &str) -> Result<KeyPath, EditError> {
    KeyPath::parse(key).map_err(|_| EditError::Layout(key.to_owned()))
}

/// The text without the pair of a block, and with the mode that takes its place.
fn to_mode(text: &str, block: &str) -> Result<String, EditError> {
    let root = edit::parse(text).map_err(|error| EditError::Syntax(error.to_string()))?;
    let layout = || EditError::Layout(block.to_owned());
    let values = path(block)?.look_up(&root).cloned().unwrap_or_default();
    let mode = mode_for(&values).ok_or_else(layout)?;
    let with = if word(&values, "mode") == Some(mode) {
        text.to_owned()
    } else {
        edit::set(text, &path(&format!("{block}.mode"))?, &mode.into())?
    };
    // Both halves at once: one alone would be judged as another pair.
    let written = ["security", "ask"].into_iter().filter(|half| values.get(half).is_some());
    written
        .map(|half| format!("{block}.{half}"))
        .try_fold(with, |text, half| edit::unset(&text, &path(&half)?))
}

/// The value under its new name, unless that is written already.
fn rename(text: &str, old: &str) -> Result<String, EditError> {
    let root = edit::parse(text).map_err(|error| EditError::Syntax(error.to_string()))?;
    let value = path(old)?.look_up(&root).cloned().unwrap_or_default();
    let (new, value) = match old.strip_suffix("perSession") {
        Some(block) => {
            let scope = if value == Value::Bool(true) { "session" } else { "shared" };
            (format!("{block}scope"), Value::from(scope))
        }
        None => (old.replace("enableNoVnc", "noVncEnabled"), value),
    };
    let new = path(&new)?;
    let with = if new.look_up(&root).is_some() { text.to_owned() } else { edit::set(text, &new, &value)? };
    edit::unset(&with, &path(old)?)
}

/// `list: [{ id: 'a', … }]` becomes `entries: { a: { … } }` where it stands.
fn to_entries(text: &str) -> Result<String, EditError> {
    let layout = || EditError::Layout("agents.list".to_owned());
    let index = Index::of(text).map_err(|error| EditError::Syntax(error.to_string()))?;
    let mut wanted = edit::parse(text).map_err(|error| EditError::Syntax(error.to_string()))?;
    if index.repeated("agents.list") || index.repeated("agents") {
        return Err(EditError::Twice("agents.list".to_owned()));
    }
    let agents = wanted.get_mut("agents").and_then(Value::as_object_mut).ok_or_else(layout)?;
    let list = agents.remove("list").ok_or_else(layout)?;
    let blocks = list.as_array().ok_or_else(layout)?;
    let ids = blocks.iter().map(|block| block.get("id").and_then(Value::as_str).unwrap_or_default().trim());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    agents.insert("entries".to_owned(), Value::Object(entries(blocks).ok_or_else(layout)?));

    let quoted = edit::quotes_names(text, &index);
    let parent = index.container("agents").ok_or_else(layout)?;
    let name = parent.children.iter().find(|child| child.key == "agents.list").ok_or_else(layout)?.start;
    let list = index.container("agents.list").ok_or_else(layout)?;
    let written = text.get(name..).unwrap_or_default();
    let spelling = ["list", "\"list\"", "'list'"].into_iter().find(|word| written.starts_with(word));
    let spelling = spelling.ok_or_else(layout)?;
    let last = list.span.end.checked_sub(1).ok_or_else(layout)?;
    let mut cuts = vec![
        (name..name + spelling.len(), spelling.replace("list", "entries")),
        (list.span.start..list.span.start + 1, "{".to_owned()),
        (last..list.span.end, "}".to_owned()),
    ];
    for (child, id) in list.children.iter().zip(&ids) {
        cuts.push((child.value.start..child.value.start, format!("{}: ", edit::render_name(id, quoted))));
    }
    cuts.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for (range, with) in cuts {
        out.push_str(text.get(kept..range.start).ok_or_else(layout)?);
        out.push_str(&with);
        kept = range.end;
    }
    out.push_str(text.get(kept..).ok_or_else(layout)?);
    for id in &ids {
        out = edit::unset(&out, &path(&format!("{}.id", member("agents.entries", id)))?)?;
    }
    match edit::parse(&out) {
        Ok(value) if value == wanted => Ok(out),
        _ => Err(layout()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn rewritten_where_they_stand() {
        for (before, after) in [
            (
                "{ agents: { defaults: { sandbox: { perSession: true /* why */, mode: 'all' } } } }",
                "{ agents: { defaults: { sandbox: { /* why */mode: 'all', scope: \"session\" } } } }",
            ),
            (
                "{ agents: { defaults: { sandbox: {\n  // kept\n  perSession: false,\n  scope: 'agent',\n} } } }",
                "{ agents: { defaults: { sandbox: {\n  // kept\n  scope: 'agent',\n} } } }",
            ),
            (
                "{ agents: {\n  list: [\n    // first\n    { id: 'main', default: true }, // here\n    { id: 'my ops' },\n  ],\n} }",
                "{ agents: {\n  entries: {\n    // first\n    main: { default: true }, // here\n    \"my ops\": { },\n  },\n} }",
            ),
        ] {
            let got = rewrite(before).unwrap();
            let plain = |text: &str| text.replace("{  }", "{ }");
            assert_eq!(
                plain(&got).split_whitespace().collect::<Vec<_>>(),
                after.split_whitespace().collect::<Vec<_>>()
            );
            assert_eq!(rewrite(&got).unwrap(), got, "a second time changes nothing");
        }
    }

    #[test]
    fn both_at_once() {
        let text = "{\"agents\": {\"list\": [{\"id\": \"a\", \"sandbox\": {\"perSession\": true, \"browser\": {\"enableNoVnc\": false}}}]}}";
        let value = edit::parse(&rewrite(text).unwrap()).unwrap();
        let wanted = serde_json::json!({"agents": {"entries": {"a": {"sandbox": {
            "scope": "session", "browser": {"noVncEnabled": false}}}}}});
        assert_eq!(value, wanted);
    }

    #[test]
    fn pairs_become_modes_where_one_says_the_same() {
        for (before, after) in [
            (
                "{tools:{exec:{security:'allowlist',ask:'on-miss',node:'n'}}}",
                "{tools:{exec:{mode:'ask',node:'n'}}}",
            ),
            ("{tools:{exec:{mode:'auto',security:'full',ask:'off'}}}", "{tools:{exec:{mode:'auto'}}}"),
            (
                "{agents:{list:[{id:'a',tools:{exec:{security:'deny',ask:'off'}}}]}}",
                "{agents:{entries:{a:{tools:{exec:{mode:'deny'}}}}}}",
            ),
        ] {
            let got = edit::parse(&rewrite(before).unwrap()).unwrap();
            assert_eq!(got, edit::parse(after).unwrap(), "{before}");
        }
        for kept in
            ["security:'full',ask:'always'", "security:'full',ask:'on-miss'", "ask:'off'", "security:'deny'"]
        {
            let text = format!("{{tools:{{exec:{{{kept}}}}}}}");
            assert_eq!(rewrite(&text).unwrap(), text);
        }
    }

    /// What listed commands, and those that are not, come to: 0 refused, 1 asked, 2 reviewed, 3 run.
    fn outcome(policy: ModePolicy) -> (u8, u8) {
        use crate::config::exec::{Ask, Security};
        match (policy.security, policy.ask) {
            (Security::Deny, _) => (0, 0),
            (_, Ask::Always) => (1, 1),
            (Security::Full, _) => (3, 3),
            (Security::Allowlist, Ask::Off) => (3, 0),
            (Security::Allowlist, Ask::OnMiss) => (3, if policy.reviewer() { 2 } else { 1 }),
        }
    }

    #[test]
    fn no_rewriting_loosens_what_either_of_both_says() {
        let mut rewritten = 0;
        for (at, block) in [("", "tools"), ("agents:{entries:{a:", "agents.entries.a.tools")] {
            for (name, mode) in MODE {
                for security in std::iter::once(None).chain(SECURITY.iter().map(Some)) {
                    for ask in std::iter::once(None).chain(ASK.iter().map(Some)) {
                        let half = |key: &str, text: Option<&str>| {
                            text.map_or_else(String::new, |text| format!(",{key}:'{text}'"))
                        };
                        let exec = format!(
                            "{{exec:{{mode:'{name}'{}{}}}}}",
                            half("security", security.map(|one| one.0)),
                            half("ask", ask.map(|one| one.0))
                        );
                        let text = if at.is_empty() {
                            format!("{{tools:{exec}}}")
                        } else {
                            format!("{{{at}{{tools:{exec}}}}}}}}}")
                        };
                        let after = rewrite(&text).unwrap();
                        assert_eq!(rewrite(&after).unwrap(), after, "{text}");
                        if after == text {
                            continue;
                        }
                        rewritten += 1;
                        let root = edit::parse(&after).unwrap();
                        let exec = path(&format!("{block}.exec")).unwrap().look_up(&root).unwrap().clone();
                        assert!(exec.get("security").or(exec.get("ask")).is_none(), "{after}");
                        let (_, now) = MODE.iter().find(|one| Some(one.0) == word(&exec, "mode")).unwrap();
                        let now = outcome(ModePolicy::of(*now));
                        let (s, a) = mode.pair();
                        let pair =
                            ModePolicy::pair(security.map_or(s, |one| one.1), ask.map_or(a, |one| one.1));
                        for said in [outcome(ModePolicy::of(*mode)), outcome(pair)] {
                            assert!(now.0 <= said.0 && now.1 <= said.1, "{text} became {after}");
                        }
                    }
                }
            }
        }
        assert!(rewritten > 40, "{rewritten}");
    }

    #[test]
    fn the_stricter_of_both_stays() {
        for (before, after) in [
            ("mode:'full',security:'deny'", Some("deny")),
            ("mode:'full',security:'allowlist',ask:'on-miss'", Some("ask")),
            ("mode:'deny',security:'full',ask:'always'", Some("deny")),
            ("mode:'allowlist',security:'full'", Some("allowlist")),
            // No mode asks always, and what is asked is neither stricter nor looser than what is refused unasked.
            ("mode:'full',ask:'always'", None),
            ("mode:'allowlist',security:'full',ask:'always'", None),
            // A word that is none is a person's to mend.
            ("mode:'full',security:'denied'", None),
            ("mode:'${MODE}',security:'deny'", None),
        ] {
            let text = format!("{{tools:{{exec:{{{before}}}}}}}");
            let wanted = after.map_or(text.clone(), |mode| format!("{{tools:{{exec:{{mode:'{mode}'}}}}}}"));
            let parsed = |text: &str| edit::parse(text).unwrap();
            assert_eq!(parsed(&rewrite(&text).unwrap()), parsed(&wanted), "{before}");
            assert!(find(&parsed(&text)).iter().all(|one| one.clear == after.is_some()), "{before}");
        }
    }

    #[test]
    fn what_is_not_clear_stays() {
        for text in [
            "{agents: {list: [{id: 'a'}, {id: 'a'}]}}",
            "{agents: {list: [{id: 'a'}], entries: {b: {}}}}",
            "{agents: {list: [{}]}}",
            "{agents: {list: [{id: '${WHO}'}]}}",
            "{agents: {defaults: {sandbox: {perSession: 'yes'}}}}",
            "{agents: {defaults: {sandbox: {perSession: true, scope: 'shared'}}}}",
            "{agents: {defaults: {sandbox: {perSession: true, scope: 'agent'}}}}",
        ] {
            assert_eq!(rewrite(text).unwrap(), text);
            let root = edit::parse(text).unwrap();
            assert!(find(&root).iter().all(|one| !one.clear), "{text}");
            assert_eq!(find(&root).len(), 1);
        }
        assert_eq!(find(&serde_json::json!({"agents": {"entries": {}}})), []);
    }
}
