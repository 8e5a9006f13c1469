//! What is kept, what is shown of it, and what is said where something is missing.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::bench::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn logs_show_the_lines_that_are_asked_for() {
    let bench = Bench::new().await;
    let id = bench.start("seq 1 250", |_| {}).await;
    bench.lab.ended(&id).await;
    let log = bench.act(&id, "log", json!({})).await;
    let text = log.text();
    assert!(text.starts_with("51\n52\n"), "{text}");
    assert!(
        text.ends_with("\n250\n\n[The last 200 of 250 lines; read others with offset and limit.]"),
        "{text}"
    );
    for (field, value) in [
        ("total", json!(250)),
        ("totalLines", json!(250)),
        ("totalChars", json!(892)),
        ("truncated", json!(false)),
        ("output", json!(text)),
        ("exitCode", json!(0)),
        ("status", json!("completed")),
    ] {
        assert_eq!(log.details[field], value, "{field}");
    }
    for (more, wanted) in [
        (json!({"limit": 2}), "249\n250"),
        (json!({"offset": 0, "limit": 3}), "1\n2\n3"),
        (json!({"offset": "247.9"}), "248\n249\n250"),
        (json!({"offset": -5, "limit": 1}), "1"),
        (json!({"offset": 249, "limit": 99}), "250"),
        (
            json!({"offset": 250}),
            "(no output recorded)\n\n[None of the 250 lines that are kept was asked for; they count from 0.]",
        ),
    ] {
        assert_eq!(bench.text(&id, "log", more.clone()).await, wanted, "{more}");
    }
    assert_eq!(
        bench.text(&id, "log", json!({"offset": 0})).await.lines().count(),
        250,
        "no cap from an offset on"
    );
    // A log takes nothing away.
    assert!(bench.text(&id, "poll", json!({})).await.starts_with("1\n2\n"));

    let silent = bench.start("sleep 1000", |_| {}).await;
    assert_eq!(bench.text(&silent, "log", json!({})).await, "(no output yet)");
    bench.act(&silent, "kill", json!({})).await;
    bench.lab.ended(&silent).await;
    assert_eq!(bench.text(&silent, "log", json!({})).await, "(no output recorded)");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_caps_dropped_is_told() {
    let bench = Bench::new().await;
    let id = bench.start("yes ab | head -n 100000; echo end", |_| {}).await;
    bench.lab.ended(&id).await;
    let poll = bench.act(&id, "poll", json!({})).await.text();
    let mut lines = poll.lines();
    assert!(lines.next().unwrap().starts_with("[Earlier output was discarded"), "{poll:.200}");
    assert!(
        lines.next().unwrap().starts_with("[Some output since the last poll is left out here;"),
        "{poll:.200}"
    );
    assert!(poll.ends_with("ab\nend\n\nProcess exited with code 0."));
    assert!(poll.len() > 29_000 && poll.len() < 31_000, "{}", poll.len());
    let log = bench.act(&id, "log", json!({"limit": 1})).await;
    assert!(
        log.text().starts_with("[Earlier output was discarded") && log.text().ends_with("\n\nend"),
        "{}",
        log.text()
    );
    assert_eq!(log.details["totalChars"], 200_000);
    assert_eq!(log.details["truncated"], true);
    assert_eq!(
        bench.act(&id, "poll", json!({})).await.details["aggregated"].as_str().unwrap().len(),
        200_000
    );
    let listed = bench.call(json!({"action": "list"})).await;
    let entry = &listed.details["sessions"][0];
    assert_eq!(
        (entry["truncated"].as_bool(), entry["tail"].as_str().map(str::len)),
        (Some(true), Some(2000))
    );
}

/// More than a poll shows, and less than what is kept: nothing is lost for good.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_poll_leaves_out_is_in_the_log() {
    let bench = Bench::new().await;
    let id = bench.start("seq 1 20000; sleep 1000", |_| {}).await;
    bench.shows(&id, "\n20000\n").await;
    let poll = bench.text(&id, "poll", json!({})).await;
    assert!(
        poll.starts_with("[Some output since the last poll is left out here; read it with action=log"),
        "{poll:.200}"
    );
    let log = bench.act(&id, "log", json!({"offset": 0, "limit": 1})).await;
    assert_eq!((log.text().as_str(), &log.details["truncated"]), ("1", &json!(true)));
    assert!(bench.text(&id, "poll", json!({})).await.starts_with("(no new output)\n\n"), "told once");
    bench.act(&id, "kill", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn characters_survive_cuts_and_sequences_do_not() {
    let bench = Bench::new().await;
    // Two pipes have an order only where there is time between them.
    let text = "p() { printf \"$1\"; sleep 0.3; }; p 'caf\\303'; p '\\251 \\033[3'; p '1mred\\033[0m\\a\\001\\n'; \
                p 'er\\342\\200' >&2; p 'out\\n'; p '\\213r\\n' >&2; printf 'cut\\360\\237'";
    let id = bench.start(text, |_| {}).await;
    bench.lab.ended(&id).await;
    let log = bench.text(&id, "log", json!({})).await;
    let mut lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.remove(0), "café red\\x07\\x01");
    // The other stream's half of a character (a zero-width space) changes nothing here.
    assert_eq!(lines, ["erout", "r", "cut\u{fffd}"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_sequences_shows_nothing_and_ends() {
    let bench = Bench::new().await;
    let text = "i=0; while [ $i -lt 3000 ]; do printf '\\033[38;5;196m\\033]0;title\\007\\033(B'; i=$((i+1)); done; \
                printf '\\033]52;c;'; head -c 300000 /dev/zero | tr '\\0' A; printf '\\007end\\n'";
    let id = bench.start(text, |_| {}).await;
    bench.lab.ended(&id).await;
    let poll = bench.act(&id, "poll", json!({})).await;
    assert_eq!(poll.text(), "end\n\nProcess exited with code 0.");
    assert_eq!(poll.details["aggregated"], "end\n");
}
