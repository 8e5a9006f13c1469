//! `policy.json`: modes, the prompt rule, the approvals document, what holds for an agent or a session.

use std::path::Path;

use creel::approvals::document::{AgentRules, Document, Found, hold};
use creel::approvals::policy::{
    self, Answer, Decision, Denial, Effective, Facts, Host, Layers, ModePolicy, Persistence, Requested,
    Session, Sourced, State, words,
};
use creel::config::Config;
use creel::config::exec::{Ask, ExecLayer, Security};
use creel::config::reader::Set;
use creel::session::AgentId;
use serde_json::{Map, Value, json};

use super::policy_facets::facets;
use crate::harness::{Area, Case, Difference, Direction, Facts as RuleFacts, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct Policy;

impl Area for Policy {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let (input, expect) = (case.input, case.expect);
        let creel = match case.kind {
            "minSecurity" => json!({"value": security(&input["a"]).min(security(&input["b"]))}),
            "maxAsk" => json!({"value": ask(&input["a"]).max(ask(&input["b"]))}),
            "modePolicy" => mode_policy(input),
            "requiresApproval" => requires(input),
            "allowedDecisions" => allowed(input),
            "normalize" => normalize(input["value"].as_str().unwrap()),
            "decisionState" => decision_state(input),
            "persisted" => persisted(input["raw"].as_str().unwrap()),
            "persistedResolve" => persisted_resolve(input),
            "scope" => return scope_case(input, expect),
            "approvalsFile" => return object(&input["file"], expect, |held| approvals_file(input, held)),
            "defaults" => return defaults_case(input, expect),
            _ => return Judgement::NotCovered,
        };
        Judgement::Facets(facets(expect, &creel))
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

const RULES: &[Rule] = &[
    // Objects that upstream never reads from a file as they are; from a file it refuses them too.
    Rule {
        name: "approvals-malformed",
        direction: Direction::Stricter,
        applies: |facts| {
            matches!(facts.kind, "scope" | "approvalsFile" | "defaults")
                && facts.creel["malformed"].is_string()
        },
    },
    Rule {
        name: "approvals-legacy-default",
        direction: Direction::Stricter,
        applies: |facts| facts.kind == "scope" && facts.input["approvals"]["agents"].get("default").is_some(),
    },
    Rule { name: "approvals-agent-case", direction: Direction::Stricter, applies: agent_case },
    Rule { name: "approvals-agent-case", direction: Direction::Other, applies: agent_case },
    Rule {
        name: "approvals-command-text",
        direction: Direction::Other,
        applies: |facts| facts.part.ends_with(".commandText") && facts.upstream.is_null(),
    },
    Rule {
        name: "approvals-unknown-keys",
        direction: Direction::Other,
        applies: |facts| {
            facts.kind == "persisted" && facts.part.starts_with("value") && facts.upstream.is_null()
        },
    },
    Rule {
        name: "approvals-null-usage",
        direction: Direction::Looser,
        applies: |facts| {
            let text = facts.input["raw"].as_str().unwrap_or_default().replace(' ', "");
            let told = ["error", "parseError"]
                .iter()
                .any(|key| facts.upstream[*key].as_str().is_some_and(|text| text.contains(".lastUsed")));
            told && ["\"lastUsedAt\":null", "\"lastUsedCommand\":null"].iter().any(|part| text.contains(part))
        },
    },
    Rule {
        name: "exec-mode-and-pair",
        direction: Direction::Stricter,
        applies: |facts| {
            let both = |exec: &Value| {
                exec.get("mode").is_some() && (exec.get("security").is_some() || exec.get("ask").is_some())
            };
            facts.creel["agreesOtherwise"] == json!(true)
                && ["globalExec", "agentExec"].iter().any(|name| both(&facts.input[*name]))
        },
    },
    Rule {
        name: "approval-timeout-denies",
        direction: Direction::Stricter,
        applies: |facts| facts.kind == "decisionState" && facts.input["decision"].is_null(),
    },
    Rule {
        name: "approval-malformed-denies",
        direction: Direction::Stricter,
        applies: |facts| {
            facts.kind == "decisionState"
                && facts.part == "deniedReason"
                && facts.input["decision"].as_str().is_some_and(|word| Decision::parse(word).is_none())
        },
    },
    Rule {
        name: "session-full-keeps-document",
        direction: Direction::Stricter,
        applies: |facts| {
            facts.kind == "defaults" && facts.input["sessionEntry"]["permissionMode"] == json!("full")
        },
    },
    Rule {
        name: "exec-node-from-auto",
        direction: Direction::Looser,
        applies: |facts| {
            facts.part == "canRequestNode"
                && facts.input["sandboxAvailable"] == json!(true)
                && facts.input["sessionEntry"]["sandbox"] != json!("required")
        },
    },
];

/// An agent's key that is not written as its id is.
fn agent_case(facts: &RuleFacts<'_>) -> bool {
    let raw = facts.input["raw"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let document = [&facts.input["approvals"], &facts.input["file"], &facts.input["execApprovals"]]
        .into_iter()
        .find(|value| value.is_object())
        .or(raw.as_ref());
    let agents = document.and_then(|document| document["agents"].as_object());
    agents.is_some_and(|agents| agents.keys().any(|key| key.to_lowercase() != *key))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn security(value: &Value) -> Security {
    words::security(text(value)).unwrap()
}

fn ask(value: &Value) -> Ask {
    words::ask(text(value)).unwrap()
}

fn mode_policy(input: &Value) -> Value {
    let policy = match input["mode"].as_str() {
        Some(mode) => ModePolicy::of(words::mode(mode).unwrap()),
        None => ModePolicy::pair(security(&input["security"]), ask(&input["ask"])),
    };
    json!({
        "mode": policy.mode(), "security": policy.security, "ask": policy.ask, "autoReview": policy.reviewer(),
    })
}

fn requires(input: &Value) -> Value {
    let flag = |name: &str| input[name].as_bool().unwrap();
    let facts = Facts {
        analysed: flag("analysisOk"),
        listed: flag("allowlistSatisfied"),
        durable: flag("durableApprovalSatisfied"),
        ..Facts::default()
    };
    let policy = ModePolicy::pair(security(&input["security"]), ask(&input["ask"]));
    json!({"required": policy::requires_approval(policy, &facts)})
}

fn allowed(input: &Value) -> Value {
    let persistence = match input["persistence"].as_str() {
        Some("one-shot") => Some(Persistence::OneShot),
        Some(_) => Some(Persistence::Patterns),
        None => None,
    };
    json!({"decisions": policy::answer::allowed(input["ask"].as_str().and_then(words::ask), persistence)})
}

fn normalize(text: &str) -> Value {
    json!({
        "security": words::security(text), "ask": words::ask(text), "mode": words::mode(text),
        "host": words::host(text), "target": words::target(text),
    })
}

fn decision_state(input: &Value) -> Value {
    let answer = match input["decision"].as_str() {
        None => Answer::TimedOut,
        Some(word) => Answer::heard(word, &policy::answer::allowed(None, None)),
    };
    let needs_answer = input["requiresInlineEvalApproval"] == json!(true);
    let state = policy::answer::state(answer, security(&input["askFallback"]), needs_answer);
    let denied = match state {
        State::Denied(denial) => Some(denial),
        State::Approved | State::IfListed => None,
    };
    json!({
        "approved": state == State::Approved,
        "deniedReason": denied.map(Denial::reason),
        "timedOut": answer == Answer::TimedOut,
    })
}

fn parse(text: &str) -> Result<Document, String> {
    Document::parse(text, Path::new("exec-approvals.json")).map_err(|error| error.diagnostic())
}

fn persisted(raw: &str) -> Value {
    match parse(raw) {
        Ok(document) => json!({"ok": true, "value": document}),
        Err(error) => json!({"ok": false, "error": error}),
    }
}

fn agent_id(value: &Value) -> Option<AgentId> {
    value.as_str().map(|text| AgentId::parse(text).unwrap())
}

/// A built-in `full` and `off` under the document, as without a configuration; or what the caller asks for.
fn for_agent(rules: &AgentRules<'_>, overrides: &Value) -> Value {
    let (base, asked) = (words::security(text(&overrides["security"])), words::ask(text(&overrides["ask"])));
    json!({
        "security": rules.security.as_ref().map_or(base.unwrap_or(Security::Full), |set| set.value),
        "ask": rules.ask.as_ref().map_or(asked.unwrap_or(Ask::Off), |set| set.value),
        "askFallback": rules.ask_fallback.as_ref().map_or(Security::Deny, |set| set.value),
        "autoAllowSkills": rules.auto_allow_skills.as_ref().is_some_and(|set| set.value),
    })
}

fn resolved(document: &Document, input: &Value) -> Map<String, Value> {
    let agent = agent_id(&input["agentId"]);
    let rules = document.rules(agent.as_ref());
    let key = |set: Option<&str>| set.map(str::to_owned);
    let value = json!({
        "agent": for_agent(&rules, &input["overrides"]),
        "agentSources": {
            "security": key(rules.security.as_ref().map(|set| set.key.as_str())),
            "ask": key(rules.ask.as_ref().map(|set| set.key.as_str())),
            "askFallback": key(rules.ask_fallback.as_ref().map(|set| set.key.as_str())),
        },
        "allowlist": rules.allowlist,
    });
    value.as_object().unwrap().clone()
}

fn persisted_resolve(input: &Value) -> Value {
    let raw = input["raw"].as_str().unwrap();
    let held = hold(&Found::Text(raw), Path::new("exec-approvals.json"), None);
    let mut value = resolved(&held.document, input);
    value.insert("parsed".to_owned(), json!(held.standing.problem().is_none()));
    if let Some(problem) = held.standing.problem() {
        value.insert("parseError".to_owned(), json!(problem.diagnostic()));
    }
    Value::Object(value)
}

/// Judges an object as the file that it would be. One that is refused is a closed document: nothing runs.
fn object(file: &Value, expect: &Value, answer: impl Fn(&Document) -> Value) -> Judgement {
    match parse(&file.to_string()) {
        Ok(document) => Judgement::Facets(facets(expect, &answer(&document))),
        Err(malformed) => {
            let mut creel = answer(&Document::closed());
            let denied = [&creel["agent"]["security"], &creel["security"]["effective"], &creel["security"]]
                .iter()
                .any(|value| **value == json!("deny"));
            creel["malformed"] = json!(malformed);
            let kind = if denied { Difference::Stricter } else { Difference::Looser };
            Judgement::Differs { creel, kind }
        }
    }
}

fn approvals_file(input: &Value, document: &Document) -> Value {
    let mut value = resolved(document, input);
    let defaults = Document { agents: Vec::new(), ..document.clone() };
    value.insert("defaults".to_owned(), for_agent(&defaults.rules(None), &input["overrides"]));
    Value::Object(value)
}

/// A block `tools.exec` without the rules of a whole file.
fn layer(block: &Value, key: &str) -> Option<ExecLayer> {
    let set = |name: &str| format!("{key}{name}");
    block.as_object()?;
    Some(ExecLayer {
        host: words::target(text(&block["host"])).map(|value| Set { value, key: set("host") }),
        mode: words::mode(text(&block["mode"])).map(|value| Set { value, key: set("mode") }),
        security: words::security(text(&block["security"])).map(|value| Set { value, key: set("security") }),
        ask: words::ask(text(&block["ask"])).map(|value| Set { value, key: set("ask") }),
        ..ExecLayer::default()
    })
}

fn scope_case(input: &Value, expect: &Value) -> Judgement {
    let judged = object(&input["approvals"], expect, |document| scope(input, document));
    let mut config = json!({"tools": {"exec": input["globalExec"]}});
    if input["globalExec"].is_null() {
        config = json!({});
    }
    if !input["agentExec"].is_null() {
        let agent = input["agentId"].as_str().unwrap_or("main");
        config["agents"] = json!({"entries": {agent: {"tools": {"exec": input["agentExec"]}}}});
    }
    let agrees = matches!(&judged, Judgement::Facets(facets) if facets.is_empty());
    match Config::parse(&config.to_string(), Path::new("openclaw.json"), &|_| None) {
        Ok(_) => judged,
        Err(error) => Judgement::Differs {
            creel: json!({"refused": error.to_string(), "agreesOtherwise": agrees}),
            kind: Difference::Stricter,
        },
    }
}

fn scope(input: &Value, document: &Document) -> Value {
    let (global, agent) = (
        layer(&input["globalExec"], "tools.exec."),
        layer(&input["agentExec"], "agents.entries.*.tools.exec."),
    );
    let layers = Layers { global: global.as_ref(), agent: agent.as_ref(), ..Layers::default() };
    let id = agent_id(&input["agentId"]);
    let host = Host { locator: "${APPROVALS}", rules: document.rules(id.as_ref()) };
    let effective = policy::effective(&Requested::of(&layers, false), &[host]);
    let mut scope = serde_json::to_value(policy::report::scope(&effective, None)).unwrap();
    for name in ["mode", "security", "ask", "host"] {
        let column = scope[name].as_object_mut().unwrap();
        column.retain(|key, _| matches!(key.as_str(), "requested" | "host" | "effective"));
    }
    scope
        .as_object_mut()
        .unwrap()
        .retain(|key, _| !matches!(key.as_str(), "scopeLabel" | "runtimeApprovalsSource"));
    scope["allowedDecisions"] = json!(policy::answer::allowed(Some(effective.policy().ask), None));
    scope
}

fn defaults_case(input: &Value, expect: &Value) -> Judgement {
    let config = Config::parse(&input["cfg"].to_string(), Path::new("openclaw.json"), &|_| None).unwrap();
    // That it is refused is the verdict; the words are each one's own.
    let refused = |document: &Document| {
        let creel = defaults(input, &config, document);
        if creel["error"].is_string() && expect["error"].is_string() { expect.clone() } else { creel }
    };
    object(&input["execApprovals"], expect, refused)
}

fn defaults(input: &Value, config: &Config, document: &Document) -> Value {
    let id = agent_id(&input["agentId"]).unwrap_or_else(|| config.default_agent());
    let (global, agent) = config.exec_layers(&id);
    let session = layer(&input["execOverrides"], "/exec ");
    let session = Session {
        layers: Layers {
            global: Some(global),
            agent,
            permission: input["sessionEntry"]["permissionMode"].as_str().and_then(words::permission),
            session: session.as_ref(),
        },
        sandbox: input["sandboxAvailable"] == json!(true),
        required: input["sessionEntry"]["sandbox"] == json!("required"),
        elevated: input["elevatedRequested"] == json!(true),
    };
    let host = Host { locator: "exec-approvals.json", rules: document.rules(Some(&id)) };
    match policy::resolve(&session, &[host]) {
        Ok(found) => {
            let Effective { host: Sourced { value: host, .. }, .. } = &found.effective;
            let policy = found.effective.policy();
            json!({
                "host": host, "effectiveHost": found.target, "mode": policy.mode(), "security": policy.security,
                "ask": policy.ask, "canRequestNode": found.routing.may_name_node(),
            })
        }
        Err(error) => json!({"error": error.to_string()}),
    }
}
