//! `tool-policy.json`: the pipeline, the sandbox's lists, and the parts that they are made of.

use std::path::Path;

use creel::config::{Config, ConfigError};
use creel::policy::{
    Caller, Kind, List, Lists, Policy, Profile, Rules, Scope, Sifted, Tool, mcp, name, tables,
};
use creel::session::AgentId;
use serde_json::{Map, Value, json};

use crate::harness::{Area, Case, Difference, Direction, Facts, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct ToolPolicy;

impl Area for ToolPolicy {
    fn name(&self) -> &'static str {
        "tool-policy"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let (input, expect) = (case.input, case.expect);
        match case.kind {
            "pipeline" => configured(input, expect, |config| pipeline(config, &universe(case.file), input)),
            "sandboxPolicy" => configured(input, expect, |config| sandbox_policy(config, input)),
            "sandboxClassify" => lists(input, expect, classify),
            "match" => lists(input, expect, matches),
            "normalizeName" => same(expect, json!({"value": name::normal(input["name"].as_str().unwrap())})),
            "expandGroup" => same(expect, json!({"value": name::expand(texts(&input["list"]))})),
            "profile" => same(expect, profile(input["profile"].as_str().unwrap())),
            "mcpServerDenied" => {
                let deny = list(&input["deny"]);
                let server = input["server"].as_str().unwrap();
                same(expect, json!({"excluded": mcp::server_denied(&deny.entries, server)}))
            }
            _ => Judgement::NotCovered,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

macro_rules! refused {
    // The configuration is refused for this reason and no other; read as upstream reads it, the verdicts agree.
    ($name:literal, $applies:expr) => {
        Rule {
            name: $name,
            direction: Direction::Stricter,
            applies: |facts| {
                facts.creel["agreesOtherwise"] == json!(true)
                    && facts.creel["refused"].as_array().is_some_and(|all| all.contains(&json!($name)))
                    && $applies(facts)
            },
        }
    };
}

const RULES: &[Rule] = &[
    refused!("tool-empty-allow", |facts: &Facts<'_>| any(facts.input, &|name, value| {
        name == "allow"
            && value.as_array().is_some_and(|list| texts_of(list).all(|text| text.trim().is_empty()))
    })),
    refused!("tool-unknown-profile", |facts: &Facts<'_>| any(facts.input, &|name, value| {
        name == "profile" && value.as_str().is_some_and(|text| Profile::parse(text).is_none())
    })),
    refused!("tool-allow-and-also", |facts: &Facts<'_>| any(facts.input, &|_, value| {
        let filled = |name: &str| value[name].as_array().is_some_and(|list| !list.is_empty());
        filled("allow") && filled("alsoAllow")
    })),
    refused!("tool-blank-provider", |facts: &Facts<'_>| any(facts.input, &|name, value| {
        name == "byProvider"
            && value.as_object().is_some_and(|all| all.keys().any(|key| key.trim().is_empty()))
    })),
    Rule { name: "tool-group-openclaw", direction: Direction::Stricter, applies: whole_group },
    Rule { name: "tool-group-openclaw", direction: Direction::Looser, applies: whole_group },
    Rule { name: "tool-image-entry", direction: Direction::Stricter, applies: image_entry },
    Rule { name: "tool-image-entry", direction: Direction::Looser, applies: image_entry },
    Rule {
        name: "tool-one-matcher",
        direction: Direction::Looser,
        applies: |facts| {
            facts.kind == "sandboxClassify"
                && facts.input["tool"].as_str().is_some_and(|tool| name::normal(tool) == "apply_patch")
                && facts.upstream["blockedByAllow"] == json!(true)
                && texts(&facts.input["policy"]["allow"]).any(|text| text == "write" || text.contains('*'))
        },
    },
];

fn whole_group(facts: &Facts<'_>) -> bool {
    let left_out = ["exec", "process", "read", "write", "edit", "ls", "apply_patch"];
    let named = any(facts.input, &|_, value| {
        value.as_str().is_some_and(|text| name::normal(text) == tables::GROUP_ALL)
    });
    named && difference(facts).iter().all(|tool| left_out.contains(&tool.as_str()))
}

fn image_entry(facts: &Facts<'_>) -> bool {
    let named =
        any(facts.input, &|_, value| value.as_str().is_some_and(|text| name::normal(text) == "image"));
    named && difference(facts) == ["view_image"]
}

/// Tools that one side has and the other has not.
fn difference(facts: &Facts<'_>) -> Vec<String> {
    let names = |verdict: &Value| -> Vec<String> {
        let list = ["allowed", "value"].iter().find_map(|key| verdict[*key].as_array());
        list.into_iter().flat_map(|list| texts_of(list)).map(str::to_owned).collect()
    };
    let (upstream, creel) = (names(facts.upstream), names(facts.creel));
    let only = |one: &[String], other: &[String]| {
        one.iter().filter(|name| !other.contains(name)).cloned().collect::<Vec<_>>()
    };
    [only(&upstream, &creel), only(&creel, &upstream)].concat()
}

/// Whether any value below says so; the first argument is the name of its member.
fn any(value: &Value, says: &dyn Fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(name, inner)| says(name, inner) || any(inner, says)),
        Value::Array(list) => list.iter().any(|inner| says("", inner) || any(inner, says)),
        _ => false,
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flat_map(|list| texts_of(list))
}

fn texts_of(list: &[Value]) -> impl Iterator<Item = &str> {
    list.iter().filter_map(Value::as_str)
}

fn list(value: &Value) -> List {
    List::built_in("list", &texts(value).collect::<Vec<_>>())
}

/// The tools of the file, in its order.
fn universe(file: &Value) -> Vec<Tool> {
    let owners = &file["tools"]["plugin"];
    texts(&file["tools"]["order"])
        .map(|name| match owners[name].as_str() {
            Some(owner) => Tool::owned(name, owner),
            None => Tool::new(name),
        })
        .collect()
}

fn parse(config: &Value) -> Result<Config, ConfigError> {
    Config::parse(&config.to_string(), Path::new("openclaw.json"), &|_| None)
}

fn agent(input: &Value) -> AgentId {
    AgentId::parse(input["agentId"].as_str().unwrap()).unwrap()
}

/// A case with a configuration. One that creel refuses is repaired in upstream's sense and judged again.
fn configured(input: &Value, expect: &Value, judge: impl Fn(&Config) -> Value) -> Judgement {
    let refused = match parse(&input["config"]) {
        Ok(config) => return same(expect, judge(&config)),
        Err(ConfigError::Invalid { problems, .. }) => problems,
        Err(error) => panic!("{error}"),
    };
    let rule = |key: &str| match key.rsplit('.').next().unwrap_or_default() {
        "allow" => "tool-empty-allow",
        "profile" => "tool-unknown-profile",
        "alsoAllow" => "tool-allow-and-also",
        last if last.starts_with("byProvider[") => "tool-blank-provider",
        _ => "unexpected",
    };
    let rules: Vec<&str> = refused.iter().map(|problem| rule(&problem.key)).collect();
    let mut config = input["config"].clone();
    repair(&mut config);
    config["tools"]["dangerouslyAllowEmptyPolicy"] = json!(true);
    let verdict = parse(&config).map(|config| judge(&config));
    let agrees = verdict.as_ref().is_ok_and(|verdict| verdict == expect);
    let verdict = verdict.unwrap_or_else(|error| json!(error.to_string()));
    let creel = json!({"refused": rules, "agreesOtherwise": agrees, "otherwise": verdict});
    Judgement::Differs { creel, kind: Difference::Stricter }
}

/// Additions go where they are added to, blank providers go away.
fn repair(value: &mut Value) {
    let Value::Object(map) = value else { return };
    let filled = |list: Option<&Value>| list.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if filled(map.get("allow")) && filled(map.get("alsoAllow")) {
        let more = map.remove("alsoAllow").unwrap();
        map["allow"].as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
    }
    if let Some(Value::Object(providers)) = map.get_mut("byProvider") {
        providers.retain(|name, _| !name.trim().is_empty());
    }
    map.values_mut().for_each(repair);
}

fn pipeline(config: &Config, tools: &[Tool], input: &Value) -> Value {
    let caller = Caller {
        provider: input["modelProvider"].as_str(),
        model: input["modelId"].as_str(),
        sandboxed: input["sandboxed"] == json!(true),
        ..Caller::default()
    };
    let policy = config.tool_policy(&agent(input), &caller);
    let sifted = policy.sift(tools);
    for judged in &sifted.tools {
        assert_eq!(policy.verdict(&judged.tool), judged.verdict(), "explained and enforced");
    }
    json!({"allowed": sifted.allowed().map(Tool::shown).collect::<Vec<_>>(), "removedBy": removed_by(&sifted)})
}

fn removed_by(sifted: &Sifted) -> Value {
    let mut all = Map::new();
    for (tool, removal) in sifted.removed() {
        let names = all.entry(removal.layer.clone()).or_insert_with(|| json!([]));
        names.as_array_mut().unwrap().push(json!(tool.shown()));
    }
    Value::Object(all)
}

fn sandbox_policy(config: &Config, input: &Value) -> Value {
    let tools = config.sandbox_tools(&agent(input));
    let names =
        |entries: &[creel::policy::Entry]| entries.iter().map(|entry| json!(entry.text)).collect::<Vec<_>>();
    json!({
        "allow": names(&tools.allow),
        "deny": names(&tools.deny),
        "sources": {"allow": tools.allow_source, "deny": tools.deny_source},
    })
}

/// A case with bare lists, as they are and as upstream reads an empty list of what is allowed.
fn lists(input: &Value, expect: &Value, judge: fn(&Policy, &Tool) -> Value) -> Judgement {
    let optional = |name: &str| input["policy"][name].is_array().then(|| list(&input["policy"][name]));
    let lists = Lists { allow: optional("allow"), also_allow: None, deny: optional("deny") };
    let blank = lists.allow.as_ref().is_some_and(List::is_blank);
    let global = Scope { lists, ..Scope::default() };
    let tool = Tool::new(input["tool"].as_str().unwrap());
    let verdict = |empty_allow_is_all| {
        let rules = Rules { global: &global, agent: None, empty_allow_is_all };
        judge(&Policy::new(&rules, &Caller::default()), &tool)
    };
    if !blank || verdict(false) == *expect {
        return same(expect, verdict(false));
    }
    let agrees = verdict(true) == *expect;
    let creel =
        json!({"refused": ["tool-empty-allow"], "agreesOtherwise": agrees, "otherwise": verdict(false)});
    Judgement::Differs { creel, kind: Difference::Stricter }
}

fn classify(policy: &Policy, tool: &Tool) -> Value {
    let kind = policy.judge(tool).removal.map(|removal| removal.kind);
    json!({"blockedByDeny": kind == Some(Kind::Deny), "blockedByAllow": kind == Some(Kind::Allow)})
}

fn matches(policy: &Policy, tool: &Tool) -> Value {
    json!({"allowed": policy.judge(tool).removal.is_none()})
}

fn profile(name: &str) -> Value {
    match Profile::parse(name) {
        Some(profile) => json!({"allow": name::expand(profile.allow().iter().copied())}),
        None => json!({"none": true}),
    }
}

fn same(expect: &Value, creel: Value) -> Judgement {
    if *expect == creel {
        return Judgement::Equal;
    }
    let kind = direction(expect, &creel);
    Judgement::Differs { creel, kind }
}

/// Which side lets more through.
fn direction(expect: &Value, creel: &Value) -> Difference {
    if let (Some(upstream), Some(own)) = (expect["allowed"].as_bool(), creel["allowed"].as_bool()) {
        return if upstream && !own { Difference::Stricter } else { Difference::Looser };
    }
    if expect["blockedByAllow"].is_boolean() {
        let blocked = |verdict: &Value| {
            ["blockedByDeny", "blockedByAllow"].iter().any(|key| verdict[*key] == json!(true))
        };
        return match (blocked(expect), blocked(creel)) {
            (true, false) => Difference::Looser,
            (false, true) => Difference::Stricter,
            _ => Difference::Other,
        };
    }
    // A group with more members, or a list with more tools.
    for key in ["allowed", "value"] {
        if expect[key].is_array() {
            let has = |one: &Value, other: &Value| {
                texts(&other[key]).all(|name| texts(&one[key]).any(|own| own == name))
            };
            return match (has(creel, expect), has(expect, creel)) {
                (true, false) => Difference::Looser,
                (false, true) => Difference::Stricter,
                _ => Difference::Other,
            };
        }
    }
    Difference::Other
}
