//! One spelling for each tool: aliases and groups (spec `sandbox.md` §18.1).

use super::tables;

/// Former names of tools, as called and as written in lists.
const ALIASES: &[(&str, &str)] = &[("bash", "exec"), ("apply-patch", "apply_patch"), ("cron", "automations")];

/// Names in lists that stand for further tools. A called tool is never renamed by these.
const COVERS: &[(&str, &[&str])] = &[
    ("update_plan", &["progress_card"]),
    ("canvas", &["show_widget"]),
    // The one name of the older documentation without an alias upstream.
    ("image", &["view_image"]),
];

/// The name of a tool as it is compared: trimmed, lower case, without aliases.
pub fn normal(name: &str) -> String {
    let name = name.trim();
    let lower = if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_lowercase() };
    match ALIASES.iter().find(|(alias, _)| *alias == lower) {
        Some((_, name)) => (*name).to_owned(),
        None => lower,
    }
}

/// Entries with their groups replaced by the members, each name once, blanks dropped. What is no known group
/// stays as it is and covers nothing.
pub fn expand<'a>(entries: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !name.is_empty() && !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    };
    for entry in entries {
        let name = normal(entry);
        match tables::members(&name) {
            Some(members) => members.into_iter().for_each(&mut add),
            None => add(&name),
        }
    }
    all
}

/// What a name in a list covers beside itself.
pub(super) fn covered(name: &str) -> &'static [&'static str] {
    COVERS.iter().find(|(entry, _)| *entry == name).map_or(&[], |(_, more)| *more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_and_groups() {
        assert_eq!(normal(" BASH "), "exec");
        assert_eq!(
            expand([" Group:Memory ", "memory_get", "", "cron", "group:none"]),
            ["memory_search", "memory_get", "automations", "group:none"]
        );
        assert!(expand(["group:openclaw"]).contains(&"exec".to_owned()));
    }
}
