//! Programs at a terminal: keys, pastes, screens.

use std::time::Duration;

use creel::process::record::SessionId;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::bench::Bench;

const UNANNOUNCED: &str = "Warnings:\n- The program has not announced a cursor key mode; ";

/// Shows the next `count` bytes of its input.
fn bytes(before: &str, count: usize) -> String {
    format!("stty raw -echo; {before}echo ready; dd bs=1 count={count} 2>/dev/null | od -An -tx1; sleep 1000")
}

async fn sent(bench: &Bench, id: &SessionId, keys: Value) -> String {
    bench.text(id, "send-keys", json!({"keys": keys})).await
}

/// The calls of the seeds, as they are written there.
#[tokio::test(flavor = "multi_thread")]
async fn the_seeds_calls_work_as_written() {
    let bench = Bench::new().await;
    let id = bench.terminal(&bytes("", 8)).await;
    bench.shows(&id, "ready").await;
    let up = sent(&bench, &id, json!(["Up", "Up", "Enter"])).await;
    assert!(
        up.starts_with(&format!("Sent 7 bytes to session {id}.\n{UNANNOUNCED}3 ")) || up.contains("2 arrow"),
        "{up}"
    );
    assert_eq!(sent(&bench, &id, json!(["Enter"])).await, format!("Sent 1 bytes to session {id}."));
    bench.shows(&id, "1b 5b 41 1b 5b 41 0d 0d").await;
    bench.act(&id, "kill", json!({})).await;

    let id =
        bench.terminal("trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 0.1; done").await;
    bench.shows(&id, "ready").await;
    assert_eq!(sent(&bench, &id, json!(["C-c"])).await, format!("Sent 1 bytes to session {id}."));
    let (output, end) = bench.to_the_end(&id).await;
    assert!(output.contains("interrupted") && end.details["exitCode"] == 7, "{output} {end:?}");

    let id = bench.terminal("echo name?; read x; echo \"got:$x\"").await;
    bench.shows(&id, "name?").await;
    bench.act(&id, "write", json!({"data": "abc"})).await;
    let submitted = bench.act(&id, "submit", json!({})).await;
    assert_eq!(submitted.text(), format!("Submitted session {id} (sent CR)."));
    assert_eq!(submitted.details["status"], "running");
    let (output, _) = bench.to_the_end(&id).await;
    assert!(output.contains("got:abc"), "{output}");

    let id = bench.terminal(&bytes("", 24)).await;
    bench.shows(&id, "ready").await;
    let pasted = bench.text(&id, "paste", json!({"text": "line1\nline2\n"})).await;
    assert_eq!(pasted, format!("Pasted 12 chars to session {id}."));
    bench.shows(&id, "1b 5b 32 30 30 7e 6c 69 6e 65 31 0a 6c 69 6e 65").await;
    bench.shows(&id, "32 0a 1b 5b 32 30 31 7e").await;
    bench.act(&id, "kill", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_follow_the_mode_that_the_program_announced() {
    let bench = Bench::new().await;
    let id = bench.terminal(&bytes("printf '\\033[?1h'; ", 9)).await;
    bench.shows(&id, "ready").await;
    let text = bench
        .text(&id, "send-keys", json!({"keys": ["Up", "M-x"], "hex": ["0x41", "zz"], "literal": "é"}))
        .await;
    assert_eq!(text, format!("Sent 8 bytes to session {id}.\nWarnings:\n- Invalid hex byte: zz"));
    assert_eq!(
        sent(&bench, &id, json!("F1")).await,
        format!("Sent 3 bytes to session {id}."),
        "a bare string is one key"
    );
    bench.shows(&id, "c3 a9 41 1b 4f 41 1b 78 1b").await;
    bench.act(&id, "kill", json!({})).await;

    let piped = bench.piped("dd bs=1 count=3 2>/dev/null | od -An -tx1").await;
    assert_eq!(
        sent(&bench, &piped, json!(["Up"])).await,
        format!("Sent 3 bytes to session {piped}."),
        "no warning on pipes"
    );
    let (output, _) = bench.to_the_end(&piped).await;
    assert_eq!(output.trim(), "1b 5b 41");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paste_cannot_press_keys() {
    let bench = Bench::new().await;
    let id = bench.terminal("cat -v >/dev/null; echo over").await;
    let text = bench.text(&id, "paste", json!({"text": "a\u{1b}[201~rm -rf x\r"})).await;
    assert!(
        text.starts_with(&format!("Pasted 16 chars to session {id}.\nWarnings:\n- 1 end marker")),
        "{text}"
    );
    let plain = bench.text(&id, "paste", json!({"text": "\n", "bracketed": false})).await;
    assert_eq!(plain, format!("Pasted 1 chars to session {id}."));
    let closed = bench.text(&id, "write", json!({"data": "x\n", "eof": true})).await;
    assert_eq!(closed, format!("Wrote 2 bytes to session {id} (stdin closed)."));
    let refused = bench.text(&id, "write", json!({"data": "x"})).await;
    // Which of them it is, depends on how soon the program ends.
    let closed = [
        format!("Session {id} stdin is not writable."),
        format!("Session {id} is finalizing."),
        format!("No active session found for {id}"),
    ];
    assert!(closed.iter().any(|text| refused.starts_with(text)), "{refused}");
    let (output, _) = bench.to_the_end(&id).await;
    assert!(output.contains("over"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_input_ends_an_unfinished_line_too() {
    let bench = Bench::new().await;
    for data in ["", "a whole line\n", "no whole line"] {
        let id = bench.terminal("cat >/dev/null; echo over").await;
        bench.text(&id, "write", json!({"data": data, "eof": true})).await;
        let (output, _) = bench.to_the_end(&id).await;
        assert!(output.contains("over"), "{data:?}: {output}");
    }
    let id = bench.terminal("cat >/dev/null; echo over; read next; echo $next").await;
    bench.text(&id, "send-keys", json!({"keys": ["C-d"]})).await;
    bench.text(&id, "write", json!({"data": "still typing\n"})).await;
    let (output, _) = bench.to_the_end(&id).await;
    assert!(output.contains("over"), "{output}");
    // A program that reads on after the end of its input: the refusal names a way out.
    let id = bench.terminal("cat >/dev/null; sleep 30").await;
    bench.text(&id, "write", json!({"data": "x", "eof": true})).await;
    let refused = bench.text(&id, "write", json!({"data": "x"})).await;
    assert!(refused.contains("not writable") && refused.contains("C-d"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_is_used_by_its_screen() {
    let bench = Bench::new().await;
    let id = bench.terminal("vi /tmp/note; echo left; cat /tmp/note").await;
    bench.shows(&id, "/tmp/note").await;
    bench.act(&id, "send-keys", json!({"literal": "ihello"})).await;
    sent(&bench, &id, json!(["Escape"])).await;
    bench.shows(&id, "hello").await;
    bench.is_silent(&id, Duration::from_millis(300)).await;
    let screen = bench.act(&id, "screen", json!({})).await;
    let seen = &screen.details["screen"];
    assert_eq!((&seen["rows"][0], &seen["columns"]), (&json!("hello"), &json!(120)), "{}", screen.text());
    assert_eq!(seen["rows"].as_array().unwrap().len(), 30);
    assert_eq!(seen["cursor"]["row"], 0);
    assert!(screen.text().starts_with("hello\n~\n"), "{}", screen.text());
    assert!(
        screen.text().contains("[Terminal of 120 columns and 30 rows; cursor in row 0, column "),
        "{}",
        screen.text()
    );
    assert_eq!((&screen.details["tty"], &screen.details["partial"]), (&json!(true), &json!(false)));
    bench.act(&id, "send-keys", json!({"literal": ":wq", "keys": ["Enter"]})).await;
    let (_, end) = bench.to_the_end(&id).await;
    assert_eq!(end.details["exitCode"], 0);
    let screen = bench.act(&id, "screen", json!({})).await;
    assert!(screen.text().contains("left\nhello"), "{}", screen.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn screens_of_pipes_and_of_floods() {
    let bench = Bench::new().await;
    let id = bench.start("printf 'one\\ntwo\\n\\033]0;ti\\302\\255tle\\007'; sleep 1000", |_| {}).await;
    bench.shows(&id, "two").await;
    let screen = bench.act(&id, "screen", json!({})).await;
    assert!(
        screen.text().starts_with("one\ntwo\n\n[Output on pipes, drawn as a terminal"),
        "{}",
        screen.text()
    );
    bench.act(&id, "kill", json!({})).await;

    // Two million full clearings: drawn from the end alone, and soon.
    let flood = bench
        .terminal("yes \"$(printf '\\033c')\" | head -c 4000000; printf '\\033cthe end'; sleep 1000")
        .await;
    bench.lab.printed(&flood, "the end").await;
    let begun = std::time::Instant::now();
    let screen = bench.act(&flood, "screen", json!({})).await;
    assert!(screen.text().starts_with("the end\n"), "{}", screen.text());
    assert_eq!(screen.details["partial"], true);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    bench.act(&flood, "kill", json!({})).await;
}
