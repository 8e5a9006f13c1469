//! The argument layer in front of every tool (spec `exec.md` §1.2): models send almost the right thing, and what can
//! only mean one thing is repaired; the rest is refused with every problem at once. Pure.
//!
//! | file | concern |
//! |---|---|
//! | `schema` | the JSON Schema of a tool's parameters, generated from their type |
//! | `repair` | values into the kind that the schema wants |
//! | `check` | what does not fit |

mod check;
mod repair;
mod schema;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::result::ToolError;
use crate::error::Report;

pub use check::Problem;
pub use schema::{schema_of, without};

/// The longest echo of received arguments, in characters: whoever sent them knows them.
const ECHO: usize = 2000;
/// The longest path that is told, in characters.
const PATH: usize = 120;

/// Arguments of `tool` as its parameters. Properties that the type does not name are passed over.
///
/// # Errors
///
/// E-SCHEMA: every value that does not fit after repair, by its path, and the arguments as they came.
pub fn parse<P: DeserializeOwned + schemars::JsonSchema>(tool: &str, value: Value) -> Result<P, ToolError> {
    let schema = schema_of::<P>();
    let received = value;
    let repaired = repair::repair(&schema, received.clone());
    let problems = check::check(&schema, &repaired);
    if !problems.is_empty() {
        return Err(misfit(tool, &problems, &received));
    }
    serde_json::from_value(repaired).map_err(|error| {
        let problem = Problem { path: "root".to_owned(), reason: error.to_string() };
        misfit(tool, &[problem], &received)
    })
}

/// The refusal. The arguments are echoed to the caller only; what is logged does not hold them.
fn misfit(tool: &str, problems: &[Problem], received: &Value) -> ToolError {
    let line = |one: &Problem| {
        let path: String = crate::shown::one_line(&one.path).chars().take(PATH).collect();
        format!("\n- {path}: {}", one.reason)
    };
    let lines: String = problems.iter().map(line).collect();
    let message = format!("the arguments of tool {tool:?} do not fit its parameters:{lines}");
    let text = format!("{message}\n\nReceived arguments:\n{}", echo(received));
    let fix = "send the named arguments again as the tool's schema has them".to_owned();
    ToolError {
        text,
        report: Report { code: "CRL-TOOL-002", message, rule: Some(format!("schema of tool {tool}")), fix },
    }
}

fn echo(received: &Value) -> String {
    let text = serde_json::to_string_pretty(received).unwrap_or_default();
    match text.char_indices().nth(ECHO) {
        Some((end, _)) => format!("{}… ({} bytes in all)", text.get(..end).unwrap_or_default(), text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        In,
        Out,
    }

    /// Parameters of every kind.
    #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        /// Must be there.
        text: String,
        number: Option<f64>,
        #[serde(default)]
        count: Option<u64>,
        flag: Option<bool>,
        keys: Option<Vec<String>>,
        env: Option<BTreeMap<String, String>>,
        way: Option<Way>,
        #[schemars(length(max = 5))]
        title: Option<String>,
        inner: Option<Inner>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Inner {
        max_bytes: Option<u64>,
    }

    fn parsed(value: Value) -> Params {
        parse("t", value).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(value: Value) -> String {
        parse::<Params>("t", value).unwrap_err().text
    }

    #[test]
    fn what_can_only_mean_one_thing_is_repaired() {
        let of = |name: &str, value: Value| parsed(json!({"text": "x", name: value}));
        for (value, wanted) in [
            (json!("12"), 12.0),
            (json!(" 1.5 "), 1.5),
            (json!(true), 1.0),
            (json!(false), 0.0),
            (Value::Null, 0.0),
            (json!(7), 7.0),
        ] {
            assert_eq!(of("number", value.clone()).number, Some(wanted), "{value}");
        }
        for (value, wanted) in [
            (json!("true"), true),
            (json!("false"), false),
            (json!(1), true),
            (json!(0), false),
            (Value::Null, false),
        ] {
            assert_eq!(of("flag", value.clone()).flag, Some(wanted), "{value}");
        }
        for (value, wanted) in [(json!(3), "3"), (json!(true), "true"), (Value::Null, ""), (json!("a"), "a")]
        {
            assert_eq!(parsed(json!({"text": value})).text, wanted, "{value}");
        }
        assert_eq!(of("count", json!("12")).count, Some(12));
        assert_eq!(of("count", json!(12.0)).count, Some(12));
        let keys = |value: Value| of("keys", value).keys.unwrap();
        assert_eq!(keys(json!("Enter")), ["Enter"]);
        assert_eq!(keys(json!("[\"C-c\", 1]")), ["C-c", "1"]);
        assert_eq!(keys(json!("5")), ["5"]);
        assert_eq!(keys(json!("")), [""]);
        let env = of("env", json!("{\"A\": 1, \"B\": null, \"C\": \"x\"}")).env.unwrap();
        assert_eq!(env.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["A=1", "B=", "C=x"]);
        assert_eq!(of("way", json!(" IN ")).way, Some(Way::In));
        assert_eq!(of("inner", json!("{\"maxBytes\": \"9\"}")).inner.unwrap().max_bytes, Some(9));
        assert_eq!(of("unknown", json!({"a": [1]})).number, None, "unknown properties are passed over");
    }

    #[test]
    fn what_does_not_fit_is_told_all_at_once() {
        let text = refused(json!({
            "number": "many", "flag": "maybe", "env": {"A": {}}, "way": "up", "title": "too long", "count": -1,
            "keys": [["x"]], "inner": 5,
        }));
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
        let named: Vec<&str> = lines.iter().filter_map(|line| line.get(2..)?.split(':').next()).collect();
        assert_eq!(
            named,
            ["text", "count", "env.A", "flag", "inner", "keys.0", "number", "title", "way"],
            "{text}"
        );
        assert!(
            text.starts_with("the arguments of tool \"t\"") && text.contains("Received arguments:\n{"),
            "{text}"
        );
        assert!(text.contains("\"maybe\""));
    }

    #[test]
    fn arguments_that_are_no_object_are_read_as_json_or_refused() {
        assert_eq!(parsed(json!("{\"text\": \"x\"}")).text, "x");
        for value in [Value::Null, json!([1]), json!("hello")] {
            assert!(refused(value).contains("- root: "));
        }
    }

    #[test]
    fn the_echo_is_bounded_and_not_logged() {
        let error = parse::<Params>("t", json!({"number": "x".repeat(100_000)})).unwrap_err();
        assert!(error.text.len() < 5000 && error.text.contains("bytes in all"));
        assert!(!error.report.message.contains("xxxx"), "{}", error.report.message);
    }

    #[test]
    fn large_texts_are_not_parsed() {
        let long = format!("[\"{}\"]", "a".repeat(65_536));
        assert_eq!(parsed(json!({"text": "x", "keys": long})).keys.unwrap(), [long]);
    }
}
