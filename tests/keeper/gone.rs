//! Callers who are gone before their answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::home::{Home, until};

#[test]
fn what_a_poll_did_not_deliver_is_for_the_next() {
    let home = Home::new();
    let gate = home.file("gate");
    let text =
        format!("while ! test -e {}; do sleep 0.05; done; echo IMPORTANT; exec sleep 1000", gate.display());
    let session = home.background(&text, &json!({}));
    let poll = json!({ "action": "poll", "sessionId": session, "timeout": 20_000 }).to_string();
    let mut gone = home.creel(&["tool", "process", &poll]).spawn().unwrap();
    until("the poll", || home.json(&["keeper", "status", "--json"])["calls"] == json!(1));
    gone.kill().unwrap();
    gone.wait().unwrap();
    std::fs::write(&gate, "").unwrap();
    until("the output", || home.ok(&["process", "log", &session]).contains("IMPORTANT"));
    std::thread::sleep(Duration::from_millis(700));
    let now = json!({ "action": "poll", "sessionId": session }).to_string();
    let told = home.ok(&["tool", "process", &now]);
    assert!(told.contains("IMPORTANT"), "{told}");
    let told = home.ok(&["tool", "process", &now]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert!(!told["content"][0]["text"].as_str().unwrap().contains("IMPORTANT"), "{told}");
}

#[test]
fn what_nobody_waits_for_does_not_go_on_in_the_background() {
    let home = Home::new();
    let ran = home.file("ran");
    let args = json!({ "command": format!("touch {}; exec sleep 1000", ran.display()), "yieldMs": 2000 });
    let mut gone = home.creel(&["tool", "exec", &args.to_string()]).spawn().unwrap();
    until("the command", || ran.exists());
    gone.kill().unwrap();
    gone.wait().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    // A list for agents has what is in the background.
    let told = home.ok(&["tool", "process", r#"{"action":"list"}"#]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["details"]["sessions"], json!([]), "{told}");
    // Its caller had thirty seconds to come back.
    until("its end", || home.json(&["process", "list", "--json"])["sessions"] == json!([]));
}
