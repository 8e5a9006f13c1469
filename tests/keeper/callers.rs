//! Whose configuration decides: the caller's, whatever the keeper was started with.

use serde_json::{Value, json};

use crate::home::{Done, Home};

fn run(home: &Home, config: &str, command: &str) -> Value {
    let args = json!({ "command": command }).to_string();
    let done = Done::of(home.creel(&["tool", "exec", &args]).env("CREEL_CONFIG", config).output().unwrap());
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

#[test]
fn the_callers_configuration_decides_and_not_the_keepers() {
    let home = Home::new();
    let strict = home.file("strict.json");
    std::fs::write(&strict, "{ tools: { exec: { host: 'gateway', mode: 'deny' } } }").unwrap();
    let (strict, free) = (strict.display().to_string(), home.state().join("openclaw.json"));
    let free = free.display().to_string();
    // The keeper that this starts has the default file.
    assert_eq!(run(&home, "", "echo free")["details"]["status"], "completed");
    let keeper = home.keeper();
    let refused = run(&home, &strict, "echo strict");
    assert!(refused["error"]["text"].as_str().unwrap().contains("security=deny"), "{refused}");
    assert_eq!(run(&home, &free, "echo free")["details"]["status"], "completed");
    let missing = run(&home, "/nonexistent/creel.json", "echo none");
    assert!(missing["error"]["message"].as_str().unwrap().contains("/nonexistent/creel.json"), "{missing}");
    assert_eq!(home.keeper(), keeper, "the same keeper all the time");
    let status = home.ok(&["keeper", "status"]);
    assert!(status.contains(&format!("configuration {free}")), "{status}");
    assert!(status.contains("engine unix:///nonexistent/engine.sock"), "{status}");
}

#[test]
fn a_keeper_with_a_strict_configuration_is_no_answer_to_a_caller_without() {
    let home = Home::new();
    let strict = home.file("strict.json");
    std::fs::write(&strict, "{ tools: { exec: { host: 'gateway', mode: 'deny' } } }").unwrap();
    assert!(run(&home, &strict.display().to_string(), "true")["error"].is_object());
    assert_eq!(run(&home, "", "true")["details"]["status"], "completed");
}

#[test]
fn another_engine_than_the_keepers_is_refused() {
    let home = Home::new();
    let config = "{ tools: { exec: { mode: 'full' } }, agents: { defaults: { sandbox: { mode: 'all' } } } }";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    let args = json!({ "command": "true" }).to_string();
    let own = home.run(&["tool", "exec", &args]);
    assert!(own.out.contains("error") && !own.out.contains("CRL-KEEPER"), "{own:?}");
    let mut other = home.creel(&["tool", "exec", &args]);
    let done = Done::of(other.env("DOCKER_HOST", "unix:///other/engine.sock").output().unwrap());
    assert!(done.out.contains("CRL-KEEPER-017") && done.out.contains("/other/engine.sock"), "{done:?}");
}
