//! The JSON Schema of a tool's parameters, from their type.

use serde_json::{Map, Value};

/// The schema as callers see it: no references, and optional properties are absent rather than null.
pub fn schema_of<P: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut value = settings.into_generator().into_root_schema_for::<P>().to_value();
    tidy(&mut value);
    if let Some(map) = value.as_object_mut() {
        map.remove("title");
        map.remove("description");
    }
    value
}

/// The schema without some properties: what a caller does not have is not offered.
pub fn without(mut schema: Value, names: &[&str]) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    schema
}

/// Takes out what only says how Rust stores a value: null beside the kind of an optional one, formats of numbers, and
/// the one-by-one spelling of words with their own descriptions.
fn tidy(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("format");
    map.remove("default");
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            map.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    merge_any(map);
    words(map);
    for name in ["properties", "$defs"] {
        if let Some(members) = map.get_mut(name).and_then(Value::as_object_mut) {
            members.values_mut().for_each(tidy);
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(name) {
            tidy(inner);
        }
    }
}

/// `anyOf: [X, null]` is X.
fn merge_any(map: &mut Map<String, Value>) {
    let Some(Value::Array(mut any)) = map.remove("anyOf") else { return };
    any.retain(|one| one.get("type").and_then(Value::as_str) != Some("null"));
    if let [Value::Object(only)] = any.as_slice() {
        for (name, value) in only {
            map.entry(name.clone()).or_insert_with(|| value.clone());
        }
    } else {
        map.insert("anyOf".to_owned(), Value::Array(any));
    }
}

/// A list of constants is an enumeration.
fn words(map: &mut Map<String, Value>) {
    let Some(Value::Array(one_of)) = map.get("oneOf") else { return };
    let mut words = Vec::new();
    for one in one_of {
        match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
            (Some(word), _) => words.push(word.clone()),
            (None, Some(several)) => words.extend(several.iter().cloned()),
            (None, None) => return,
        }
    }
    map.remove("oneOf");
    map.insert("type".to_owned(), "string".into());
    map.insert("enum".to_owned(), Value::Array(words));
}
