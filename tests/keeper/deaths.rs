//! Keepers that die, and what the next one finds.

use std::path::Path;

use creel::keeper::connect;
use creel::state::StateDir;
use serde_json::{Value, json};

use crate::home::{Done, Home, Lines, alive, until};

#[test]
fn a_background_command_survives_every_keeper() {
    let home = Home::new();
    let gate = home.file("gate");
    let text =
        format!("echo begin; while ! test -e {}; do sleep 0.05; done; echo end; exit 4", gate.display());
    let session = home.background(&text, &json!({}));
    let first = home.signal("-KILL");
    assert!(home.state().join("creel/keeper.sock").exists(), "a killed one leaves its socket");
    let listed = home.json(&["process", "list", "--json"]);
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str());
    assert_eq!(listed["sessions"][0]["status"], "running");
    let second = home.signal("-TERM");
    assert_ne!(first, second);
    assert!(!home.state().join("creel/keeper.sock").exists(), "one that ends takes it away");
    std::fs::write(&gate, "").unwrap();
    home.ok(&["process", "wait", &session, "--exit"]);
    let log = home.ok(&["process", "log", &session]);
    assert_eq!(log.trim(), "begin\nend");
    let attached = home.run(&["process", "attach", &session]);
    assert_eq!((attached.status, attached.out.as_str()), (Some(4), "begin\nend\n"));
    // The notice of its end is there, once, also for the keeper after next.
    home.signal("-KILL");
    let events = home.ok(&["events", "--json"]);
    assert_eq!(events.lines().count(), 1, "{events}");
    assert!(events.contains("exec-exit") && events.contains("code 4"), "{events}");
    home.ok(&["events", "--ack"]);
    assert_eq!(home.ok(&["events", "--json"]), "");
}

#[test]
fn the_first_answer_after_a_takeover_tells_everything() {
    let home = Home::new();
    let (gate, over) = (home.file("gate"), home.file("over"));
    let text = format!(
        "echo begin; while ! test -e {}; do sleep 0.05; done; seq 1 2000; echo end; touch {}; exit 4",
        gate.display(),
        over.display()
    );
    let sessions: Vec<String> = (0..2).map(|_| home.background(&text, &json!({}))).collect();
    home.signal("-KILL");
    std::fs::write(&gate, "").unwrap();
    until("the end", || over.exists());
    std::thread::sleep(std::time::Duration::from_millis(300));
    let poll = json!({ "action": "poll", "sessionId": sessions[0] }).to_string();
    let told = home.json(&["tool", "process", &poll]);
    assert_eq!(told["details"]["exitCode"], 4, "the first poll");
    assert!(told["content"][0]["text"].as_str().unwrap().contains("end\n"), "with what was printed last");
    home.signal("-KILL");
    let listed = home.json(&["process", "list", "--json"]);
    for row in listed["sessions"].as_array().unwrap() {
        assert!(row["end"]["exitCode"] == 4, "the first list: {row}");
    }
}

#[test]
fn a_call_completes_though_its_keeper_is_killed() {
    let home = Home::new();
    let (ran, gate) = (home.file("ran"), home.file("gate"));
    let text = format!(
        "echo one; echo ran >> {}; while ! test -e {}; do sleep 0.05; done; echo two; exit 7",
        ran.display(),
        gate.display()
    );
    let call = home.creel(&["tool", "exec", &json!({ "command": text }).to_string()]).spawn().unwrap();
    until("the command", || ran.exists());
    home.signal("-KILL");
    std::fs::write(&gate, "").unwrap();
    let done = Done::of(call.wait_with_output().unwrap());
    assert_eq!(done.status, Some(0), "{done:?}");
    let told: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&told["details"]["exitCode"], &told["details"]["aggregated"]),
        (&json!(7), &json!("one\ntwo\n"))
    );
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n", "it ran once");
    // Once its caller has the result, nothing is kept of it.
    until("an empty list", || home.json(&["process", "list", "--json"])["sessions"] == json!([]));
}

#[test]
fn the_same_call_is_one_command() {
    let home = Home::new();
    let ran = home.file("ran");
    let text = json!({ "command": format!("echo ran >> {}; sleep 1; echo done", ran.display()) }).to_string();
    let call = || home.creel(&["tool", "exec", &text, "--context", r#"{"callId":"one"}"#]).spawn().unwrap();
    let both = [call(), call()].map(|child| Done::of(child.wait_with_output().unwrap()));
    for done in &both {
        assert!(done.status == Some(0) && done.out.contains("done"), "{done:?}");
    }
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n");
}

#[test]
fn a_call_that_is_made_again_after_its_answer_is_the_same_command() {
    let home = Home::new();
    let ran = home.file("ran");
    let text = json!({ "command": format!("echo ran >> {}; echo done", ran.display()) }).to_string();
    let call =
        |id: &str| home.json(&["tool", "exec", &text, "--context", &json!({ "callId": id }).to_string()]);
    for _ in 0..2 {
        assert_eq!(call("one")["details"]["aggregated"], "done\n");
    }
    home.signal("-KILL");
    assert_eq!(call("one")["details"]["aggregated"], "done\n");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n", "once");
    assert_eq!(home.json(&["process", "list", "--json"])["sessions"], json!([]), "and nothing is listed");
    assert_eq!(call("two")["details"]["aggregated"], "done\n");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\nran\n");
}

#[test]
fn an_end_that_nobody_saw_was_when_it_was() {
    let home = Home::new();
    let over = home.file("over");
    let session = home.background(&format!("sleep 0.5; touch {}", over.display()), &json!({}));
    home.signal("-KILL");
    until("the end", || over.exists());
    std::thread::sleep(std::time::Duration::from_millis(2500));
    home.ok(&["process", "wait", &session, "--exit"]);
    let row = home.json(&["process", "list", "--json"])["sessions"][0].clone();
    assert!(row["runtimeMs"].as_u64().unwrap() < 2000, "{row}");
}

#[test]
fn followers_of_events_miss_nothing() {
    let home = Home::new();
    let follower = Lines::of(&mut home.creel(&["events", "--follow", "--json"]));
    home.background("sleep 1; echo first", &json!({}));
    assert!(follower.next().contains("first"));
    home.signal("-KILL");
    home.background("sleep 1; echo second", &json!({}));
    let line = follower.next();
    assert!(line.contains("second") && !line.contains("first"), "{line}");
}

#[test]
fn many_callers_at_once_start_one_keeper() {
    let home = Home::new();
    // What the last boot of the machine left: a number that means nothing now, a socket that nobody serves.
    let own = home.state().join("creel");
    std::fs::create_dir_all(own.join("pool")).unwrap();
    std::fs::write(own.join("pool/holder"), "1\n").unwrap();
    drop(std::os::unix::net::UnixListener::bind(own.join("keeper.sock")).unwrap());
    let callers: Vec<_> =
        (0..5).map(|_| home.creel(&["process", "list", "--json"]).spawn().unwrap()).collect();
    for caller in callers {
        let done = Done::of(caller.wait_with_output().unwrap());
        assert_eq!(done.status, Some(0), "{done:?}");
    }
    let keeper = home.keeper().expect("a keeper");
    let other = home.run(&["keeper"]);
    assert!(other.status == Some(0) && other.err.contains(&format!("process {keeper} keeps")), "{other:?}");
}

#[tokio::test]
async fn another_build_is_replaced_and_its_commands_go_on() {
    let home = Home::new();
    let session = home.background("sleep 1000", &json!({}));
    let first = home.keeper().unwrap();
    // Another file is another build.
    let copy = home.file("creel");
    std::fs::copy(env!("CARGO_BIN_EXE_creel"), &copy).unwrap();
    let state = StateDir::at(home.state());
    let connection = connect(&state, &copy).await.unwrap();
    let second = u64::from(connection.hello().process);
    assert_ne!(first, second);
    until("the end of the first", || !alive(first));
    let row = connection.request("process.show", json!({ "sessionId": session })).await.unwrap().unwrap();
    assert_eq!(row["status"], "running");
    // The same build is left alone.
    let again = connect(&state, &copy).await.unwrap();
    assert_eq!(u64::from(again.hello().process), second);
}

#[tokio::test]
async fn a_program_that_is_no_keeper_is_an_error_with_its_words() {
    let home = Home::new();
    let state = StateDir::at(home.state());
    let error = connect(&state, Path::new("/bin/false")).await.unwrap_err();
    assert!(error.to_string().contains("does not answer"), "{error}");
    let error = connect(&state, Path::new("/nonexistent/creel")).await.unwrap_err();
    assert!(error.to_string().contains("cannot be started"), "{error}");
}
