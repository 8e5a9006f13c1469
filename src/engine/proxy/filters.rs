//! Filters of lists and of news. Pure. The engine matches names and ids in them by their beginning or by a pattern, so
//! that one of ours would bring along others': only whole ids and labels are forwarded.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Denial, forms};
use crate::sandbox::labels;

/// Containers whose news may be asked for at a time: the engine is asked whose each of them is.
const MAX_WATCHED: usize = 32;

type Asked = BTreeMap<String, Vec<String>>;

fn read(filters: &str) -> Result<Asked, Denial> {
    if filters.is_empty() {
        return Ok(Asked::new());
    }
    serde_json::from_str(filters).map_err(|error| Denial::new(format!("filters are not understood: {error}")))
}

/// Refuses what nobody took.
fn nothing_else(asked: &Asked) -> Result<(), Denial> {
    match asked.keys().next() {
        Some(other) => Err(Denial::new(format!("filter {other:?} is not one that sandboxes need"))),
        None => Ok(()),
    }
}

/// The filters of a list of containers, with our label among them.
pub(super) fn only_ours(filters: &str, installation: &str) -> Result<String, Denial> {
    let mut asked = read(filters)?;
    let mut labels = asked.remove("label").unwrap_or_default();
    nothing_else(&asked)?;
    let ours = format!("{}={installation}", labels::INSTALLATION);
    labels.retain(|label| *label != ours);
    labels.push(ours);
    Ok(json!({ "label": labels }).to_string())
}

/// The filters of a list of images. Nothing in it is anybody's.
pub(super) fn images(filters: &str) -> Result<String, Denial> {
    let mut asked = read(filters)?;
    let mut known = Asked::new();
    for name in ["label", "reference", "dangling"] {
        known.extend(asked.remove_entry(name));
    }
    nothing_else(&asked)?;
    Ok(json!(known).to_string())
}

/// News that are asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Watched {
    /// Names or ids of containers, as the caller has them.
    pub(super) containers: Vec<String>,
    events: Vec<String>,
}

impl Watched {
    /// Reads the filters: at least one container, all named.
    pub(super) fn read(filters: &str) -> Result<Self, Denial> {
        let mut asked = read(filters)?;
        let containers = asked.remove("container").unwrap_or_default();
        let events = asked.remove("event").unwrap_or_default();
        let kinds = asked.remove("type").unwrap_or_default();
        nothing_else(&asked)?;
        if containers.is_empty() || containers.len() > MAX_WATCHED {
            let reason = format!("events are let through for one to {MAX_WATCHED} containers, by id or name");
            return Err(Denial::new(reason));
        }
        if let Some(wrong) = containers.iter().find(|one| !forms::name(one)) {
            return Err(Denial::new(format!("{wrong:?} is not a name or id")));
        }
        let word = |text: &String| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !events.iter().all(word) || kinds.iter().any(|kind| kind != "container") {
            return Err(Denial::new("events are let through by their plain names, and of containers only"));
        }
        Ok(Self { containers, events })
    }

    /// The filters that the engine gets. `ids` are whole: the engine takes the beginning of one for all that begin so,
    /// ids and names alike.
    pub(super) fn of(&self, ids: &[String]) -> String {
        let mut filters = json!({ "container": ids, "type": ["container"] });
        if let (false, Some(filters)) = (self.events.is_empty(), filters.as_object_mut()) {
            filters.insert("event".to_owned(), json!(self.events));
        }
        filters.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_of_our_containers() {
        let ours = r#"{"label":["creel.installation=id"]}"#;
        assert_eq!(only_ours("", "id").unwrap(), ours);
        assert_eq!(only_ours(ours, "id").unwrap(), ours);
        assert_eq!(
            only_ours(r#"{"label":["a=b"]}"#, "id").unwrap(),
            r#"{"label":["a=b","creel.installation=id"]}"#
        );
        for wrong in [
            r#"{"name":["x"]}"#,
            r#"{"id":["0a"]}"#,
            r#"{"ancestor":["x"]}"#,
            r#"{"label":{"a":true}}"#,
            "[]",
            "x",
        ] {
            assert!(only_ours(wrong, "id").is_err(), "{wrong}");
        }
    }

    #[test]
    fn news_are_of_named_containers() {
        let asked = Watched::read(r#"{"container":["0a"],"type":["container"],"event":["oom"]}"#).unwrap();
        assert_eq!(asked.containers, ["0a"]);
        let whole = ["0a".repeat(32)];
        let text = format!(r#"{{"container":["{}"],"event":["oom"],"type":["container"]}}"#, whole[0]);
        assert_eq!(asked.of(&whole), text);
        let many = json!({ "container": vec!["a"; MAX_WATCHED + 1] }).to_string();
        for wrong in [
            "{}",
            "",
            &many,
            r#"{"container":[]}"#,
            r#"{"container":["*"]}"#,
            r#"{"container":[""]}"#,
            r#"{"container":["a"],"type":["network"]}"#,
            r#"{"container":["a"],"image":["x"]}"#,
            r#"{"container":["a"],"event":["exec_start: x"]}"#,
        ] {
            assert!(Watched::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn images_are_nobodys() {
        assert_eq!(images(r#"{"label":["a"]}"#).unwrap(), r#"{"label":["a"]}"#);
        assert!(images(r#"{"x":["a"]}"#).is_err());
    }
}
