//! `creel tools list`: reads the configuration, needs no engine.

use serde_json::Value;

use crate::home::Home;

const CONFIG: &str = r#"{
  tools: {
    profile: "coding",
    alsoAllow: ["browser", "brwoser"],
    deny: ["group:web"],
    byProvider: { "openai/gpt-5": { deny: ["read"] } },
    sandbox: { tools: { alsoAllow: ["outlook-graph__*"] } },
  },
  agents: {
    defaults: { sandbox: { mode: "non-main" } },
    list: [{ id: "main" }, { id: "ops", tools: { deny: ["exec"] } }],
  },
  mcp: { servers: { "Outlook Graph": {}, "outlook-graph": {} } },
}"#;

fn home(config: &str) -> Home {
    let home = Home::new();
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    home
}

fn json(home: &Home, args: &[&str]) -> Value {
    let done = home.run(&[&["tools", "list", "--json"], args].concat());
    serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"))
}

fn tool(view: &Value, name: &str) -> Value {
    let tools = view["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

#[test]
fn the_reason_has_a_place_in_the_file() {
    let home = home(CONFIG);
    let view = json(&home, &["--agent", "ops"]);
    assert_eq!((view["agentId"].as_str(), view["sessionIsSandboxed"].as_bool()), (Some("ops"), Some(false)));
    let why = &tool(&view, "exec")["removal"];
    assert_eq!(why["key"], "agents.list[1].tools.deny[0]");
    assert_eq!(why["layer"], "agents.ops.tools.allow");
    assert!(why["place"].as_str().unwrap().ends_with("openclaw.json:11:57"), "{why}");
    assert_eq!(tool(&view, "gateway")["limit"]["key"], "tools.profile");
    assert_eq!(view["unknownEntries"][0]["entry"], "brwoser");
    let done = home.run(&["tools", "list", "--agent", "ops", "--why"]);
    let (_, lines) = done.out.split_once("\n  exec ").unwrap();
    let lines: Vec<&str> = lines.lines().map(str::trim).take(2).collect();
    assert!(lines[0].contains("agents.ops.tools.deny: denied by agents.list[1].tools.deny[0]"), "{lines:?}");
    assert_eq!(lines[1], "change: remove \"exec\" from agents.list[1].tools.deny");
    // The short form names the same key.
    let done = home.run(&["tools", "list", "--agent", "ops"]);
    let line = done.out.lines().find(|line| line.trim_start().starts_with("exec ")).unwrap();
    assert!(line.ends_with("no   denied by agents.list[1].tools.deny[0]"), "{line}");
    assert_eq!(
        done.out.matches("note: ").count(),
        1,
        "what a profile names is nobody's mistake: {}",
        done.out
    );
}

/// One change that leaves another rule in the way is no answer.
#[test]
fn every_rule_that_removes_a_tool_is_named() {
    let home = home(
        "{ tools: { deny: ['group:web', 'web_fetch'], sandbox: { tools: { allow: ['exec'] } } },\n  agents: { defaults: { sandbox: { mode: 'all' } } } }",
    );
    let fetch = tool(&json(&home, &[]), "web_fetch");
    let keys = |field: &str| {
        fetch["removals"].as_array().unwrap().iter().map(|one| one[field].clone()).collect::<Vec<_>>()
    };
    assert_eq!(fetch["removal"], fetch["removals"][0]);
    assert_eq!(keys("key"), ["tools.deny[0]", "tools.deny[1]", "tools.sandbox.tools.allow"]);
    assert_eq!(
        fetch["changes"],
        serde_json::json!([
            "remove \"group:web\" from tools.deny",
            "remove \"web_fetch\" from tools.deny",
            "add \"web_fetch\" to tools.sandbox.tools.allow"
        ])
    );
    let done = home.run(&["tools", "list", "--why"]);
    let (_, lines) = done.out.split_once("\n  web_fetch ").unwrap();
    let lines: Vec<&str> = lines.lines().map(str::trim).take(4).collect();
    assert!(lines[2].starts_with("sandbox tools.allow: not in tools.sandbox.tools.allow ("), "{lines:?}");
    assert!(lines[3].starts_with("change: remove \"group:web\" from tools.deny; remove"), "{lines:?}");
}

#[test]
fn session_and_model_decide() {
    let home = home(CONFIG);
    assert_eq!(tool(&json(&home, &[]), "read")["verdict"], "allow");
    let view = json(&home, &["--provider", "OpenAI", "--model", "gpt-5"]);
    assert_eq!(tool(&view, "read")["removal"]["layer"], "tools.byProvider.allow");
    let view = json(&home, &["--session", "agent:main:telegram:direct:1"]);
    assert_eq!(view["sessionIsSandboxed"], true);
    assert_eq!(tool(&view, "Outlook-Graph__*")["verdict"], "allow");
    assert_eq!(tool(&view, "outlook-graph-2__*")["verdict"], "deny");
    let error = home.run(&["tools", "list", "--agent", "ops", "--session", "agent:main:x"]);
    assert_eq!(error.status, Some(125), "{error:?}");
}

#[test]
fn a_policy_that_restricts_nothing_is_refused() {
    let home = home("{ tools: { allow: [], profile: 'Coding' } }");
    let done = home.run(&["tools", "list"]);
    assert_eq!((done.status, done.out.as_str()), (Some(125), ""), "{done:?}");
    for part in ["openclaw.json:1:12 tools.allow", "dangerouslyAllowEmptyPolicy", "did you mean \"coding\"?"]
    {
        assert!(done.err.contains(part), "{part} in {}", done.err);
    }
    let text = "{ tools: { allow: [], profile: 'Coding', dangerouslyAllowEmptyPolicy: true } }";
    std::fs::write(home.state().join("openclaw.json"), text).unwrap();
    let view = json(&home, &[]);
    assert!(view["tools"].as_array().unwrap().iter().all(|tool| tool["verdict"] == "allow"));
}
