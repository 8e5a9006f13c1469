//! `explain.json`: the object that `sandbox explain --json` prints, part by part.

use std::path::Path;

use creel::config::{Config, ConfigError, Places, SubjectError};
use creel::explain::{Live, explain};
use creel::session::{SessionError, slug};
use serde_json::{Value, json};

use crate::harness::{Area, Case, Difference, Direction, Facet, Facts, Judgement, Rule};

const HOME: &str = "/home/somebody";

/// The area.
#[derive(Debug, Default)]
pub(crate) struct Explain;

impl Area for Explain {
    fn name(&self) -> &'static str {
        "explain"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let expect = fill(case);
        let answer = answer(case.input);
        let class = expect["errorClass"].as_str();
        let whole = |kind, creel: Value| {
            vec![Facet { part: "verdict".to_owned(), upstream: expect["errorClass"].clone(), creel, kind }]
        };
        Judgement::Facets(match (class, answer) {
            (None, Ok(creel)) => {
                let mut facets = Vec::new();
                compare("", &expect["output"], &creel, &mut facets);
                facets
            }
            (Some(class), Err(creel)) if class == creel => Vec::new(),
            (Some(_), Err(creel)) => whole(Difference::Other, json!(creel)),
            (None, Err(creel)) => whole(Difference::Stricter, json!(creel)),
            (Some(_), Ok(creel)) => whole(Difference::Looser, creel["agentId"].clone()),
        })
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

/// Which class of error a request ends in, or the object.
fn answer(input: &Value) -> Result<Value, &'static str> {
    let var = |name: &str| (name == "VEC_ROOT").then(|| "/srv/vec".to_owned());
    let text = input["config"].as_str().unwrap_or("{}").replace("${HOME}", HOME);
    let config = Config::parse(&text, Path::new("/c/openclaw.json"), &var).map_err(|error| match error {
        // Upstream calls it invalid where the text is JSON5 and no object.
        ConfigError::Syntax { message, .. } if !message.contains("top level") => "syntax",
        _ => "invalid-config",
    })?;
    let subject = config.subject(input["args"]["agent"].as_str(), input["args"]["session"].as_str());
    let places = Places { home: Some(HOME.into()), state: Path::new(HOME).join(".openclaw") };
    let explained = subject.and_then(|subject| explain(&config, &places, &subject, Live::default()));
    let explained = explained.map_err(|error| match error {
        SubjectError::Session(SessionError::BlankAgent(_)) => "blank-agent",
        SubjectError::Session(SessionError::OtherAgent { .. }) => "other-agent",
        SubjectError::Session(_) => "session-key",
        SubjectError::Config(ConfigError::UnknownAgent { .. }) => "unknown-agent",
        SubjectError::Config(_) => "invalid-config",
    })?;
    Ok(serde_json::to_value(explained).unwrap())
}

/// The expected answer with the placeholders filled in.
fn fill(case: &Case<'_>) -> Value {
    let mut text = case.expect.to_string();
    if let Some(parts) = case.expect["slug"].as_object() {
        let part = |name: &str| parts[name].as_str().unwrap().replace("${HOME}", HOME);
        let workspace = creel::session::digest(&part("agentWorkspaceDir"));
        text = text.replace("${SLUG}", &slug(&format!("{}:workspace:{workspace}", part("scopeKeyPrefix"))));
    }
    serde_json::from_str(&text.replace("${HOME}", HOME)).unwrap()
}

/// One facet for each part of upstream's object that creel has otherwise. What creel has beyond it lies in `creel`.
fn compare(part: &str, upstream: &Value, creel: &Value, facets: &mut Vec<Facet>) {
    if let (Some(one), Some(other)) = (upstream.as_object(), creel.as_object()) {
        let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let own = |name: &str| part.is_empty() && matches!(name, "creel" | "docsUrl");
        for name in names.into_iter().filter(|name| !own(name)) {
            let path = if part.is_empty() { name.clone() } else { format!("{part}.{name}") };
            compare(&path, &upstream[name.as_str()], &creel[name.as_str()], facets);
        }
    } else if upstream != creel {
        let kind = match part {
            "sandbox.sessionIsSandboxed" if upstream == true => Difference::Looser,
            _ => Difference::Other,
        };
        facets.push(Facet { part: part.to_owned(), upstream: upstream.clone(), creel: creel.clone(), kind });
    }
}

macro_rules! rule {
    ($name:literal, $direction:ident, $applies:expr) => {
        Rule { name: $name, direction: Direction::$direction, applies: $applies }
    };
}

const RULES: &[Rule] = &[
    rule!("agents-without-ownership", Looser, without_ownership),
    rule!("agents-without-ownership", Other, without_ownership),
    rule!("agents-default-with-ownership", Looser, |facts| {
        refused(facts, "invalid-config")
            && explicit(facts)
            && agents(facts).iter().any(|agent| agent["default"] == true)
    }),
    rule!("agents-first-is-default", Looser, |facts| {
        let nobody = facts.input["args"]["agent"].is_null() && facts.input["args"]["session"].is_null();
        refused(facts, "other") && explicit(facts) && nobody
    }),
    rule!("unknown-sections", Looser, |facts| {
        let known = ["agents", "tools", "session", "channels", "commands", "approvals"];
        let root = config(facts);
        refused(facts, "invalid-config")
            && root.as_object().is_some_and(|root| root.keys().any(|key| !known.contains(&key.as_str())))
    }),
    rule!("tool-empty-allow", Stricter, |facts| {
        facts.creel == "invalid-config" && config(facts)["tools"]["sandbox"]["tools"]["allow"] == json!([])
    }),
    rule!("session-of-unknown-agent", Stricter, |facts| facts.creel == "unknown-agent"),
    rule!("session-key-case", Looser, key_case),
    rule!("session-key-case", Other, key_case),
    rule!("shared-workspace", Other, |facts| {
        let shared = config(facts)["agents"]["defaults"]["sandbox"]["scope"] == "shared";
        let flat = facts.creel.to_string().replace("/shared\"", "\"");
        shared && serde_json::from_str::<Value>(&flat).is_ok_and(|flat| flat == *facts.upstream)
    }),
    rule!("workdir-cleaned", Other, |facts| {
        let clean = |value: &Value| Some(creel::paths::lexical::clean(value.as_str()?).display().to_string());
        facts.part == "sandbox.runtimeWorkdir" && clean(facts.upstream).as_deref() == facts.creel.as_str()
    }),
];

fn refused(facts: &Facts<'_>, class: &str) -> bool {
    facts.part == "verdict" && facts.upstream == class
}

fn config(facts: &Facts<'_>) -> Value {
    json5::from_str(facts.input["config"].as_str().unwrap_or("{}")).unwrap_or_default()
}

fn agents(facts: &Facts<'_>) -> Vec<Value> {
    let agents = &config(facts)["agents"];
    let entries = agents["entries"].as_object().into_iter().flat_map(|map| map.values());
    entries.chain(agents["list"].as_array().into_iter().flatten()).cloned().collect()
}

fn explicit(facts: &Facts<'_>) -> bool {
    config(facts)["agents"]["ownership"] == "explicit"
}

/// Upstream refuses the file; what creel says instead, a refusal included, is about something else.
fn without_ownership(facts: &Facts<'_>) -> bool {
    refused(facts, "invalid-config") && !explicit(facts) && agents(facts).len() > 1
}

/// A main session that is not written in lower case; upstream sandboxes it under `non-main`.
fn key_case(facts: &Facts<'_>) -> bool {
    let key = facts.input["args"]["session"].as_str().unwrap_or_default();
    key.to_lowercase() != key && key.to_lowercase().ends_with(":main")
}
