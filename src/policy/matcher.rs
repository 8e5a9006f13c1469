//! Which entry of a list covers a tool (spec `sandbox.md` §18.1).

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::decide::Tool;
use super::lists::{Entry, List};
use super::name::{covered, normal};
use super::tables::{self, GROUP_PLUGINS};

/// The hash of FNV-1a: a third of the time of the standard one for names as short as these. Whoever could choose names
/// that collide writes the lists anyway; names of tools are only looked up.
#[derive(Debug, Clone)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        self.0 =
            bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A list made ready for matching.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    entries: Vec<Entry>,
    /// Names, and the first entry that covers each. Ids of plugins are names here too.
    names: HashMap<Cow<'static, str>, usize, BuildHasherDefault<Fnv>>,
    /// The first entry that covers every tool of a plugin.
    plugins: Option<usize>,
    patterns: Vec<(usize, Pattern)>,
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
        let entries = entries.into_iter();
        let mut matcher = Self::default();
        matcher.entries.reserve(entries.size_hint().0);
        matcher.names.reserve(entries.size_hint().0);
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
            self.patterns.push((at, Pattern::new(&name)));
        } else if let Some(members) = tables::members(&name) {
            for member in members {
                self.names.entry(Cow::Borrowed(member)).or_insert(at);
            }
        } else {
            for more in covered(&name) {
                self.names.entry(Cow::Borrowed(more)).or_insert(at);
            }
            if name == GROUP_PLUGINS {
                self.plugins.get_or_insert(at);
            }
            self.names.entry(Cow::Owned(name)).or_insert(at);
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
        let owner = tool.owner().and_then(|owner| self.named(owner).into_iter().chain(self.plugins).min());
        let at = self.position(tool.name()).into_iter().chain(owner).min()?;
        self.entries.get(at)
    }

    /// The first entry that covers a name.
    pub fn find_name(&self, name: &str) -> Option<&Entry> {
        self.entries.get(self.position(name)?)
    }

    /// The first entry that covers a name by itself, not by a pattern.
    fn named(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    fn position(&self, name: &str) -> Option<usize> {
        let pattern = self.patterns.iter().find(|(_, pattern)| pattern.covers(name)).map(|(at, _)| *at);
        self.named(name).into_iter().chain(pattern).chain(self.all).min()
    }

    /// The same, for a list that allows: who may write may also apply a patch. A list that denies does exactly
    /// what it names.
    pub fn find_allowed(&self, tool: &Tool) -> Option<&Entry> {
        self.find(tool).or_else(|| if tool.name() == "apply_patch" { self.find_name("write") } else { None })
    }
}

/// Whether the text of an entry, normalised and no group, is a name or a pattern that covers it as they stand.
pub(super) fn covers(text: &str, name: &str) -> bool {
    text == name || (text.contains('*') && Pattern::new(text).covers(name))
}

/// Text in which `*` stands for any other text and nothing else is special.
///
/// Not a glob of paths: `?`, brackets and backslashes occur in names as themselves, and directories mean nothing.
#[derive(Debug, Clone)]
struct Pattern {
    head: String,
    /// What comes between two stars, in its order.
    middle: Vec<String>,
    tail: String,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let mut parts: Vec<String> = text.split('*').map(str::to_owned).collect();
        let tail = if parts.len() > 1 { parts.pop().unwrap_or_default() } else { String::new() };
        let mut parts = parts.into_iter();
        let head = parts.next().unwrap_or_default();
        Self { head, middle: parts.filter(|part| !part.is_empty()).collect(), tail }
    }

    fn covers(&self, name: &str) -> bool {
        let inner =
            name.strip_prefix(self.head.as_str()).and_then(|rest| rest.strip_suffix(self.tail.as_str()));
        // The earliest place for each part leaves the most room for the next.
        let last = inner.and_then(|inner| {
            self.middle.iter().try_fold(inner, |rest, part| Some(rest.split_once(part.as_str())?.1))
        });
        // `*` stops at a line break upstream; a name with one is nobody's tool.
        last.is_some() && !name.contains(['\n', '\r', '\u{2028}', '\u{2029}'])
    }
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
            ("a*bc*c", "abc", false),
            ("a*bc*c", "abcc", true),
            ("aa*a", "aa", false),
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
        fn patterns_mean_what_they_say(pattern in r"[a-b./*?\[\]{}\\!,é-]{1,8}", tail in "[ab*]{0,2}", name in r"[a-b./?\[\]{}\\!,é-]{0,8}") {
            let pattern = format!("{pattern}*{tail}");
            assert_eq!(matcher(&[&pattern]).find_name(&name).is_some(), plain(&pattern, &name));
        }
    }
}
