//! What is explained is what happens: the verdict that is told of a call against what the call comes to.

use std::os::unix::fs::PermissionsExt as _;

use creel::policy::Verdict;
use creel::tools::exec::explain::{Asked, Explainer};
use creel::tools::{Context, ToolError, ToolResult};
use serde_json::{Value, json};

use super::lab::{Lab, message};

/// What a call came to.
fn verdict(outcome: &Result<ToolResult, ToolError>) -> Verdict {
    match outcome {
        Err(_) => Verdict::Deny,
        // What was denied, or could not begin, is a result too.
        Ok(result) if never_ran(result) => Verdict::Deny,
        Ok(result) => match result.details["status"].as_str() {
            Some("completed" | "failed" | "running") => Verdict::Allow,
            Some("approval-pending") => Verdict::Ask,
            _ => Verdict::Deny,
        },
    }
}

fn never_ran(result: &ToolResult) -> bool {
    let said = format!("{:?}", result.content);
    ["Exec denied", "Nothing was executed"].iter().any(|text| said.contains(text))
}

const CONFIGURATIONS: &[&str] = &[
    "",
    "mode: 'deny',",
    "mode: 'allowlist',",
    "mode: 'ask',",
    "mode: 'full',",
    "mode: 'full', strictInlineEval: true,",
    "security: 'full', ask: 'always',",
    "security: 'allowlist', ask: 'off', strictInlineEval: true,",
];

fn documents() -> Vec<Value> {
    let tool = json!([{"pattern": "tool", "argPattern": "^(a|b)$"}, "true"]);
    vec![
        json!({"version": 1}),
        json!({"version": 1, "agents": {"main": {"allowlist": tool}}}),
        json!({"version": 1, "defaults": {"security": "allowlist", "ask": "on-miss"}, "agents": {"*": {"allowlist": tool}}}),
        json!({"version": 1, "defaults": {"denylist": ["tool"]}}),
        json!({"version": 1, "agents": {"main": {"ask": "always"}}}),
        json!({"version": 1, "agents": {"main": {"security": "deny"}}}),
    ]
}

/// Commands that do nothing, whatever becomes of them.
const COMMANDS: &[&str] = &[
    "tool a",
    "tool c",
    "tool a && true",
    "tool a && tool c",
    "timeout 5 tool a",
    "sh -c 'tool a'",
    "tool $UNSET",
    "tool a 2>&1",
    "tool *",
    "missing-program",
    "/approve 1a2b allow-once",
];

fn calls() -> Vec<(Value, Context)> {
    let plain = Context::default();
    let mut calls: Vec<(Value, Context)> =
        COMMANDS.iter().map(|command| (json!({"command": command}), plain.clone())).collect();
    calls.push((json!({"command": "tool a", "ask": "always"}), plain.clone()));
    calls.push((json!({"command": "tool a", "ask": "always"}), message("telegram", "1")));
    calls.push((json!({"command": "tool a", "host": "sandbox"}), plain.clone()));
    calls.push((json!({"command": "tool a", "host": "node"}), plain.clone()));
    calls.push((json!({"command": "tool a", "elevated": true}), plain.clone()));
    calls.push((json!({"command": "tool a", "workdir": "/nonexistent"}), plain.clone()));
    calls.push((json!({"command": "tool a", "env": {"LD_PRELOAD": "x"}}), plain.clone()));
    let named = Context { exec: Some("security=deny".to_owned()), ..plain };
    calls.push((json!({"command": "tool a"}), named));
    calls
}

fn asked(params: &Value, context: &Context) -> Asked {
    let text = |key: &str| params[key].as_str().map(str::to_owned);
    Asked {
        context: context.clone(),
        command: text("command").unwrap(),
        host: text("host"),
        ask: text("ask"),
        elevated: params["elevated"].as_bool(),
        workdir: text("workdir"),
        env: serde_json::from_value(params["env"].clone()).unwrap_or_default(),
        path: None,
    }
}

#[tokio::test]
async fn what_is_explained_is_what_happens() {
    let mut wrong = Vec::new();
    let mut seen = [0; 3];
    for exec in CONFIGURATIONS {
        let bin = tempfile::Builder::new().prefix("creel-bin-").tempdir_in("/tmp").unwrap();
        let file = bin.path().join("tool");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = bin.path().display();
        let lab = Lab::direct(&format!("exec: {{{exec} pathPrepend: ['{path}']}}")).await;
        for document in documents() {
            lab.write("exec-approvals.json", &document.to_string());
            let explainer = Explainer::read(&lab.tools.base, None).unwrap();
            for (params, context) in calls() {
                let told = explainer.verdict(&asked(&params, &context)).await.unwrap();
                let outcome = lab.exec_as(params.clone(), &context).await;
                let happened = verdict(&outcome);
                seen[happened as usize] += 1;
                if told.verdict != happened {
                    wrong.push(format!(
                        "{exec} {document} {params}: told {:?} ({}), happened {happened:?}: {outcome:?}",
                        told.verdict, told.code
                    ));
                }
                for waiting in lab.tools.desk.pending() {
                    lab.tools.desk.cancel(&waiting.id, "run-aborted");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}
