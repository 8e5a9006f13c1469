//! Compares policies value by value and says which side is stricter.

use serde_json::Value;

use crate::harness::{Difference, Facet};

/// Every place where two answers differ.
pub(super) fn facets(upstream: &Value, creel: &Value) -> Vec<Facet> {
    let mut all = Vec::new();
    compare("", upstream, creel, &mut all);
    all
}

fn compare(part: &str, upstream: &Value, creel: &Value, all: &mut Vec<Facet>) {
    if upstream == creel || same_refusal(part, upstream, creel) {
        return;
    }
    match (upstream, creel) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let at = if part.is_empty() { key.clone() } else { format!("{part}.{key}") };
                compare(&at, &upstream[key.as_str()], &creel[key.as_str()], all);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{part}[{at}]"), one, other, all);
            }
        }
        _ => all.push(Facet {
            part: part.to_owned(),
            upstream: upstream.clone(),
            creel: creel.clone(),
            kind: difference(part, upstream, creel),
        }),
    }
}

/// A diagnostic is the same when it names the same place: the words are each one's own.
fn same_refusal(part: &str, upstream: &Value, creel: &Value) -> bool {
    let place = |value: &Value| {
        value.as_str().and_then(|text| text.split_once(": ")).map(|(place, _)| place.to_owned())
    };
    matches!(part, "error" | "parseError") && place(upstream).is_some() && place(upstream) == place(creel)
}

/// The words of each scale, the strictest first.
const SCALES: &[(&str, &[&str])] = &[
    ("security", &["deny", "allowlist", "full"]),
    ("askFallback", &["deny", "allowlist", "full"]),
    ("ask", &["always", "on-miss", "off"]),
    ("mode", &["deny", "allowlist", "ask", "auto", "full"]),
];

fn difference(part: &str, upstream: &Value, creel: &Value) -> Difference {
    let stricter = |yes: bool| if yes { Difference::Stricter } else { Difference::Looser };
    let names: Vec<&str> = part.split('.').collect();
    for (name, words) in SCALES {
        let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
        if names.contains(name)
            && !names.contains(&"agentSources")
            && let (Some(one), Some(other)) = (rank(upstream), rank(creel))
        {
            return stricter(other < one);
        }
    }
    match (part, upstream, creel) {
        (
            "ok" | "parsed" | "approved" | "autoAllowSkills" | "canRequestNode" | "timedOut",
            _,
            Value::Bool(yes),
        ) => stricter(!yes),
        ("required", _, Value::Bool(yes)) => stricter(*yes),
        ("deniedReason", Value::Null, Value::String(_)) => Difference::Stricter,
        ("deniedReason", Value::String(_), Value::Null) => Difference::Looser,
        (_, Value::Array(one), Value::Array(other)) if other.iter().all(|item| one.contains(item)) => {
            Difference::Stricter
        }
        (_, Value::Array(one), Value::Array(other)) if one.iter().all(|item| other.contains(item)) => {
            Difference::Looser
        }
        _ => Difference::Other,
    }
}
