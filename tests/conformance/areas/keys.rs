//! `keys.json`: named keys, hex and text into bytes, and pastes.

use creel::process::keys::{self, CursorKeys, KeyError, Request, Warning, Warnings};
use serde_json::{Value, json};

use crate::harness::{Area, Case, Difference, Direction, Facet, Facts, Judgement, Rule};

/// The area.
pub(crate) struct Keys;

impl Area for Keys {
    fn name(&self) -> &'static str {
        "keys"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        match case.kind {
            "keys" => Judgement::Facets(judge_keys(case.input, case.expect)),
            "paste" => Judgement::Facets(judge_paste(case.input, case.expect)),
            _ => Judgement::NotCovered,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn judge_keys(input: &Value, expect: &Value) -> Vec<Facet> {
    let mode = match input["cursorKeyMode"].as_str() {
        None => CursorKeys::Unknown,
        Some("application") => CursorKeys::Application,
        Some(other) => {
            assert_eq!(other, "normal");
            CursorKeys::Normal
        }
    };
    let (hexes, names) = (strings(&input["hex"]), strings(&input["keys"]));
    let literal = input["literal"].as_str().unwrap_or_default();
    let (bytes, warnings, sensitive) =
        match keys::encode(&Request { literal, hex: &hexes, keys: &names }, mode) {
            Ok(sent) => (sent.bytes, sent.warnings, sent.cursor_sensitive),
            // Upstream encodes nothing and refuses later; creel refuses at once.
            Err(KeyError::Nothing { warnings }) => (Vec::new(), warnings, false),
            Err(error) => panic!("{input}: {error}"),
        };
    let mut facets = Vec::new();
    differ(&mut facets, "hex", &expect["hex"], json!(hex(&bytes)));
    differ(&mut facets, "cursorSensitive", &expect["cursorSensitive"], json!(sensitive));
    said(&mut facets, &strings(&expect["warnings"]), &warnings);
    facets
}

/// Warnings that upstream knows are compared one by one; those that only creel has are differences of their own.
fn said(facets: &mut Vec<Facet>, upstream: &[String], creel: &Warnings) {
    let own = |warning: &&Warning| {
        matches!(warning, Warning::SentAsText { .. } | Warning::CursorKeysUnknown { .. })
    };
    let (own, shared): (Vec<&Warning>, Vec<&Warning>) = creel.kept().iter().partition(own);
    for place in 0..upstream.len().max(shared.len()) {
        let theirs = json!(upstream.get(place));
        differ(facets, "warning", &theirs, json!(shared.get(place).map(ToString::to_string)));
    }
    for warning in own {
        let part = match warning {
            Warning::SentAsText { .. } => "sentAsText",
            _ => "cursorKeysUnknown",
        };
        differ(facets, part, &Value::Null, json!(warning.to_string()));
    }
}

fn judge_paste(input: &Value, expect: &Value) -> Vec<Facet> {
    let (text, bracketed) = (input["text"].as_str().unwrap(), input["bracketed"].as_bool().unwrap_or(true));
    let sent = match keys::paste(text, bracketed) {
        Ok(paste) => hex(&paste.bytes),
        Err(KeyError::NoText) => String::new(),
        Err(error) => panic!("{input}: {error}"),
    };
    let mut facets = Vec::new();
    differ(&mut facets, "hex", &expect["hex"], json!(sent));
    for facet in &mut facets {
        facet.kind = Difference::Stricter;
    }
    facets
}

fn differ(facets: &mut Vec<Facet>, part: &str, upstream: &Value, creel: Value) {
    if *upstream != creel {
        let (part, upstream) = (part.to_owned(), upstream.clone());
        facets.push(Facet { part, upstream, creel, kind: Difference::Other });
    }
}

const RULES: &[Rule] = &[
    Rule {
        name: "keys-paste-marker",
        direction: Direction::Stricter,
        applies: |facts| {
            let text = facts.input["text"].as_str().unwrap_or_default();
            let bracketed = facts.input["bracketed"].as_bool().unwrap_or(true);
            facts.kind == "paste" && bracketed && text.contains("\x1b[201~") && only_last_marker(facts)
        },
    },
    Rule {
        name: "keys-cursor-unannounced",
        direction: Direction::Other,
        applies: |facts| facts.part == "cursorKeysUnknown" && facts.input["cursorKeyMode"].is_null(),
    },
    Rule {
        name: "keys-nearest",
        direction: Direction::Other,
        applies: |facts| {
            let (Some(upstream), Some(creel)) = (facts.upstream.as_str(), facts.creel.as_str()) else {
                return false;
            };
            let added =
                creel.strip_prefix(upstream).is_some_and(|rest| rest.starts_with(" The nearest known"));
            facts.part == "warning" && added
        },
    },
    Rule {
        name: "keys-sent-as-text",
        direction: Direction::Other,
        applies: |facts| facts.part == "sentAsText" && facts.upstream.is_null(),
    },
    Rule {
        name: "keys-scalar",
        direction: Direction::Other,
        applies: |facts| {
            let outside = |key: &String| key.chars().last().is_some_and(|last| last > '\u{ffff}');
            ["hex", "warning"].contains(&facts.part) && strings(&facts.input["keys"]).iter().any(outside)
        },
    },
];

/// The brackets hold: what creel sends has one end marker, at its end.
fn only_last_marker(facts: &Facts<'_>) -> bool {
    const END: &str = "1b5b3230317e";
    facts.creel.as_str().is_some_and(|sent| sent.find(END) == sent.len().checked_sub(END.len()))
}
