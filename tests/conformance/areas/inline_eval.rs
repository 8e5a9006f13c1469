//! `inline-eval.json`: code in argument lists.

use creel::shell::inline_eval::{Hit, detect};
use serde_json::{Value, json};

use crate::harness::{Area, Case, Difference, Direction, Facts, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct InlineEval;

impl Area for InlineEval {
    fn name(&self) -> &'static str {
        "inline-eval"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let argv: Vec<&str> =
            case.input["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let creel = answer(detect(&argv));
        if creel == *case.expect {
            return Judgement::Equal;
        }
        let kind = match (case.expect["hit"].as_bool(), creel["hit"].as_bool()) {
            (Some(false), Some(true)) => Difference::Stricter,
            (Some(true), Some(false)) => Difference::Looser,
            _ => Difference::Other,
        };
        Judgement::Differs { creel, kind }
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

fn answer(hit: Option<Hit>) -> Value {
    match hit {
        None => json!({"hit": false}),
        Some(hit) => json!({
            "hit": true, "executable": hit.executable, "normalizedExecutable": hit.name, "flag": hit.flag,
            "descriptor": hit.descriptor, "viaCarrier": hit.via_carrier,
        }),
    }
}

const RULES: &[Rule] = &[
    Rule {
        name: "inline-modules",
        direction: Direction::Stricter,
        applies: |facts| tells(facts, &["-m", "-M"]),
    },
    Rule {
        name: "inline-data",
        direction: Direction::Stricter,
        applies: |facts| tells(facts, &["data:", "-d"]),
    },
    Rule {
        name: "inline-variables",
        direction: Direction::Stricter,
        applies: |facts| tells(facts, &["<variable>"]),
    },
    Rule {
        name: "inline-carriers",
        direction: Direction::Stricter,
        applies: |facts| facts.creel["viaCarrier"] == json!(true),
    },
    Rule {
        name: "inline-positional",
        direction: Direction::Stricter,
        applies: |facts| {
            let words = facts.input["argv"].as_array().unwrap();
            facts.creel["executable"] != words[0]
                && words.iter().any(|word| word.as_str().unwrap().contains('$'))
        },
    },
    Rule {
        name: "inline-more-programs",
        direction: Direction::Stricter,
        applies: |facts| {
            let name = facts.creel["normalizedExecutable"].as_str().unwrap_or_default();
            let flag = facts.creel["flag"].as_str().unwrap_or_default();
            ["pythonw", "python3m", "ipython", "ipython3", "ts-node", "tsx", "jruby", "luajit"]
                .contains(&name)
                || ["eval", "exec"].contains(&flag)
        },
    },
    Rule {
        name: "inline-joined",
        direction: Direction::Stricter,
        applies: |facts| {
            written(
                &facts.input["argv"],
                |word, flag| {
                    word.len() > 2
                        && !word.starts_with("--")
                        && flag.len() == 2
                        && !word.eq_ignore_ascii_case(flag)
                },
                &facts.creel["flag"],
            )
        },
    },
    Rule {
        name: "inline-abbreviated",
        direction: Direction::Stricter,
        applies: |facts| {
            written(
                &facts.input["argv"],
                |word, flag| {
                    let name = word.split('=').next().unwrap_or_default();
                    flag.len() > 2 && name.len() > 2 && flag.starts_with(name)
                },
                &facts.creel["flag"],
            )
        },
    },
    Rule {
        name: "inline-optional-values",
        direction: Direction::Stricter,
        applies: |facts| {
            facts.creel["flag"] == json!("<command>")
                && facts.input["argv"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|word| ["--eof", "--replace", "--max-lines"].iter().any(|flag| word == flag))
        },
    },
];

/// Whether creel tells one of these in place of a flag.
fn tells(facts: &Facts<'_>, flags: &[&str]) -> bool {
    flags.iter().any(|flag| facts.creel["flag"] == json!(flag))
}

/// Whether an argument writes the flag that creel tells in a certain way.
fn written(argv: &Value, how: fn(&str, &str) -> bool, flag: &Value) -> bool {
    let flag = flag.as_str().unwrap_or_default();
    argv.as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .any(|word| word.starts_with('-') && how(word, flag))
}

#[cfg(test)]
mod tests {
    use creel::shell::inline_eval::interpreter_like;
    use serde_json::Value;

    use crate::harness;

    /// The patterns that the head of the file lists.
    #[test]
    fn patterns_of_interpreters() {
        let text = std::fs::read_to_string(harness::vectors().join("inline-eval.json")).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        for case in file["interpreterLikePatterns"].as_array().unwrap() {
            let pattern = case["pattern"].as_str().unwrap();
            assert_eq!(interpreter_like(pattern), case["interpreterLike"].as_bool().unwrap(), "{pattern}");
        }
    }
}
