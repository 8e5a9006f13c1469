//! Waiting: for news, for a text, for quiet, for the end; and programs that wait for input.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::bench::{Bench, about};
use creel::tools::Context;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_waits_for_news_and_no_longer() {
    let bench = Bench::new().await;
    let id = bench.piped("read x; echo news; read y").await;
    let at_once = Instant::now();
    assert!(bench.text(&id, "poll", json!({})).await.starts_with("(no new output)"));
    assert!(bench.text(&id, "poll", json!({"timeout": -5})).await.starts_with("(no new output)"));
    assert!(at_once.elapsed() < Duration::from_secs(5));
    let begun = Instant::now();
    let (poll, _) = tokio::join!(bench.text(&id, "poll", json!({"timeout": 30_000})), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        bench.text(&id, "write", json!({"data": "x\n"})).await
    });
    assert!(poll.starts_with("news\n\nProcess still running."), "{poll}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    // The end is news too.
    let (poll, _) = tokio::join!(
        bench.text(&id, "poll", json!({"timeout": 30_000})),
        bench.text(&id, "write", json!({"data": "y\n", "eof": true}))
    );
    assert_eq!(poll, "(no new output)\n\nProcess exited with code 0.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_poll_takes_nothing() {
    let bench = Bench::new().await;
    let id = bench.piped("read x; echo precious; read y").await;
    let cancel = CancellationToken::new();
    let (params, context) = (about(&id, "poll", &json!({"timeout": 30_000})), Context::default());
    let call =
        creel::tools::process::call(&bench.lab.sessions, &bench.polls, params, &context, cancel.clone());
    let (answer, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(answer.unwrap().details["status"], "failed");
    bench.act(&id, "write", json!({"data": "x\n"})).await;
    bench.shows(&id, "precious").await;
    assert!(bench.text(&id, "poll", json!({})).await.starts_with("precious\n\n"));
    bench.act(&id, "kill", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_waits_for_input_is_told() {
    let bench = Bench::new().await;
    let id = bench.terminal("printf 'name? '; read x").await;
    bench.shows(&id, "name?").await;
    // The threshold of these tests is one second.
    bench.is_silent(&id, Duration::from_millis(1100)).await;
    let poll = bench.act(&id, "poll", json!({})).await;
    let text = poll.text();
    assert!(
        text.starts_with("name?\n\nProcess still running.\n\nNo output for 1s; it may be waiting for input."),
        "{text}"
    );
    assert_eq!(poll.details["waitingForInput"], true);
    let log = bench.act(&id, "log", json!({})).await;
    assert!(log.text().contains("it may be waiting for input") && log.details["waitingForInput"] == true);
    let listed = bench.call(json!({"action": "list"})).await;
    assert!(listed.text().contains(" [input-wait] :: printf 'name? ';"), "{}", listed.text());
    bench.act(&id, "submit", json!({})).await;
    let (_, end) = bench.to_the_end(&id).await;
    assert_eq!((&end.details["exitCode"], &end.details["waitingForInput"]), (&json!(0), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_hold_or_the_wait_says_why_not() {
    let bench = Bench::new().await;
    let id = bench.piped("echo 'listening on 8080'; cat; exit 4").await;
    let met = bench.act(&id, "wait", json!({"regex": "^listening on \\d+$", "timeout": 60_000})).await;
    assert!(met.text().starts_with("Condition met after "), "{}", met.text());
    assert!(met.text().ends_with("\n\nlistening on 8080"), "{}", met.text());
    assert_eq!((&met.details["outcome"], &met.details["status"]), (&json!("met"), &json!("running")));
    let late = bench.act(&id, "wait", json!({"text": "never", "timeout": 50})).await;
    assert!(late.text().starts_with("The condition was not met within "), "{}", late.text());
    assert_eq!((&late.details["met"], &late.details["outcome"]), (&json!(false), &json!("timed-out")));
    let (gone, _) = tokio::join!(
        bench.act(&id, "wait", json!({"text": "never", "timeout": 60_000})),
        bench.act(&id, "write", json!({"data": "bye\n", "eof": true}))
    );
    assert!(
        gone.text().starts_with("The process ended before the condition was met.\n\n"),
        "{}",
        gone.text()
    );
    assert!(gone.text().ends_with("Process exited with code 4."), "{}", gone.text());
    assert_eq!((&gone.details["outcome"], &gone.details["exitCode"]), (&json!("ended"), &json!(4)));
    let over = bench.act(&id, "wait", json!({"exit": true, "text": "bye"})).await;
    assert_eq!(over.details["met"], true, "{}", over.text());
    // A wait takes nothing away.
    assert!(bench.text(&id, "poll", json!({})).await.starts_with("listening on 8080\nbye\n\n"));
}

/// What scrolls away while somebody waits for it was there.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_scrolls_away_is_seen() {
    let bench = Bench::new().await;
    let id = bench.terminal("read x; echo MARK; seq 1 60; read y").await;
    let (seen, _) = tokio::join!(bench.act(&id, "wait", json!({"text": "MARK", "timeout": 60_000})), async {
        bench.act(&id, "write", json!({"data": "x\n"})).await
    });
    assert_eq!(seen.details["outcome"], "met", "{}", seen.text());
    bench.act(&id, "kill", json!({})).await;
}
