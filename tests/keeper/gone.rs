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

#[test]
fn a_call_whose_keeper_died_before_the_start_is_started_anew() {
    let home = Home::new();
    let (ran, gate) = (home.file("ran"), home.file("gate"));
    let text = format!(
        "echo ran >> {}; while ! test -e {}; do sleep 0.05; done; echo done",
        ran.display(),
        gate.display()
    );
    let call = home.creel(&["tool", "exec", &json!({ "command": text }).to_string()]).spawn().unwrap();
    until("the command", || ran.exists());
    let tell = |signal: &str| {
        let sent = std::process::Command::new("kill").args([signal, &call.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    // Nobody starts the next keeper before the table is as if the first had died a moment earlier.
    let keeper = home.keeper().unwrap();
    tell("-STOP");
    let killed = std::process::Command::new("kill").args(["-KILL", &keeper.to_string()]).status();
    assert!(killed.unwrap().success());
    until("its end", || !crate::home::alive(keeper));
    let database = rusqlite::Connection::open(home.state().join("creel/creel.db")).unwrap();
    let earlier =
        "UPDATE sessions SET phase = 'starting', confirmed = 0, command = zeroblob(length(command))";
    assert_eq!(database.execute(earlier, []).unwrap(), 1);
    drop(database);
    std::fs::write(&gate, "").unwrap();
    tell("-CONT");
    let done = crate::home::Done::of(call.wait_with_output().unwrap());
    assert!(done.status == Some(0) && done.out.contains("done"), "{done:?}");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\nran\n");
}
