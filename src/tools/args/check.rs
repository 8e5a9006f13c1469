//! What does not fit a schema: the part of JSON Schema that parameters use.

use serde_json::Value;

use super::repair::Kind;

/// How many problems are told; more are not read.
const MOST: usize = 20;

/// A value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, as in `env.NAME`; `root` for the arguments as a whole.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Everything that does not fit: what is missing first, then in the order of the names.
pub(super) fn check(schema: &Value, value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    walk(schema, value, "", &mut problems);
    problems.truncate(MOST);
    problems
}

fn walk(schema: &Value, value: &Value, path: &str, problems: &mut Vec<Problem>) {
    let mut problem = |reason: String| {
        let path = if path.is_empty() { "root" } else { path };
        problems.push(Problem { path: path.to_owned(), reason });
    };
    match (Kind::of(schema), value) {
        (Kind::Any, _) | (Kind::Flag, Value::Bool(_)) => {}
        (Kind::Object, Value::Object(_)) => members(schema, value, path, problems),
        (Kind::Array, Value::Array(items)) => {
            let element = schema.get("items").unwrap_or(&Value::Null);
            for (at, item) in items.iter().enumerate() {
                walk(element, item, &join(path, &at.to_string()), problems);
            }
        }
        (Kind::Text, Value::String(text)) => {
            if let Some(reason) = text_misfit(schema, text) {
                problem(reason);
            }
        }
        (Kind::Integer, Value::Number(number)) if !(number.is_i64() || number.is_u64()) => {
            problem("must be a whole number".to_owned());
        }
        (Kind::Number | Kind::Integer, Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
            if let Some(least) = limit("minimum").filter(|least| number < *least) {
                problem(format!("must be at least {least}"));
            } else if let Some(most) = limit("maximum").filter(|most| number > *most) {
                problem(format!("must be at most {most}"));
            }
        }
        (kind, _) => problem(format!("must be {}", name(kind))),
    }
}

fn members(schema: &Value, value: &Value, path: &str, problems: &mut Vec<Problem>) {
    let Some(map) = value.as_object() else { return };
    let required = schema.get("required").and_then(Value::as_array);
    for missing in required.into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(missing) {
            let path = join(path, missing);
            problems.push(Problem { path, reason: "must be there: it is required".to_owned() });
        }
    }
    let known = schema.get("properties");
    let others = schema.get("additionalProperties");
    for (name, value) in map {
        if let Some(schema) = known.and_then(|known| known.get(name)).or(others) {
            walk(schema, value, &join(path, name), problems);
        }
    }
}

fn text_misfit(schema: &Value, text: &str) -> Option<String> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.iter().any(|word| word.as_str() == Some(text))
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Some(format!("must be one of {}", words.join(", ")));
    }
    let count = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
    if let Some(most) = limit("maxLength").filter(|most| count > *most) {
        return Some(format!("must not have more than {most} characters"));
    }
    limit("minLength")
        .filter(|least| count < *least)
        .map(|least| format!("must have at least {least} characters"))
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Object => "an object",
        Kind::Array => "an array",
        Kind::Text => "a string",
        Kind::Number => "a number",
        Kind::Integer => "a whole number",
        Kind::Flag => "true or false",
        Kind::Any => "something else",
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
