//! Host commands that wait for a person in a keeper, and keepers that die meanwhile.

use std::path::Path;

use creel::keeper::connect;
use creel::state::StateDir;
use serde_json::{Value, json};

use crate::home::{Home, until};

/// A home whose host commands are asked about.
fn asking() -> Home {
    let home = Home::new();
    let config = "{ tools: { exec: { host: 'gateway', mode: 'ask' } } }";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    home
}

/// Calls exec; the id of the question.
fn ask(home: &Home, command: &str) -> String {
    let told = home.json(&["tool", "exec", &json!({ "command": command }).to_string()]);
    assert_eq!(told["details"]["status"], "approval-pending", "{told}");
    told["details"]["approvalId"].as_str().unwrap().to_owned()
}

/// Asks the keeper that runs.
async fn request(home: &Home, method: &str, params: Value) -> Result<Value, String> {
    let state = StateDir::at(home.state());
    let connection = connect(&state, Path::new(env!("CARGO_BIN_EXE_creel"))).await.unwrap();
    connection.request(method, params).await.unwrap().map_err(|error| format!("{error:?}"))
}

fn events(home: &Home, kind: &str) -> Vec<Value> {
    let all = home.ok(&["events", "--json"]);
    let all = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|event| event["kind"] == kind).collect()
}

#[tokio::test]
async fn a_command_that_was_approved_survives_every_keeper() {
    let home = asking();
    let (gate, ran) = (home.file("gate"), home.file("ran"));
    let text = format!(
        "echo ran >> {}; while ! test -e {}; do sleep 0.05; done; echo end; exit 4",
        ran.display(),
        gate.display()
    );
    let id = ask(&home, &text);
    assert!(!ran.exists());
    let decided = request(&home, "approvals.resolve", json!({ "id": id, "decision": "allow-once" })).await;
    assert_eq!(decided.unwrap()["applied"], true);
    until("the command", || ran.exists());
    home.signal("-KILL");
    std::fs::write(&gate, "").unwrap();
    // The next keeper tells of its end, once, under the approval that it ran under.
    until("the message", || !events(&home, "exec-finished").is_empty());
    let finished = events(&home, "exec-finished");
    assert_eq!(finished.len(), 1, "{finished:#?}");
    let told = finished[0]["text"].as_str().unwrap();
    assert!(told.starts_with(&format!("Exec finished (gateway id={id}, session=")), "{told}");
    assert!(told.contains(", code 4)") && told.contains("end"), "{told}");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n");
}

#[tokio::test]
async fn a_question_ends_with_its_keeper_and_nothing_of_it_runs() {
    let home = asking();
    let ran = home.file("ran");
    let id = ask(&home, &format!("touch {}", ran.display()));
    home.signal("-KILL");
    let found = request(&home, "approvals.get", json!({ "id": id })).await.unwrap();
    let found = found.get("approval").unwrap_or(&found).clone();
    assert_eq!((&found["status"], &found["reason"]), (&json!("cancelled"), &json!("gateway-restart")));
    let late = request(&home, "approvals.resolve", json!({ "id": id, "decision": "allow-once" })).await;
    let late = late.unwrap_err();
    assert!(late.contains("started again while it waited"), "{late}");
    // The same for one that is asked to end.
    let second = ask(&home, &format!("touch {}", ran.display()));
    home.signal("-TERM");
    request(&home, "approvals.resolve", json!({ "id": second, "decision": "allow-once" })).await.unwrap_err();
    assert!(!ran.exists());
}
