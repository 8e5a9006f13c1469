//! Values into the kind that the schema wants, where they can only mean one thing.

use serde_json::{Map, Number, Value};

/// The longest text that is read as JSON, in bytes.
const MAX_JSON: usize = 65_536;

/// The kind that a schema wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    Text,
    Number,
    Integer,
    Flag,
    /// The schema says nothing, or several kinds.
    Any,
}

impl Kind {
    pub(super) fn of(schema: &Value) -> Self {
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => Self::Object,
            Some("array") => Self::Array,
            Some("string") => Self::Text,
            Some("number") => Self::Number,
            Some("integer") => Self::Integer,
            Some("boolean") => Self::Flag,
            _ => Self::Any,
        }
    }
}

/// Repairs a value and everything in it. What cannot be repaired stays as it is.
pub(super) fn repair(schema: &Value, value: Value) -> Value {
    match Kind::of(schema) {
        Kind::Any => value,
        Kind::Object => object(schema, value),
        Kind::Array => array(schema, value),
        Kind::Text => text(schema, value),
        Kind::Number | Kind::Integer => number(value),
        Kind::Flag => flag(value),
    }
}

fn object(schema: &Value, value: Value) -> Value {
    let map = match value {
        Value::Object(map) => map,
        Value::String(text) => match json(&text) {
            Some(Value::Object(map)) => map,
            _ => return Value::String(text),
        },
        other => return other,
    };
    let known = schema.get("properties");
    let others = schema.get("additionalProperties");
    let member = |(name, value): (String, Value)| {
        let schema = known.and_then(|known| known.get(&name)).or(others);
        let value = match schema {
            Some(schema) => repair(schema, value),
            None => value,
        };
        (name, value)
    };
    Value::Object(map.into_iter().map(member).collect::<Map<String, Value>>())
}

/// A text that is no list is its only element: `keys: "Enter"`.
fn array(schema: &Value, value: Value) -> Value {
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) => match json(&text) {
            Some(Value::Array(items)) => items,
            Some(Value::Object(_)) => return Value::String(text),
            _ => vec![Value::String(text)],
        },
        other => return other,
    };
    let element = |item| match schema.get("items") {
        Some(schema) => repair(schema, item),
        None => item,
    };
    Value::Array(items.into_iter().map(element).collect())
}

fn text(schema: &Value, value: Value) -> Value {
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null => String::new(),
        other => return other,
    };
    Value::String(word(schema, &text).unwrap_or(text))
}

/// The word of an enumeration that is meant: blanks around it and its case do not count.
fn word(schema: &Value, text: &str) -> Option<String> {
    let words = schema.get("enum")?.as_array()?;
    let same = |word: &&str| word.eq_ignore_ascii_case(text.trim());
    words.iter().filter_map(Value::as_str).find(same).map(str::to_owned)
}

fn number(value: Value) -> Value {
    let number = match &value {
        Value::String(text) => numeric(text.trim()),
        Value::Bool(flag) => Some(Number::from(u8::from(*flag))),
        Value::Null => Some(Number::from(0)),
        Value::Number(number) => number.as_f64().and_then(whole).or_else(|| Some(number.clone())),
        _ => None,
    };
    number.map_or(value, Value::Number)
}

fn numeric(text: &str) -> Option<Number> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    let number: f64 = text.parse().ok()?;
    whole(number).or_else(|| Number::from_f64(number))
}

/// `12.0` is 12: some callers know only one kind of number.
fn whole(number: f64) -> Option<Number> {
    let small = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    small.then(|| format!("{number:.0}").parse::<i64>().ok()).flatten().map(Number::from)
}

fn flag(value: Value) -> Value {
    let flag = match &value {
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
        Value::Null => Some(false),
        _ => None,
    };
    flag.map_or(value, Value::Bool)
}

fn json(text: &str) -> Option<Value> {
    if text.len() > MAX_JSON { None } else { serde_json::from_str(text).ok() }
}
