//! Keys as people write them: `agents.list[0].tools.exec.node`, `channels["my channel"]`.

use super::index::{element, member};

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A member.
    Name(String),
    /// An element, from 0.
    At(usize),
}

/// A place in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPath {
    steps: Vec<Step>,
}

/// The text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a key")]
pub struct NotAKey(pub String);

impl KeyPath {
    /// Reads a key.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let wrong = || NotAKey(text.to_owned());
        let mut rest = text.trim();
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let step;
            (step, rest) = if let Some(inner) = rest.strip_prefix('[') {
                bracket(inner).ok_or_else(wrong)?
            } else {
                let bare = if steps.is_empty() { rest } else { rest.strip_prefix('.').ok_or_else(wrong)? };
                let end = bare.find(['.', '[']).unwrap_or(bare.len());
                let (name, after) = bare.split_at(end);
                if name.is_empty() || name.chars().any(char::is_control) {
                    return Err(wrong());
                }
                (Step::Name(name.to_owned()), after)
            };
            steps.push(step);
        }
        if steps.is_empty() { Err(wrong()) } else { Ok(Self { steps }) }
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The keys on the way as the index writes them: the root (empty) first, the whole key last.
    pub fn keys(&self) -> Vec<String> {
        let mut keys = vec![String::new()];
        for step in &self.steps {
            let parent = keys.last().map(String::as_str).unwrap_or_default();
            let key = match step {
                Step::Name(name) => member(parent, name),
                Step::At(at) => element(parent, *at),
            };
            keys.push(key);
        }
        keys
    }

    /// What stands there.
    pub fn look_up<'v>(&self, root: &'v serde_json::Value) -> Option<&'v serde_json::Value> {
        self.steps.iter().try_fold(root, |value, step| match step {
            Step::Name(name) => value.as_object()?.get(name),
            Step::At(at) => value.as_array()?.get(*at),
        })
    }
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.keys().last().map(String::as_str).unwrap_or_default())
    }
}

/// What follows `[`: a number, or a name in double quotes, and `]`.
fn bracket(inner: &str) -> Option<(Step, &str)> {
    if !inner.starts_with('"') {
        let (number, rest) = inner.split_once(']')?;
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        return Some((Step::At(number.parse().ok().filter(|_| digits)?), rest));
    }
    // The string ends at the first quote that makes it JSON.
    let ends = inner.match_indices("\"]").map(|(at, _)| at + 1);
    ends.into_iter().find_map(|end| {
        let name: String = serde_json::from_str(inner.get(..end)?).ok()?;
        Some((Step::Name(name), inner.get(end + 1..)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_messages_print() {
        for key in ["a", "agents.list[0].tools.exec.node", "a[\"b c\"].d", "a[\"x\\\"]y\"][2]", "[\"d.e\"]"] {
            assert_eq!(KeyPath::parse(key).unwrap().to_string(), key);
        }
        for bad in ["", " ", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a]b[", "a[0]b", "a[\"b]"] {
            // A closing bracket alone is a strange name, not a step.
            if bad != "a]b[" {
                assert!(KeyPath::parse(bad).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn looks_up() {
        let value = serde_json::json!({"a": [{"b": 1}]});
        let at = |key: &str| KeyPath::parse(key).unwrap().look_up(&value).cloned();
        assert_eq!(at("a[0].b"), Some(1.into()));
        assert_eq!(at("a[1]"), None);
        assert_eq!(at("a.b"), None);
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_is_stable(text in "[a-c.\\[\\]\"\\\\0-2é ]{0,12}") {
            if let Ok(path) = KeyPath::parse(&text) {
                assert_eq!(KeyPath::parse(&path.to_string()).unwrap(), path);
            }
        }
    }
}
