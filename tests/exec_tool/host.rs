//! Commands on the gateway's host.

use creel::tools::Context;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::lab::{Lab, message, text};

const OPEN: &str = "exec: {mode: 'full'}";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_runs_under_a_supervisor() {
    let lab = Lab::direct(OPEN).await;
    let result = lab.run("echo out; pwd; echo $OPENCLAW_SHELL $OPENCLAW_CLI; exit 4").await;
    let workspace = std::fs::canonicalize(lab.state().join("workspace")).unwrap();
    let wanted = format!("out\n{}\nexec 1\n\n(Command exited with code 4)", workspace.display());
    assert_eq!(result.text(), wanted);
    let details = &result.details;
    assert_eq!((&details["host"], &details["transport"]), (&json!("gateway"), &json!("init")));
    assert_eq!(details["cwd"], json!(workspace));
    assert!(details["usage"].is_object() && details["processes"]["provenGone"] == true, "{details:#}");
    let limited = lab.exec(json!({"command": "sleep 61 & sleep 60", "timeoutSeconds": 0.3})).await.unwrap();
    assert_eq!(
        (&limited.details["timedOut"], &limited.details["processes"]["provenGone"]),
        (&json!(true), &json!(true))
    );
    let dir = lab.exec(json!({"command": "touch ran", "workdir": "~/x"})).await.unwrap();
    assert!(dir.text().contains("Nothing was executed"), "{}", dir.text());
    let relative = lab.exec(json!({"command": "mkdir -p a && cd a && pwd", "workdir": "."})).await.unwrap();
    assert_eq!(relative.text(), workspace.join("a").display().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_background_and_terminals() {
    let lab = Lab::direct(OPEN).await;
    let result = lab.exec(json!({"command": "read line; echo got $line", "background": true})).await.unwrap();
    let id = text(&result, "sessionId");
    lab.process(json!({"action": "write", "sessionId": id, "data": "it\n"})).await;
    lab.until_ended(&result).await;
    let poll = lab.process(json!({"action": "poll", "sessionId": id})).await;
    assert!(poll.text().contains("got it"), "{}", poll.text());
    let terminal = lab.exec(json!({"command": "stty size; echo $TERM", "pty": true})).await.unwrap();
    let shown = terminal.text().replace('\r', "");
    assert!(shown.starts_with("30 120\n") && !shown.ends_with("dumb"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_call_ends_its_command() {
    let lab = Lab::direct(OPEN).await;
    let cancel = CancellationToken::new();
    let (partial, mut updates) = tokio::sync::mpsc::channel(16);
    let context = Context::default();
    let params = json!({"command": "echo $$; exec sleep 60"});
    let call = lab.tools.call("exec", params, &context, Some(partial), cancel.clone());
    let watch = async {
        let update = updates.recv().await.unwrap();
        cancel.cancel();
        update.text().trim().to_owned()
    };
    let (result, pid) = tokio::join!(call, watch);
    assert!(result.unwrap_err().text.contains("aborted"));
    assert!(!std::path::Path::new("/proc").join(&pid).exists(), "{pid} still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_are_filtered() {
    let lab = Lab::direct(OPEN).await;
    for (env, parts) in [
        (json!({"PATH": "/evil"}), &["PATH"][..]),
        (json!({"LD_PRELOAD": "x", "NODE_OPTIONS": "y", "A-B": "z"}), &["LD_PRELOAD", "NODE_OPTIONS", "A-B"]),
    ] {
        let error = lab.exec(json!({"command": "touch ran", "env": env})).await.unwrap_err();
        assert!(error.text.starts_with("Security Violation:"), "{error}");
        assert!(parts.iter().all(|part| error.text.contains(part)), "{error}");
    }
    assert!(!lab.state().join("workspace/ran").exists());
    let result =
        lab.exec(json!({"command": "echo $FOO", "env": {"FOO": "$HOME", "PAGER": "cat"}})).await.unwrap();
    assert_eq!(result.text(), "$HOME");
}

#[tokio::test(flavor = "multi_thread")]
async fn elevated_leaves_the_sandbox_for_whom_it_may() {
    let lab = Lab::sandboxed("elevated: {allowFrom: {chat: ['id:1']}}").await;
    let host = lab.state().join("workspace");
    let run = json!({"command": "pwd", "elevated": true});
    // Ask: the host's approvals decide, and by default they ask nobody.
    let result = lab.exec_as(run.clone(), &message("chat", "1")).await.unwrap();
    assert_eq!((result.text(), &result.details["host"]), (host.display().to_string(), &json!("gateway")));
    // Full, chosen by a person: nothing would be asked, so nothing is.
    let full = Context { elevated: Some("full".to_owned()), ..message("chat", "1") };
    for params in [run.clone(), json!({"command": "pwd"}), json!({"command": "pwd", "host": "sandbox"})] {
        let result = lab.exec_as(params.clone(), &full).await.unwrap();
        assert_eq!(
            (result.text(), &result.details["host"]),
            (host.display().to_string(), &json!("gateway")),
            "{params}"
        );
    }
    // It lifts no rule of the route, and no stricter document.
    let error = lab.exec_as(json!({"command": "pwd", "host": "gateway"}), &full).await.unwrap_err();
    assert!(error.text.starts_with("exec host not allowed"), "{error}");
    lab.write("exec-approvals.json", "{\"version\": 1, \"defaults\": {\"ask\": \"always\"}}");
    let result = lab.exec_as(run, &full).await.unwrap();
    assert_eq!(result.details["status"], "approval-pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_differ() {
    let lab = Lab::configured(
        "{tools: {exec: {mode: 'deny'}}, agents: {list: [{id: 'main'}, {id: 'ops', tools: {exec: {mode: 'full'}}}]}}",
    )
    .await;
    let ops = Context { agent: Some("ops".to_owned()), ..Context::default() };
    assert_eq!(lab.exec_as(json!({"command": "echo ok"}), &ops).await.unwrap().text(), "ok");
    let main = lab.exec(json!({"command": "echo ok"})).await.unwrap_err();
    assert!(
        main.text.starts_with("exec denied: host=gateway security=deny\nrule: tools.exec.mode\n"),
        "{main}"
    );
    // What one agent left running another does not see.
    let left = lab.exec_as(json!({"command": "sleep 30", "background": true}), &ops).await.unwrap();
    let poll = lab.process(json!({"action": "poll", "sessionId": text(&left, "sessionId")})).await;
    assert!(poll.text().starts_with("No session found for"), "{}", poll.text());
    let id = creel::process::record::SessionId(text(&left, "sessionId"));
    lab.tools.sessions.kill(&id).await.unwrap();
    lab.until_ended(&left).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guards_hold_whatever_the_policy_says() {
    let lab = Lab::direct(OPEN).await;
    for command in [
        "/approve 123 allow-once",
        "true; openclaw channels login",
        "sqlite3 \"$OPENCLAW_STATE_DIR/creel/creel.db\" .dump",
    ] {
        let error = lab.exec(json!({"command": command})).await.unwrap_err();
        assert!(error.report.code.starts_with("CRL-GUARD-"), "{command}: {error}");
    }
    lab.run("echo '/approve x deny'; echo channels login").await;
}
