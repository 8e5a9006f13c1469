//! What is refused, in which words, and in which order.

use creel::tools::{Context, ToolError};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::lab::{IMAGE, Lab, message};

async fn thrown(lab: &Lab, params: Value, context: &Context) -> ToolError {
    match lab.exec_as(params.clone(), context).await {
        Err(error) => error,
        Ok(result) => panic!("{params}: {}", result.text()),
    }
}

async fn error(lab: &Lab, params: Value) -> ToolError {
    thrown(lab, params, &Context::default()).await
}

/// The line whose words are fixed; rule and fix stand below it.
fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[tokio::test]
async fn the_first_check_that_fails_decides() {
    let lab = Lab::direct("exec: {host: 'sandbox', security: 'deny'}, elevated: {enabled: false}").await;
    let text = |params: Value| async { error(&lab, params).await.text };
    // Each line fails every later check too.
    let all = json!({"host": "gateway", "elevated": true, "command": "", "timeout": 1, "timeoutSeconds": 2});
    assert!(text(all).await.starts_with("timeoutSeconds 2 and timeout 1 contradict"));
    let elevated = json!({"host": "gateway", "elevated": true, "command": ""});
    assert!(text(elevated).await.starts_with("elevated is not available right now (runtime=direct).\n"));
    let route = text(json!({"host": "gateway", "command": ""})).await;
    assert!(
        route.starts_with("exec host not allowed (requested gateway; configured host is sandbox)"),
        "{route}"
    );
    assert!(route.contains("tools.exec.host=gateway or tools.exec.host=auto"), "{route}");
    assert_eq!(first(&text(json!({"command": ""})).await), "exec denied: host=sandbox security=deny");
    let lab = Lab::direct("exec: {host: 'sandbox'}").await;
    let missing = error(&lab, json!({"command": ""})).await.text;
    assert!(missing.starts_with("exec host=sandbox requires a sandbox runtime"), "{missing}");
    for part in ["agents.defaults.sandbox.mode", "\"non-main\"", "\"all\"", "gateway", "node"] {
        assert!(missing.contains(part), "{part}: {missing}");
    }
    let lab = Lab::direct("exec: {mode: 'full'}").await;
    let empty = json!({"command": " ", "workdir": "/none", "env": {"PATH": "x"}});
    assert!(error(&lab, empty).await.text.starts_with("exec needs a command"));
    let dir = json!({"command": "true", "workdir": "/none", "env": {"PATH": "x"}});
    assert!(lab.exec(dir).await.unwrap().text().contains("Nothing was executed"));
    let env = json!({"command": "true", "env": {"PATH": "x"}});
    assert!(error(&lab, env).await.text.starts_with("Security Violation:"));
}

#[tokio::test]
async fn hosts_are_open_unless_somebody_wrote_otherwise() {
    let run = json!({"command": "touch ran"});
    let plain = Lab::direct("").await;
    assert_eq!(plain.run("echo ok").await.text(), "ok");
    for (tools, text) in [
        ("exec: {mode: 'deny'}", "exec denied: host=gateway security=deny"),
        ("exec: {mode: 'allowlist'}", "exec denied: allowlist miss: \"touch ran\": no entry covers it"),
    ] {
        let told = error(&Lab::direct(tools).await, run.clone()).await.text;
        assert_eq!(first(&told), text);
        assert!(told.contains("\nrule: tools.exec.mode\nfix: "), "{told}");
        let step = "`creel config set tools.exec.mode ask`";
        assert!(told.find(step).unwrap() < told.find("to \"full\"").unwrap(), "{told}");
    }
    let told = error(&Lab::direct("exec: {mode: 'allowlist'}").await, run.clone()).await.text;
    assert!(told.contains("touch --agent main --arg-pattern '^ran$'`"), "{told}");
    assert!(told.contains("`creel explain exec --agent main -- 'touch ran'`"), "{told}");
    let asks = Lab::direct("exec: {mode: 'ask'}").await;
    let unattended = Context { unattended: true, ..Context::default() };
    let result = asks.exec_as(run.clone(), &unattended).await.unwrap();
    assert_eq!(result.details["status"], "approval-unavailable");
    assert_eq!(result.details["reason"], "no-approval-route");
    assert_eq!(
        (&result.details["host"], &result.details["command"]),
        (&json!("gateway"), &json!("touch ran"))
    );
    let cron = Context { cron: true, ..Context::default() };
    assert!(thrown(&asks, run.clone(), &cron).await.text.starts_with("exec denied: approval required"));
    // The machine's document is stricter, also where it cannot be read.
    let open = Lab::direct("exec: {mode: 'full'}").await;
    open.write("exec-approvals.json", "{\"version\": 1, \"agents\": {\"main\": {\"security\": \"deny\"}}}");
    assert_eq!(first(&error(&open, run.clone()).await.text), "exec denied: host=gateway security=deny");
    open.write("exec-approvals.json", "{");
    let broken = error(&open, run.clone()).await.text;
    assert_eq!(first(&broken), "exec denied: host=gateway security=deny");
    assert!(broken.contains("the last good copy of it holds"), "{broken}");
    assert!(broken.contains("exec-approvals.json:1:1: invalid JSON syntax [CRL-APPROVALS-004]"), "{broken}");
    std::fs::remove_file(open.state().join("exec-approvals.json")).unwrap();
    assert_eq!(
        first(&error(&open, run).await.text),
        "exec denied: host=gateway security=deny",
        "the last good one holds"
    );
    assert!(!open.state().join("workspace/ran").exists());
}

#[tokio::test]
async fn sandboxed_sessions_do_not_reach_the_host() {
    let lab = Lab::sandboxed("exec: {mode: 'full'}").await;
    let refused = error(&lab, json!({"command": "true", "host": "gateway"})).await.text;
    assert!(refused.contains("requested gateway; configured host is auto"), "{refused}");
    assert!(
        refused.contains("tools.exec.host=gateway") && !refused.contains("tools.exec.host=auto"),
        "{refused}"
    );
    let node = error(&lab, json!({"command": "true", "host": "node", "node": "mac-1"})).await.text;
    assert!(node.starts_with("exec host=node: there is no paired node, so node \"mac-1\""), "{node}");
    let required: Context = serde_json::from_value(json!({"sandboxRequired": true})).unwrap();
    let lab = Lab::direct("exec: {mode: 'full', host: 'gateway'}").await;
    for params in [json!({"command": "true", "host": "gateway"}), json!({"command": "true", "host": "node"})]
    {
        let text = thrown(&lab, params, &required).await.text;
        assert!(text.starts_with("this session must run in a sandbox; host="), "{text}");
    }
    let elevated = thrown(&lab, json!({"command": "true", "elevated": true}), &required).await.text;
    assert!(elevated.starts_with("elevated is not available: this session runs in a sandbox"), "{elevated}");
}

#[tokio::test]
async fn the_tool_policy_is_the_hard_stop() {
    let run = json!({"command": "true"});
    for tools in [
        "deny: ['exec'], exec: {mode: 'full'}",
        "deny: ['group:runtime'], exec: {mode: 'full'}",
        "deny: ['bash'], exec: {mode: 'full'}",
    ] {
        let lab = Lab::direct(&format!("{tools}, elevated: {{allowFrom: {{chat: ['*']}}}}")).await;
        let text =
            thrown(&lab, json!({"command": "true", "elevated": true}), &message("chat", "u")).await.text;
        assert!(text.starts_with("exec is not available to this session: tools.deny removes it"), "{text}");
    }
    let lab = Lab::direct("exec: {mode: 'full'}").await;
    let without = Context { without: vec!["bash".to_owned()], ..Context::default() };
    assert!(thrown(&lab, run, &without).await.text.starts_with("exec is not available to this run"));
}

#[tokio::test]
async fn elevated_is_refused_with_everything_that_helps() {
    let lab = Lab::configured(&format!(
        "{{agents: {{defaults: {{sandbox: {{mode: 'all', docker: {{image: '{IMAGE}'}}}}}}}}, tools: {{elevated: {{allowFrom: \
         {{telegram: ['id:1', 'name:Ada']}}}}}}}}"
    ))
    .await;
    let text =
        thrown(&lab, json!({"command": "true", "elevated": true}), &message("telegram", "2")).await.text;
    assert_eq!(
        text,
        "elevated is not available right now (runtime=sandboxed).\nFailing gates:\n- allowFrom \
         (tools.elevated.allowFrom.telegram)\nContext: provider=telegram session=agent:main:main\nFix-it keys:\n- \
         tools.elevated.enabled\n- tools.elevated.allowFrom.telegram\n- agents.entries.*.tools.elevated.enabled\n- \
         agents.entries.*.tools.elevated.allowFrom.telegram"
    );
    let nobody = error(&lab, json!({"command": "true", "elevated": true})).await.text;
    assert!(nobody.contains("- provider (ctx.Provider)"), "{nobody}");
    // A level that the session has, and whose gates are closed, is without effect: the command stays inside.
    let inline = Context { elevated: Some("full".to_owned()), ..message("telegram", "2") };
    let result = lab.exec_as(json!({"command": "pwd"}), &inline).await.unwrap();
    assert_eq!((result.text().as_str(), &result.details["host"]), ("/workspace", &json!("sandbox")));
    let allowed = Context { elevated: Some("full".to_owned()), ..message("telegram", "1") };
    let result = lab.exec_as(json!({"command": "pwd", "elevated": false}), &allowed).await.unwrap();
    assert_eq!(result.details["host"], "sandbox");
}

#[tokio::test]
async fn what_a_session_has_chosen_holds_for_it() {
    use creel::session::{AgentId, Change, SessionKey, chosen};
    let lab = Lab::sandboxed("").await;
    let key = SessionKey::main_of(&AgentId::main());
    let set = |words: &[&str]| {
        chosen::change(&lab.tools.state, &key, &Change::parse(words.iter().copied()).unwrap()).unwrap();
    };
    set(&["security=deny"]);
    assert_eq!(
        first(&error(&lab, json!({"command": "true"})).await.text),
        "exec denied: host=sandbox security=deny"
    );
    let other = Context { session: Some("other".to_owned()), ..Context::default() };
    assert_eq!(lab.exec_as(json!({"command": "echo ok"}), &other).await.unwrap().text(), "ok");
    set(&["security=unset"]);
    // In a message only an authorised sender's options count, and never where commands run.
    let mut context = message("chat", "u");
    context.exec = Some("security=deny host=gateway".to_owned());
    assert_eq!(
        first(&thrown(&lab, json!({"command": "true"}), &context).await.text),
        "exec denied: host=sandbox security=deny"
    );
    context.sender.as_mut().unwrap().authorized = false;
    assert_eq!(lab.exec_as(json!({"command": "echo ok"}), &context).await.unwrap().text(), "ok");
}

#[tokio::test]
async fn arguments_are_repaired_or_refused_with_their_places() {
    let lab = Lab::sandboxed("").await;
    let result = lab
        .exec(json!({"command": "echo $A</arg_value>", "env": "{\"A\": 1}", "pty": "false", "new": {}}))
        .await;
    assert_eq!(result.unwrap().text(), "1");
    let text = error(&lab, json!({"env": {"A": []}, "host": "mac"})).await.text;
    for line in ["- command: ", "- env.A: ", "- host: "] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("\"exec\"") && text.contains("Received arguments"), "{text}");
}
