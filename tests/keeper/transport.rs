//! The socket: requests and answers, what is not a request, who does not read, and callers who come back.

use std::time::Duration;

use creel::keeper::{Ended, News, connect_to_running};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};

use crate::inside::{Inside, PATIENCE};

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);

fn call(tool: &str, id: Option<&str>, args: Value) -> Value {
    json!({ "tool": tool, "args": args, "context": { "agent": "a", "callId": id } })
}

#[tokio::test]
async fn requests_are_answered_with_their_id() {
    let keeper = Inside::start(LONG, LONG).await;
    let caller = keeper.connect().await;
    let done = caller.request("tool.call", call("echo", None, json!({ "x": "y\n" }))).await.unwrap().unwrap();
    assert_eq!(done["details"], json!({ "status": "completed", "params": { "x": "y\n" }, "agent": "a" }));
    let thrown = caller.request("tool.call", call("none", None, json!({}))).await.unwrap().unwrap_err();
    assert_eq!((thrown.code.as_str(), thrown.text.is_some()), ("CRL-TOOL-001", true));
    for (method, params, code) in [
        ("nonsense", json!({}), "CRL-KEEPER-008"),
        ("tool.call", json!({ "tool": 7 }), "CRL-KEEPER-009"),
        ("tool.call", json!({ "tool": "echo", "context": { "admin": true } }), "CRL-KEEPER-009"),
        ("process.show", json!([]), "CRL-KEEPER-009"),
    ] {
        let refused = caller.request(method, params).await.unwrap().unwrap_err();
        assert_eq!(refused.code, code, "{method}");
    }
    let status = caller.request("keeper.status", Value::Null).await.unwrap().unwrap();
    assert_eq!((&status["process"], &status["clients"]), (&json!(std::process::id()), &json!(0)));
    assert_eq!(keeper.end().await, Ended::Asked);
}

#[tokio::test]
async fn garbage_is_answered_and_ends_only_its_connection() {
    let keeper = Inside::start(LONG, LONG).await;
    let other = keeper.connect().await;
    let long = vec![b'x'; creel::keeper::MAX_REQUEST + 1];
    let cases: [&[u8]; 6] =
        [b"GET / HTTP/1.1\n", b"\xff\xfe\0\n", b"[1]\n", b"{\"id\":{},\"method\":\"x\"}\n", b"{}\n", &long];
    for garbage in cases {
        let mut stream = keeper.raw().await;
        // It may be refused before all of it is written.
        let _ = stream.write_all(garbage).await;
        let mut said = String::new();
        stream.read_line(&mut said).await.unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert!(said["id"].is_null(), "{said}");
        let code = if garbage.len() > 100 { "CRL-KEEPER-007" } else { "CRL-KEEPER-006" };
        assert_eq!(said["error"]["code"], code);
        let mut rest = Vec::new();
        // Closed with unread bytes, a socket may say so.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }
    assert!(other.request("keeper.status", Value::Null).await.unwrap().is_ok());
    keeper.end().await;
}

#[tokio::test]
async fn who_does_not_read_holds_up_nobody_else() {
    let keeper = Inside::start(LONG, LONG).await;
    let mut deaf = keeper.raw().await;
    for id in 0..20 {
        let request = json!({ "id": id, "method": "tool.call", "params": call("flood", None, json!({})) });
        deaf.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    }
    keeper.tool.until("the floods", |tool| tool.begun() >= 20).await;
    let caller = keeper.connect().await;
    let answer = caller.request("tool.call", call("echo", None, json!({})));
    tokio::time::timeout(PATIENCE, answer).await.expect("in time").unwrap().unwrap();
    drop(deaf);
    keeper.end().await;
}

#[tokio::test]
async fn too_many_callers_are_told_so() {
    let keeper = Inside::start(LONG, LONG).await;
    let mut callers = Vec::new();
    for _ in 0..256 {
        callers.push(keeper.raw().await);
    }
    let refused = connect_to_running(&keeper.state).await.unwrap_err();
    assert!(refused.to_string().contains("more than 256"), "{refused}");
    callers.clear();
    // The keeper sees the ends one after the other.
    let wait = async {
        while connect_to_running(&keeper.state).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("room again");
    keeper.end().await;
}

#[tokio::test]
async fn who_comes_back_gets_the_same_call() {
    let keeper = Inside::start(LONG, LONG).await;
    let first = keeper.connect().await;
    let mut pending = first.ask("tool.call", call("wait", Some("one"), json!({}))).await.unwrap();
    let News::Update(update) = pending.next().await.unwrap() else { panic!("no update") };
    assert_eq!(update["content"][0]["text"], "on the way");
    drop(pending);
    drop(first);
    let second = keeper.connect().await;
    let other = second.request("tool.call", call("echo", Some("one"), json!({ "x": 1 }))).await.unwrap();
    assert_eq!(
        other.unwrap()["details"]["params"],
        json!({ "x": 1 }),
        "the same id for something else is another call"
    );
    let mut again = second.ask("tool.call", call("wait", Some("one"), json!({}))).await.unwrap();
    keeper.tool.release.notify_one();
    loop {
        if let News::Done(done) = again.next().await.unwrap() {
            assert_eq!(done.unwrap()["details"]["status"], "completed");
            break;
        }
    }
    assert_eq!((keeper.tool.begun(), keeper.tool.cancelled()), (2, 0));
    keeper.end().await;
}

#[tokio::test]
async fn who_stays_away_loses_the_call() {
    let keeper = Inside::start(SHORT, LONG).await;
    for (count, id) in [(1, Some("one")), (2, None)] {
        let caller = keeper.connect().await;
        let pending = caller.ask("tool.call", call("wait", id, json!({}))).await.unwrap();
        keeper.tool.until("the call", |tool| tool.begun() == count).await;
        drop(pending);
        drop(caller);
        keeper.tool.until("its end", |tool| tool.cancelled() == count).await;
    }
    keeper.end().await;
}

#[tokio::test]
async fn a_call_is_taken_back() {
    let keeper = Inside::start(LONG, LONG).await;
    let caller = keeper.connect().await;
    let mut pending = caller.ask("tool.call", call("wait", Some("one"), json!({}))).await.unwrap();
    keeper.tool.until("the call", |tool| tool.begun() == 1).await;
    let told = caller.request("tool.cancel", json!({ "callId": "one" })).await.unwrap().unwrap();
    assert_eq!(told["cancelled"], true);
    while let News::Update(_) = pending.next().await.unwrap() {}
    let mut pending = caller.ask("tool.call", call("wait", None, json!({}))).await.unwrap();
    keeper.tool.until("the call", |tool| tool.begun() == 2).await;
    pending.cancel().await.unwrap();
    let done = loop {
        if let News::Done(done) = pending.next().await.unwrap() {
            break done;
        }
    };
    assert!(done.is_err());
    assert_eq!(keeper.tool.cancelled(), 2);
    keeper.end().await;
}

#[tokio::test]
async fn ends_when_nobody_is_there_and_removes_its_socket() {
    let keeper = Inside::start(LONG, SHORT).await;
    let state = keeper.state.clone();
    let caller = keeper.connect().await;
    caller.request("keeper.status", Value::Null).await.unwrap().unwrap();
    tokio::time::sleep(SHORT * 4).await;
    assert!(!keeper.life.is_finished(), "a caller is there");
    drop(caller);
    let ended = tokio::time::timeout(PATIENCE, keeper.life).await.expect("it ends").unwrap();
    assert_eq!(ended, Ended::Idle);
    assert!(!state.root().join("creel/keeper.sock").exists());
    drop(keeper.dir);
}

#[tokio::test]
async fn stops_when_asked_with_calls_under_way() {
    let keeper = Inside::start(LONG, LONG).await;
    let caller = keeper.connect().await;
    let mut pending = caller.ask("tool.call", call("wait", Some("one"), json!({}))).await.unwrap();
    keeper.tool.until("the call", |tool| tool.begun() == 1).await;
    let told = caller.request("keeper.stop", Value::Null).await.unwrap();
    assert_eq!(told.unwrap()["stopping"], true);
    while pending.next().await.is_ok() {}
    assert!(caller.is_closed());
    assert_eq!(keeper.tool.cancelled(), 0, "a call that its keeper lets go of is not cancelled");
    let ended = tokio::time::timeout(PATIENCE, keeper.life).await.expect("it ends").unwrap();
    assert_eq!(ended, Ended::Asked);
}
