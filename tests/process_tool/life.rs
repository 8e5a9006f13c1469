//! From the list to the end.

use creel::tools::Context;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::bench::{Bench, about};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_from_its_start_to_its_clearing() {
    let bench = Bench::new().await;
    assert_eq!(bench.call(json!({"action": "list"})).await.text(), "No running or recent sessions.");

    let id = bench.piped("echo one; read x; echo \"two $x\"; exit 3").await;
    bench.shows(&id, "one").await;
    let listed = bench.call(json!({"action": "list"})).await;
    assert_eq!(listed.details["status"], "completed");
    let [entry] = listed.details["sessions"].as_array().unwrap().as_slice() else { panic!("{listed:?}") };
    assert!(listed.text().starts_with(&format!("{id} running   ")), "{}", listed.text());
    assert!(listed.text().ends_with(" :: echo one;"), "{}", listed.text());
    for (field, value) in [
        ("sessionId", json!(id.0)),
        ("status", json!("running")),
        ("cwd", json!("/workspace")),
        ("command", json!("echo one; read x; echo \"two $x\"; exit 3")),
        ("name", json!("echo one;")),
        ("tail", json!("one\n")),
        ("truncated", json!(false)),
        ("stdinWritable", json!(true)),
        ("waitingForInput", json!(false)),
        ("endedAt", Value::Null),
        ("exitCode", Value::Null),
    ] {
        assert_eq!(entry[field], value, "{field}");
    }
    assert!(entry["pid"].is_i64() && entry["startedAt"].is_u64() && entry["runtimeMs"].is_u64());

    let poll = bench.act(&id, "poll", json!({"timeout": "30000"})).await;
    assert_eq!(poll.text(), "one\n\nProcess still running.");
    for (field, value) in [
        ("status", json!("running")),
        ("sessionId", json!(id.0)),
        ("name", json!("echo one;")),
        ("aggregated", json!("one\n")),
        ("stdinWritable", json!(true)),
        ("waitingForInput", json!(false)),
        ("retryInMs", json!(5000)),
    ] {
        assert_eq!(poll.details[field], value, "{field}");
    }
    assert!(poll.details["idleMs"].is_u64() && poll.details["lastOutputAt"].is_u64());
    for retry in [10_000, 30_000, 60_000, 60_000] {
        let poll = bench.act(&id, "poll", json!({})).await;
        assert!(poll.text().starts_with("(no new output)\n\nProcess still running."), "{}", poll.text());
        assert_eq!(poll.details["retryInMs"], retry);
    }

    let wrote = bench.act(&id, "write", json!({"data": "é\n"})).await;
    assert_eq!(wrote.text(), format!("Wrote 3 bytes to session {id}."));
    assert_eq!(wrote.details, json!({"status": "running", "sessionId": id.0, "name": "echo one;"}));
    let (output, end) = bench.to_the_end(&id).await;
    assert_eq!(output, "two é\n");
    assert!(end.text().ends_with("\n\nProcess exited with code 3."), "{}", end.text());
    for (field, value) in [
        ("status", json!("completed")),
        ("exitCode", json!(3)),
        ("exitReason", json!("exit")),
        ("exitSignal", Value::Null),
        ("timedOut", json!(false)),
        ("failureKind", Value::Null),
        ("aggregated", json!("one\ntwo é\n")),
    ] {
        assert_eq!(end.details[field], value, "{field}");
    }
    assert_eq!(
        bench.text(&id, "poll", json!({"timeout": 30_000})).await,
        "(no new output)\n\nProcess exited with code 3."
    );
    assert_eq!(bench.text(&id, "log", json!({})).await, "one\ntwo é");
    let listed = bench.call(json!({"action": "list"})).await;
    assert!(listed.text().starts_with(&format!("{id} completed ")), "{}", listed.text());
    let entry = &listed.details["sessions"][0];
    assert!(entry["endedAt"].is_u64() && entry["stdinWritable"].is_null() && entry["pid"].is_null());

    assert_eq!(bench.text(&id, "clear", json!({})).await, format!("Cleared session {id}."));
    assert_eq!(bench.text(&id, "poll", json!({})).await, format!("No session found for {id}"));
    assert_eq!(bench.call(json!({"action": "list"})).await.text(), "No running or recent sessions.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_was_asked_for_is_no_failure() {
    let bench = Bench::new().await;
    let id = bench.start("trap '' TERM; echo up; sleep 1000; sleep 1000", |_| {}).await;
    bench.shows(&id, "up").await;
    let requested = format!("Termination requested for session {id}.");
    let killed = bench.act(&id, "kill", json!({})).await;
    assert_eq!(killed.text(), requested);
    assert_eq!(killed.details, json!({"status": "completed", "name": "trap TERM;"}));
    assert_eq!(bench.text(&id, "kill", json!({})).await, requested, "again, before its end");
    let (_, end) = bench.to_the_end(&id).await;
    assert!(end.text().ends_with("\n\nProcess stopped by request (signal SIGKILL)."), "{}", end.text());
    assert_eq!(
        (&end.details["status"], &end.details["exitReason"]),
        (&json!("completed"), &json!("manual-cancel"))
    );
    assert_eq!(bench.act(&id, "log", json!({})).await.details["status"], "completed");
    let listed = bench.call(json!({"action": "list"})).await;
    assert_eq!(listed.details["sessions"][0]["status"], "failed", "the list has the true status");
    assert_eq!(bench.text(&id, "remove", json!({})).await, format!("Removed session {id}."));

    let id = bench.start("sleep 1000", |_| {}).await;
    let removed = bench.act(&id, "remove", json!({})).await;
    assert_eq!(removed.text(), format!("Removed session {id} (termination requested)."));
    assert_eq!(removed.details, json!({"status": "completed", "name": "sleep 1000"}));
    assert_eq!(bench.text(&id, "poll", json!({})).await, format!("No session found for {id}"));
    assert_eq!(bench.call(json!({"action": "list"})).await.text(), "No running or recent sessions.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_a_failure_with_a_warning() {
    let bench = Bench::new().await;
    let id = bench.start("echo before; sleep 1000", |begin| begin.timeout_ms = Some(700)).await;
    let (output, end) = bench.to_the_end(&id).await;
    assert!(output.starts_with("before"), "{output}");
    assert!(
        end.text().contains("Process exited with signal SIG")
            && end.text().contains("do not rerun it blindly")
    );
    for (field, value) in [
        ("status", json!("failed")),
        ("exitReason", json!("overall-timeout")),
        ("failureKind", json!("overall-timeout")),
        ("timedOut", json!(true)),
        ("exitCode", Value::Null),
    ] {
        assert_eq!(end.details[field], value, "{field}");
    }
    let log = bench.act(&id, "log", json!({})).await;
    assert!(log.text().starts_with("before\n\n") && log.text().contains("do not rerun"), "{}", log.text());
    let listed = bench.call(json!({"action": "list"})).await;
    assert!(listed.text().contains(" [overall-timeout] :: echo before;"), "{}", listed.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_is_given_again() {
    let bench = Bench::new().await;
    let id = bench.start("echo once; sleep 1000", |_| {}).await;
    bench.shows(&id, "once").await;
    let call = |name: &str| {
        let context = Context { call_id: Some(name.to_owned()), ..Context::default() };
        bench.call_as(context, about(&id, "poll", &json!({})))
    };
    assert!(call("1").await.text().starts_with("once\n\n"));
    assert!(call("1").await.text().starts_with("once\n\n"), "the same call");
    assert!(call("2").await.text().starts_with("(no new output)\n\n"), "the next call");
    assert!(
        call("1").await.text().starts_with("(no new output)\n\n"),
        "only the last one can be asked for again"
    );
    bench.act(&id, "kill", json!({})).await;
}
