//! Reading a body strictly: every key known, every value of its kind. Pure.
//!
//! The engine takes keys whatever their case and merges repeated ones. So what is let through is built anew, from keys
//! written exactly as they are known here; the rest is refused, unless it says nothing.

use serde_json::{Map, Value};

use super::Denial;

/// A body or a part of it.
pub(super) struct Body {
    name: &'static str,
    given: Map<String, Value>,
    taken: Map<String, Value>,
}

impl Body {
    /// Reads the text of a request's body; an empty one is an empty object.
    pub(super) fn parse(name: &'static str, text: &[u8]) -> Result<Self, Denial> {
        let text = if text.is_empty() { b"{}" } else { text };
        let value = serde_json::from_slice(text)
            .map_err(|error| Denial::new(format!("{name} is not understood: {error}")))?;
        Self::of(name, value)
    }

    /// Reads a part of a body.
    pub(super) fn of(name: &'static str, value: Value) -> Result<Self, Denial> {
        match value {
            Value::Object(given) => Ok(Self { name, given, taken: Map::new() }),
            _ => Err(Denial::new(format!("{name} is not an object"))),
        }
    }

    /// Takes a key out of what was given.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.given.remove(key).filter(|value| !value.is_null())
    }

    /// Puts a checked value into what is forwarded.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.taken.insert(key.to_owned(), value.into());
    }

    /// Keeps these keys where `fits` holds.
    pub(super) fn keep(&mut self, keys: &[&str], fits: fn(&Value) -> bool) -> Result<(), Denial> {
        for key in keys {
            if let Some(value) = self.take(key) {
                if !fits(&value) {
                    return Err(self.denied(key, "is of another kind than the engine knows"));
                }
                self.put(key, value);
            }
        }
        Ok(())
    }

    /// Keeps a text that has a form; an empty one says nothing.
    pub(super) fn form(&mut self, key: &str, fits: fn(&str) -> bool) -> Result<(), Denial> {
        let Some(value) = self.take(key).filter(|value| value != "") else { return Ok(()) };
        if !value.as_str().is_some_and(fits) {
            return Err(self.strange(key, &value));
        }
        self.put(key, value);
        Ok(())
    }

    /// Keeps a list of texts that have a form.
    pub(super) fn forms(&mut self, key: &str, fits: fn(&str) -> bool) -> Result<(), Denial> {
        let Some(value) = self.take(key) else { return Ok(()) };
        let wrong = |items: &Vec<Value>| items.iter().find(|item| !item.as_str().is_some_and(fits)).cloned();
        match value.as_array().map(wrong) {
            Some(None) => self.put(key, value),
            Some(Some(wrong)) => return Err(self.strange(key, &wrong)),
            None => return Err(self.strange(key, &value)),
        }
        Ok(())
    }

    /// The refusal of a value that creel would write otherwise.
    pub(super) fn strange(&self, key: &str, value: &Value) -> Denial {
        let shown: String = value.to_string().chars().take(60).collect();
        self.denied(key, &format!("holds {shown}, which is not in a form that creel sends"))
    }

    /// A refusal that names the key.
    pub(super) fn denied(&self, key: &str, reason: &str) -> Denial {
        Denial::new(format!("{}.{key} {reason}", self.name))
    }

    /// What is forwarded. Anything that nobody took is refused.
    pub(super) fn finish(self) -> Result<Value, Denial> {
        match self.given.iter().find(|(_, value)| !says_nothing(value)) {
            Some((key, _)) => Err(self.denied(key, "is not something that sandboxes need")),
            None => Ok(Value::Object(self.taken)),
        }
    }
}

/// Absent, in the words of a client that writes everything.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

/// A list of texts.
pub(super) fn texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// An object whose values are texts.
pub(super) fn text_map(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.values().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, Denial> {
        let mut body = Body::parse("Body", text.as_bytes())?;
        body.keep(&["A"], Value::is_boolean)?;
        body.finish()
    }

    #[test]
    fn only_what_is_known_is_forwarded() {
        assert_eq!(
            read(r#"{"A":true,"B":null,"C":[],"D":"","E":0,"F":{},"G":false}"#).unwrap().to_string(),
            r#"{"A":true}"#
        );
        for wrong in [r#"{"A":1}"#, r#"{"a":true}"#, r#"{"B":true}"#, r#"{"B":1e-9}"#, "[]", "{", "null"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        // The engine would take both; what is forwarded has one.
        assert_eq!(read(r#"{"A":true,"A":false}"#).unwrap().to_string(), r#"{"A":false}"#);
    }
}
