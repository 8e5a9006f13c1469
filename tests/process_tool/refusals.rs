//! What is refused, in which words, and that nobody learns of the sessions of others.

use creel::process::record::SessionId;
use creel::tools::Context;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::bench::{Bench, about};

/// Every action that needs a session, with parameters that fit, and what it says where there is none.
const ACTIONS: &[(&str, &str, &str)] = &[
    ("poll", r"{}", "No session found for "),
    ("log", r"{}", "No session found for "),
    ("write", r#"{"data": "x"}"#, "No active session found for "),
    ("send-keys", r#"{"keys": ["Enter"]}"#, "No active session found for "),
    ("submit", r"{}", "No active session found for "),
    ("paste", r#"{"text": "x"}"#, "No active session found for "),
    ("kill", r"{}", "No active session found for "),
    ("clear", r"{}", "No finished session found for "),
    ("remove", r"{}", "No session found for "),
    ("screen", r"{}", "No session found for "),
    ("wait", r#"{"exit": true}"#, "No session found for "),
];

fn actions() -> impl Iterator<Item = (&'static str, Value, &'static str)> {
    ACTIONS.iter().map(|(action, more, text)| (*action, serde_json::from_str(more).unwrap(), *text))
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_another_agent_are_as_unknown_ones() {
    let bench = Bench::new().await;
    let id = bench.piped("cat").await;
    let done = bench.start("echo secret", |_| {}).await;
    bench.lab.ended(&done).await;
    let other = Context { agent: Some("other".to_owned()), ..Context::default() };
    let nobody = SessionId("keen-nobody".to_owned());
    for (action, more, text) in actions() {
        let wanted = bench.act(&nobody, action, more.clone()).await;
        assert_eq!(wanted.text(), format!("{text}{nobody}"), "{action}");
        assert_eq!(wanted.details, json!({"status": "failed", "error": wanted.text()}), "{action}");
        for foreign in [&id, &done] {
            let answer = bench.call_as(other.clone(), about(foreign, action, &more)).await;
            assert_eq!(answer.text(), format!("{text}{foreign}"), "{action}");
            assert_eq!(answer.details, json!({"status": "failed", "error": answer.text()}), "{action}");
        }
    }
    let listed = bench.call_as(other, json!({"action": "list"})).await;
    assert_eq!(listed.text(), "No running or recent sessions.");
    // By its session key an agent is the same agent.
    let same = Context { session: Some("agent:main:elsewhere".to_owned()), ..Context::default() };
    let listed = bench.call_as(same, json!({"action": "list"})).await;
    assert_eq!(listed.details["sessions"].as_array().unwrap().len(), 2);
    let ended = bench.text(&done, "write", json!({"data": "x"})).await;
    assert_eq!(ended, format!("No active session found for {done}"));
    assert_eq!(
        bench.text(&id, "clear", json!({})).await,
        format!("No finished session found for {id}"),
        "it runs"
    );
    bench.act(&id, "kill", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exec_waits_for_is_not_backgrounded() {
    let bench = Bench::new().await;
    let id = bench.lab.start(&bench.sandbox, "echo up; sleep 1000").await;
    for (action, more, _) in actions() {
        let answer = bench.text(&id, action, more).await;
        let wanted = match action {
            "clear" => format!("No finished session found for {id}"),
            _ => format!("Session {id} is not backgrounded."),
        };
        assert_eq!(answer, wanted, "{action}");
    }
    assert_eq!(bench.call(json!({"action": "list"})).await.text(), "No running or recent sessions.");
    bench.lab.sessions.kill(&id).await.unwrap();
    bench.lab.ended(&id).await;
    assert_eq!(bench.text(&id, "poll", json!({})).await, format!("No session found for {id}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_input_and_empty_input_are_told() {
    let bench = Bench::new().await;
    let closed = bench.start("sleep 1000", |_| {}).await;
    for (action, more, _) in
        actions().filter(|row| matches!(row.0, "write" | "send-keys" | "submit" | "paste"))
    {
        let answer = bench.text(&closed, action, more).await;
        assert_eq!(answer, format!("Session {closed} stdin is not writable."), "{action}");
    }
    let open = bench.piped("sleep 1000").await;
    for (action, more, text) in [
        ("send-keys", json!({}), "No key data provided."),
        (
            "send-keys",
            json!({"keys": [" "], "hex": ["xyz"]}),
            "No key data provided.\nWarnings:\n- Invalid hex byte: xyz",
        ),
        ("paste", json!({"bracketed": false}), "No paste text provided."),
        ("paste", json!({"text": "", "bracketed": false}), "No paste text provided."),
        ("wait", json!({}), "Cannot wait: nothing to wait for"),
        ("wait", json!({"regex": "("}), "Cannot wait: the regular expression cannot be used"),
        ("wait", json!({"text": ""}), "Cannot wait: the condition `text` is empty"),
        ("write", json!({"data": "x".repeat((1 << 20) + 1)}), "the input has 1048577 bytes"),
    ] {
        let answer = bench.act(&open, action, more).await;
        assert!(answer.text().starts_with(text), "{action}: {}", answer.text());
        assert_eq!(answer.details["status"], "failed");
    }
    for id in [closed, open] {
        bench.act(&id, "kill", json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_do_not_fit_and_ids_that_deceive() {
    let bench = Bench::new().await;
    for params in [json!({"action": "poll"}), json!({"action": "kill", "sessionId": " "})] {
        assert_eq!(bench.call(params).await.text(), "sessionId is required for this action.");
    }
    let context = Context::default();
    let thrown = creel::tools::process::call(
        &bench.lab.sessions,
        &bench.polls,
        json!({"action": "destroy", "sessionId": "x"}),
        &context,
        tokio_util::sync::CancellationToken::new(),
    );
    let thrown = thrown.await.unwrap_err();
    assert!(thrown.text.contains("- action: ") && thrown.text.contains("send-keys"), "{}", thrown.text);
    let hostile = format!("x\n\u{1b}[2J\u{202e}{}", "y".repeat(10_000));
    let answer = bench.call(json!({"action": "poll", "sessionId": hostile})).await.text();
    assert!(
        answer.starts_with(r"No session found for x\n\u{1b}[2J\u{202e}yyy") && answer.len() < 200,
        "{answer}"
    );
    // A command cannot write lines into the list.
    let id = bench
        .start("echo 'a\nkeen-otter running   1s :: fake \u{1b}[2J\u{202e}' >/dev/null; sleep 1000", |_| {})
        .await;
    let listed = bench.call(json!({"action": "list"})).await.text();
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(!listed.contains(['\u{1b}', '\u{202e}']), "{listed}");
    bench.act(&id, "kill", json!({})).await;
}
