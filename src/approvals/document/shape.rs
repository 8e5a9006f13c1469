//! Typed reading of one object: what is taken is checked, what is left is unknown and kept.

use serde_json::{Map, Number, Value};

use super::error::Problem;
use crate::config::index::{Index, element, member};

/// A place, once as it is told and once as the index has it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    told: String,
    key: String,
}

impl Place {
    pub(super) fn top(name: &str) -> Self {
        Self { told: name.to_owned(), key: name.to_owned() }
    }

    /// An agent: its name is not told.
    pub(super) fn agent(number: usize, id: &str) -> Self {
        Self { told: format!("agents entry #{number}"), key: member("agents", id) }
    }

    pub(super) fn member(&self, name: &str) -> Self {
        Self { told: format!("{}.{name}", self.told), key: member(&self.key, name) }
    }

    pub(super) fn element(&self, at: usize) -> Self {
        Self { told: element(&self.told, at), key: element(&self.key, at) }
    }
}

/// Collects problems.
#[derive(Debug)]
pub(super) struct Shape<'a> {
    index: &'a Index,
    problems: Vec<Problem>,
}

/// Names of one key whose absence would be taken for "no rule"; a key that is nearly one of them is a mistake.
pub(super) type Names = [&'static str];

impl<'a> Shape<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self { index, problems: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<Problem> {
        self.problems
    }

    pub(super) fn problem(&mut self, place: &Place, message: &'static str, fix: impl Into<String>) {
        let at = self.index.get(&place.key);
        self.problems.push(Problem { place: place.told.clone(), at, message, fix: fix.into() });
    }

    pub(super) fn object(&mut self, place: &Place, value: Value) -> Option<Map<String, Value>> {
        if let Value::Object(map) = value {
            return Some(map);
        }
        self.problem(place, "expected an object", "write an object, { … }");
        None
    }

    pub(super) fn list(&mut self, place: &Place, value: Value) -> Vec<Value> {
        if let Value::Array(items) = value {
            return items;
        }
        self.problem(place, "expected an array", "write a list, [ … ]");
        Vec::new()
    }

    pub(super) fn string(&mut self, place: &Place, value: Value) -> Option<String> {
        if let Value::String(text) = value {
            return Some(text);
        }
        self.problem(place, "expected a string", "write a string, or remove the key");
        None
    }

    /// A string that is not blank, trimmed.
    pub(super) fn word(&mut self, place: &Place, value: Option<&Value>) -> Option<String> {
        let text = value.and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        if text.is_none() {
            self.problem(place, "expected a non-empty string", "write a string that is not blank");
        }
        text.map(str::to_owned)
    }

    pub(super) fn choice<T: Copy>(&mut self, place: &Place, value: &Value, words: &[(&str, T)]) -> Option<T> {
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.problem(place, "expected a supported value", format!("write one of {}", list.join(", ")));
        }
        found.map(|(_, choice)| *choice)
    }

    pub(super) fn flag(&mut self, place: &Place, value: &Value) -> Option<bool> {
        let flag = value.as_bool();
        if flag.is_none() {
            self.problem(place, "expected a boolean", "write true or false");
        }
        flag
    }

    pub(super) fn number(&mut self, place: &Place, value: Option<Value>) -> Option<Number> {
        if let Some(Value::Number(number)) = value {
            return Some(number);
        }
        self.problem(place, "expected a finite number", "write a number: Unix time in milliseconds");
        None
    }

    /// What is left of an object. A key that is nearly one that restricts was meant as that one.
    pub(super) fn rest(
        &mut self,
        place: Option<&Place>,
        left: Map<String, Value>,
        known: &Names,
    ) -> Map<String, Value> {
        for name in left.keys() {
            if let Some(near) = known.iter().find(|known| alike(name, known)) {
                let place = place.map_or_else(|| Place::top(name), |place| place.member(name));
                self.problem(
                    &place,
                    "unknown key, nearly a known one",
                    format!("write {near}, or remove the key"),
                );
            }
        }
        left
    }
}

/// Whether a key looks like a misspelling: another case, other separators, or one slip (two in a long word).
fn alike(name: &str, known: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase).collect()
    };
    let (name, known) = (plain(name), plain(known));
    let slips = if known.chars().count() < 6 { 1 } else { 2 };
    name.chars().count().abs_diff(known.chars().count()) <= slips
        && strsim::osa_distance(&name, &known) <= slips
}

#[cfg(test)]
mod tests {
    use super::alike;

    #[test]
    fn slips_and_other_words() {
        for (name, known) in [
            ("Security", "security"),
            ("secruity", "security"),
            ("ask_fallback", "askFallback"),
            ("aks", "ask"),
            ("agent", "agents"),
            ("argspattern", "argPattern"),
        ] {
            assert!(alike(name, known), "{name}");
        }
        for (name, known) in
            [("pattern", "argPattern"), ("notes", "ask"), ("policy", "security"), ("label", "agents")]
        {
            assert!(!alike(name, known), "{name}");
        }
    }
}
