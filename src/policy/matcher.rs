//! Which entry of a list covers a tool (spec `sandbox.md` §18.1).

use std::collections::HashMap;

use globset::{GlobBuilder, GlobMatcher};

use super::decide::Tool;
use super::lists::{Entry, List};
use super::name::{covered, normal};
use super::tables::{self, GROUP_PLUGINS};

/// A list made ready for matching.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    entries: Vec<Entry>,
    /// Names, and the first entry that covers them. Ids of plugins are names here too.
    names: HashMap<String, usize>,
    globs: Vec<(usize, GlobMatcher)>,
    /// The first entry that covers everything.
    all: Option<usize>,
}

impl Matcher {
    /// Of one list.
    pub fn of(list: &List) -> Self {
        Self::new(&list.entries)
    }

    /// Of entries. Blank ones cover nothing.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut matcher = Self::default();
        for entry in entries {
            matcher.add(entry);
        }
        matcher
    }

    fn add(&mut self, entry: &Entry) {
        let at = self.entries.len();
        let name = normal(&entry.text);
        if name.is_empty() {
            return;
        }
        self.entries.push(entry.clone());
        if name.trim_matches('*').is_empty() {
            self.all.get_or_insert(at);
        } else if name.contains('*') {
            // A pattern that cannot be compiled covers nothing; escaped text and `*` always compile.
            if let Some(glob) = glob(&name) {
                self.globs.push((at, glob));
            }
        } else if let Some(members) = tables::members(&name) {
            for member in members {
                self.names.entry(member.to_owned()).or_insert(at);
            }
        } else {
            for more in covered(&name) {
                self.names.entry((*more).to_owned()).or_insert(at);
            }
            self.names.entry(name).or_insert(at);
        }
    }

    /// Whether it has no entries at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Its entries without the blank ones.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The first entry that covers a tool by its name or by its owner.
    pub fn find(&self, tool: &Tool) -> Option<&Entry> {
        let owner = tool.owner().and_then(|owner| {
            let plugins = self.names.get(GROUP_PLUGINS);
            self.names.get(owner).into_iter().chain(plugins).min()
        });
        let at = self.position(tool.name()).into_iter().chain(owner.copied()).min()?;
        self.entries.get(at)
    }

    /// The first entry that covers a name.
    pub fn find_name(&self, name: &str) -> Option<&Entry> {
        self.entries.get(self.position(name)?)
    }

    fn position(&self, name: &str) -> Option<usize> {
        // `*` stops at a line break upstream; a name with one is nobody's tool.
        let globs = self.globs.iter().filter(|_| !name.contains(['\n', '\r', '\u{2028}', '\u{2029}']));
        let glob = globs.filter(|(_, glob)| glob.is_match(name)).map(|(at, _)| *at).min();
        self.names.get(name).copied().into_iter().chain(glob).chain(self.all).min()
    }

    /// The same, for a list that allows: who may write may also apply a patch. A list that denies does exactly
    /// what it names.
    pub fn find_allowed(&self, tool: &Tool) -> Option<&Entry> {
        self.find(tool).or_else(|| if tool.name() == "apply_patch" { self.find_name("write") } else { None })
    }
}

/// A pattern in which only `*` is special; a backslash is one, not a way to write a literal `*`. Runs of `*` are one: two of them mean directories to the library.
fn glob(pattern: &str) -> Option<GlobMatcher> {
    let mut text = String::with_capacity(pattern.len());
    let parts: Vec<&str> = pattern.split('*').collect();
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.iter().enumerate() {
        text.push_str(&globset::escape(part));
        if at < last && !text.ends_with('*') {
            text.push('*');
        }
    }
    let glob = GlobBuilder::new(&text).literal_separator(false).backslash_escape(false).build().ok()?;
    Some(glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(texts: &[&str]) -> Matcher {
        Matcher::of(&List::built_in("k", texts))
    }

    fn covers(texts: &[&str], name: &str) -> bool {
        matcher(texts).find(&Tool::new(name)).is_some()
    }

    #[test]
    fn only_the_star_is_special() {
        for (pattern, name, wanted) in [
            ("a*c", "ac", true),
            ("a*c", "a/b/c", true),
            ("a**c", "a/c", true),
            ("a*c", "abcd", false),
            ("re?d", "read", false),
            ("[r]ea*", "read", false),
            ("{a,b}*", "a", false),
            (r"a\*", r"a\x", true),
            ("*.", "foo.", true),
            ("**", "x", true),
            ("SRV__*", "srv__q", true),
            ("a*c", "a\nc", false),
            ("ex*", "\n", false),
        ] {
            assert_eq!(covers(&[pattern], name), wanted, "{pattern} {name:?}");
        }
    }

    #[test]
    fn the_first_entry_that_covers_is_named() {
        let found = |name| matcher(&["", "x", "e*", "group:runtime", "*"]).find_name(name).cloned();
        assert_eq!(found("exec").unwrap().text, "e*");
        assert_eq!(found("process").unwrap().text, "group:runtime");
        assert_eq!(found("read").unwrap().text, "*");
    }

    #[test]
    fn owners() {
        let tool = Tool::owned("srv__q", "bundle-mcp");
        for list in [&["bundle-mcp"][..], &["group:plugins"], &["srv__*"], &["Bundle-MCP"]] {
            assert!(matcher(list).find(&tool).is_some(), "{list:?}");
        }
        // An owner is named in full: a pattern is about names of tools.
        assert!(matcher(&["bundle*"]).find(&tool).is_none());
        assert!(matcher(&["group:plugins"]).find(&Tool::new("exec")).is_none());
    }

    #[test]
    fn write_brings_apply_patch_where_it_allows() {
        let patch = Tool::new("apply_patch");
        assert!(matcher(&["w*"]).find_allowed(&patch).is_some());
        assert!(matcher(&["w*"]).find(&patch).is_none());
    }

    /// What `*` means, in the plainest words.
    fn plain(pattern: &str, name: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == name,
            Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
                (0..=tail.len()).filter(|at| tail.is_char_boundary(*at)).any(|at| plain(rest, &tail[at..]))
            }),
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 1000, ..Default::default() })]
        #[test]
        fn patterns_mean_what_they_say(pattern in r"[a-b./*?\[\]{}\\!,é-]{1,8}", name in r"[a-b./?\[\]{}\\!,é-]{0,8}") {
            let pattern = format!("{pattern}*");
            assert_eq!(matcher(&[&pattern]).find_name(&name).is_some(), plain(&pattern, &name));
        }
    }
}
