//! Typed reading of blocks. Every problem is collected, none stops the reading.

use std::cell::RefCell;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::document::Document;
use super::error::{ConfigError, Problem};
use super::index::{element, member};
use super::substitute::substitute;

/// A value together with the key that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// The key, as in `agents.defaults.sandbox.mode`.
    pub key: String,
}

impl<T> Set<T> {
    /// The same key with another value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Set<U> {
        Set { value: convert(self.value), key: self.key }
    }
}

/// Reads one document.
pub struct Reader<'a> {
    document: &'a Document,
    var: &'a dyn Fn(&str) -> Option<String>,
    problems: RefCell<Problems>,
}

/// What was found, each once: blocks that several readers share are read several times.
#[derive(Debug, Default)]
struct Problems {
    list: Vec<Problem>,
    known: HashSet<(String, String)>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("file", &self.document.file()).finish_non_exhaustive()
    }
}

/// An object in the document.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    reader: &'a Reader<'a>,
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Reader<'a> {
    /// A reader whose strings take variables from `var`.
    pub fn new(document: &'a Document, var: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { document, var, problems: RefCell::default() }
    }

    /// The whole document.
    pub fn root(&'a self) -> Option<Block<'a>> {
        let map = self.document.root().as_object()?;
        Some(Block { reader: self, map, path: String::new() })
    }

    /// All problems, in the order of the text.
    pub fn finish(&self) -> Result<(), ConfigError> {
        let mut problems = self.problems.take().list;
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by_key(|problem| problem.origin.as_ref().map(|origin| (origin.line, origin.column)));
        Err(ConfigError::Invalid { file: self.document.file().to_owned(), problems })
    }

    /// Notes a problem with a key.
    pub fn problem(&self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        let message = message.into();
        let mut problems = self.problems.borrow_mut();
        if problems.known.insert((key.to_owned(), message.clone())) {
            let origin = self.document.origin(key);
            problems.list.push(Problem { key: key.to_owned(), origin, message, fix: fix.into() });
        }
    }

    fn wrong_type(&self, key: &str, wanted: &str, got: &Value) {
        self.problem(
            key,
            format!("must be {wanted}, got: {}", shown(got)),
            format!("write {wanted} for {key}, or remove it"),
        );
    }

    fn string(&self, key: &str, value: &Value) -> Option<String> {
        let Some(text) = value.as_str() else {
            self.wrong_type(key, "a string", value);
            return None;
        };
        substitute(text, self.var)
            .map_err(|name| {
                self.problem(
                    key,
                    format!("the variable {name} is not set"),
                    format!("set {name}, or write $${{{name}}} for the text itself"),
                );
            })
            .ok()
    }
}

/// A value in a message; long ones are cut, because they may be large.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The known name that is most like `name`, if one is alike enough to be meant.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = name.to_lowercase();
    let score = |candidate: &str| strsim::jaro_winkler(&lower, &candidate.to_lowercase());
    known
        .iter()
        .map(|candidate| (*candidate, score(candidate)))
        .filter(|(_, score)| *score > 0.8)
        .max_by(|one, other| one.1.total_cmp(&other.1))
        .map(|(candidate, _)| candidate)
}

impl<'a> Block<'a> {
    /// The full key of a member.
    pub fn key(&self, name: &str) -> String {
        member(&self.path, name)
    }

    /// The full key of this block.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether a member is written, with any value.
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Notes a problem with a member.
    pub fn problem(&self, name: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.reader.problem(&self.key(name), message, fix);
    }

    /// Notes a problem with a key that was read before.
    pub fn problem_at(&self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.reader.problem(key, message, fix);
    }

    /// A member that is a block whose other members are none of this reader's business.
    pub fn open(&self, name: &str) -> Option<Block<'a>> {
        let (path, value) = self.value(name)?;
        let Some(map) = value.as_object() else {
            self.reader.wrong_type(&path, "an object", value);
            return None;
        };
        Some(Block { reader: self.reader, map, path })
    }

    /// A member that is a block with no other members than `known`.
    pub fn closed(&self, name: &str, known: &[&str]) -> Option<Block<'a>> {
        let block = self.open(name)?;
        block.only(known);
        Some(block)
    }

    /// Reports members that are not `known`.
    pub fn only(&self, known: &[&str]) {
        for name in self.map.keys() {
            let key = self.key(name);
            if !known.contains(&name.as_str()) {
                let fix = match nearest(name, known) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("remove it; known here are {}", known.join(", ")),
                };
                self.reader.problem(&key, format!("unknown key {name:?}"), fix);
            }
        }
    }

    /// A list of blocks, for lists of named things.
    pub fn blocks(&self, name: &str) -> Vec<Block<'a>> {
        let Some((path, value)) = self.value(name) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.reader.wrong_type(&path, "a list", value);
            return Vec::new();
        };
        let block = |(at, item): (usize, &'a Value)| {
            let path = element(&path, at);
            let map = item.as_object().or_else(|| {
                self.reader.wrong_type(&path, "an object", item);
                None
            })?;
            Some(Block { reader: self.reader, map, path })
        };
        items.iter().enumerate().filter_map(block).collect()
    }

    /// The names of all members, in the order of the text; the parser sorts them by name.
    pub fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.map.keys().map(String::as_str).collect();
        names.sort_by_cached_key(|name| self.reader.document.position(&self.key(name)));
        names
    }

    /// Every reading passes here. A key that is written twice is a problem: the first is what a person sees.
    fn value(&self, name: &str) -> Option<(String, &'a Value)> {
        let value = self.map.get(name)?;
        let key = self.key(name);
        if self.reader.document.repeated(&key) {
            self.reader.problem(&key, "is written twice; only the last counts", "keep one of them");
        }
        Some((key, value))
    }

    /// A string, with variables filled in, not trimmed.
    pub fn text(&self, name: &str) -> Option<Set<String>> {
        let (key, value) = self.value(name)?;
        let value = self.reader.string(&key, value)?;
        Some(Set { value, key })
    }

    /// A string that is not blank, trimmed.
    pub fn word(&self, name: &str) -> Option<Set<String>> {
        let set = self.text(name)?.map(|text| text.trim().to_owned());
        if set.value.is_empty() {
            self.problem(name, "is blank", format!("write a value for {}, or remove it", set.key));
            return None;
        }
        Some(set)
    }

    /// True or false.
    pub fn flag(&self, name: &str) -> Option<Set<bool>> {
        let (key, value) = self.value(name)?;
        let Some(flag) = value.as_bool() else {
            self.reader.wrong_type(&key, "true or false", value);
            return None;
        };
        Some(Set { value: flag, key })
    }

    /// One of some words.
    pub fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Option<Set<T>> {
        let (key, value) = self.value(name)?;
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if let Some((_, choice)) = found {
            return Some(Set { value: *choice, key });
        }
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near = value.as_str().and_then(|text| nearest(text, &list));
        let fix = near.map_or_else(
            || format!("write one of {}", list.join(", ")),
            |near| format!("did you mean {near:?}?"),
        );
        self.reader.problem(&key, format!("must be one of {}, got: {}", list.join(", "), shown(value)), fix);
        None
    }

    /// A whole number of at least `least`.
    pub fn whole(&self, name: &str, least: u64) -> Option<Set<u64>> {
        let (key, value) = self.value(name)?;
        let number = value.as_u64().or_else(|| super::limits::whole(value.as_f64()?));
        let Some(number) = number.filter(|number| *number >= least) else {
            self.reader.wrong_type(&key, &format!("a whole number of at least {least}"), value);
            return None;
        };
        Some(Set { value: number, key })
    }

    /// The raw value, for members that may have several types.
    pub fn raw(&self, name: &str) -> Option<Set<&'a Value>> {
        let (key, value) = self.value(name)?;
        Some(Set { value, key })
    }

    /// Reports that a raw value has none of the accepted types.
    pub fn not_a(&self, name: &str, wanted: &str) {
        if let Some((key, value)) = self.value(name) {
            self.reader.wrong_type(&key, wanted, value);
        }
    }

    /// A list of strings, each with its own key.
    pub fn list(&self, name: &str) -> Option<Set<Vec<Set<String>>>> {
        let (key, value) = self.value(name)?;
        let Some(items) = value.as_array() else {
            self.reader.wrong_type(&key, "a list of strings", value);
            return None;
        };
        let item = |(at, value)| {
            let key = element(&key, at);
            let value = self.reader.string(&key, value)?;
            Some(Set { value, key })
        };
        Some(Set { value: items.iter().enumerate().filter_map(item).collect(), key })
    }

    /// A list of strings and numbers, the numbers as text, each with its own key.
    pub fn scalars(&self, name: &str) -> Option<Set<Vec<Set<String>>>> {
        let (key, value) = self.value(name)?;
        let Some(items) = value.as_array() else {
            self.reader.wrong_type(&key, "a list of strings and numbers", value);
            return None;
        };
        let item = |(at, value): (usize, &Value)| {
            let key = element(&key, at);
            let value = match value {
                Value::Number(number) => number.to_string(),
                text => self.reader.string(&key, text)?,
            };
            Some(Set { value, key })
        };
        Some(Set { value: items.iter().enumerate().filter_map(item).collect(), key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        let known = ["readOnlyRoot", "network", "capDrop"];
        assert_eq!(nearest("readonlyRoot", &known), Some("readOnlyRoot"));
        assert_eq!(nearest("netwrok", &known), Some("network"));
        assert_eq!(nearest("zzz", &known), None);
    }
}
