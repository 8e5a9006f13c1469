//! The command line of tools, sessions and events.

use serde_json::{Value, json};

use crate::home::Home;

#[test]
fn tools_take_json_and_give_json() {
    let home = Home::new();
    let told = home.json(&["tool", "exec", r#"{"command":"echo $OPENCLAW_SHELL; exit 3"}"#]);
    assert_eq!((&told["details"]["exitCode"], &told["details"]["aggregated"]), (&json!(3), &json!("exec\n")));
    let done = home.run(&["tool", "exec", r#"{"command":""}"#]);
    assert_eq!(done.status, Some(1), "{done:?}");
    let thrown: Value = serde_json::from_str(&done.out).unwrap();
    assert!(thrown["error"]["code"].is_string() && thrown["error"]["text"].is_string(), "{thrown}");
    let done = home.run(&["tool", "exec", "{command"]);
    assert!(done.status == Some(125) && done.out.contains("CRL-CLI-020"), "{done:?}");
    let done = home.run(&["tool", "exec", "{}", "--context", r#"{"admin":true}"#]);
    assert!(done.status == Some(125) && done.out.contains("admin"), "{done:?}");
    let tools = home.json(&["tool", "schemas"]);
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["exec", "process"]);
}

#[test]
fn lines_are_answered_in_their_order() {
    let home = Home::new();
    let lines = "{\"command\":\"sleep 1; echo slow\"}\n\nnonsense\n{\"command\":\"echo quick\"}";
    let done = home.feed(&["tool", "exec", "-"], lines);
    let answers: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 3, "{done:?}");
    assert_eq!(answers[0]["details"]["aggregated"], "slow\n");
    assert_eq!(answers[1]["error"]["code"], "CRL-CLI-020");
    let message = answers[1]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("line 3 of standard input"), "{message}");
    let unread = home.run(&["tool", "exec", "nonsense"]);
    assert!(unread.status == Some(125) && unread.out.lines().count() == 1, "{unread:?}");
    assert_eq!(answers[2]["details"]["aggregated"], "quick\n");
    assert_eq!(done.status, Some(125));
    let line = r#"{"tool":"process","args":{"action":"list"},"context":{"agent":"main"}}"#;
    let done = home.feed(&["tool", "--stdin"], line);
    assert!(done.status == Some(0) && done.out.contains("No running or recent sessions."), "{done:?}");
}

#[test]
fn a_call_is_taken_back_with_its_caller() {
    let home = Home::new();
    let ran = home.file("ran");
    let text = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", ran.display());
    let call = home.creel(&["tool", "exec", &json!({ "command": text }).to_string()]).spawn().unwrap();
    crate::home::until("the command", || ran.exists());
    let process: u64 = std::fs::read_to_string(&ran).unwrap().trim().parse().unwrap();
    let done = std::process::Command::new("kill").args(["-INT", &call.id().to_string()]).status().unwrap();
    assert!(done.success());
    let done = crate::home::Done::of(call.wait_with_output().unwrap());
    assert!(done.status == Some(1) && done.out.contains("error"), "{done:?}");
    crate::home::until("the end of the command", || !crate::home::alive(process));
}

#[test]
fn sessions_are_seen_and_steered_by_people() {
    let home = Home::new();
    assert_eq!(home.ok(&["process", "list"]), "no running or recent sessions\n");
    let session =
        home.background("printf 'a\\033[31mb\\n'; cat; echo over", &json!({ "title": "x\u{1b}[2Jy" }));
    let listed = home.ok(&["process", "list"]);
    assert!(listed.contains(&session) && listed.contains("x\\u{1b}[2Jy"), "{listed}");
    let unknown = home.run(&["process", "list", "--agent", "other"]);
    assert!(unknown.status == Some(125) && unknown.err.contains("other"), "{unknown:?}");
    let config = "{ tools: { exec: { host: 'gateway', mode: 'full' } }, agents: { list: [{ id: 'main' }, { id: 'other' }] } }";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    assert_eq!(home.ok(&["process", "list", "--agent", "other"]), "no running or recent sessions\n");
    let other = home.run(&["process", "log", &session, "--agent", "other"]);
    assert!(other.status == Some(125) && other.err.contains("CRL-KEEPER-014"), "{other:?}");
    assert!(!other.err.contains("CRL-KEEPER-016"), "{other:?}");
    let late = home.run(&["process", "wait", &session, "--exit", "--timeout", "10"]);
    assert_eq!(late.status, Some(1), "{late:?}");
    home.ok(&["process", "wait", &session, "--text", "ab"]);
    home.ok(&["process", "write", &session, "typed\n"]);
    home.ok(&["process", "wait", &session, "--text", "typed"]);
    home.ok(&["process", "write", &session, "--eof"]);
    home.ok(&["process", "wait", &session, "--exit"]);
    let short: String = session.chars().take(8).collect();
    let log = home.ok(&["process", "log", &short]);
    assert_eq!(log.trim(), "ab\ntyped\nover");
    let killed = home.run(&["process", "kill", &session]);
    assert_eq!(killed.status, Some(1), "{killed:?}");
    home.ok(&["process", "clear", &session]);
    assert_eq!(home.ok(&["process", "list"]), "no running or recent sessions\n");
    // Filtered where it is text, as it is where a terminal is meant.
    let session = home.background("sleep 1; printf 'a\\033[31mb\\n'", &json!({}));
    home.ok(&["process", "wait", &session, "--exit"]);
    assert!(!home.ok(&["process", "log", &session]).contains('\u{1b}'));
    assert_eq!(home.ok(&["process", "attach", &session]), "a\u{1b}[31mb\n");
}

#[test]
fn what_a_session_chose_is_shown_and_set() {
    let home = Home::new();
    let shown = home.ok(&["session", "show", "work"]);
    assert!(shown.starts_with("agent:main:work\n") && shown.contains("(unset)"), "{shown}");
    let set = home.json(&["session", "set", "work", "security=deny", "ask=always", "--json"]);
    assert_eq!(set["overrides"], json!({ "security": "deny", "ask": "always" }));
    let done = home.run(&["tool", "exec", r#"{"command":"id"}"#, "--context", r#"{"session":"work"}"#]);
    assert!(done.status == Some(1) && done.out.contains("security=deny"), "{done:?}");
    home.ok(&["session", "set", "work", "security=unset", "ask=unset"]);
    home.ok(&["tool", "exec", r#"{"command":"id"}"#, "--context", r#"{"session":"work"}"#]);
    let bad = home.run(&["session", "set", "work", "security=ful"]);
    assert!(bad.status == Some(125) && bad.err.contains("deny, allowlist, full"), "{bad:?}");
}

#[test]
fn events_are_for_conversations() {
    let home = Home::new();
    let text = |word: &str| {
        json!({ "command": format!("sleep 1; printf '{word}\\033[2J\\n'"), "background": true }).to_string()
    };
    home.ok(&["tool", "exec", &text("one"), "--context", r#"{"session":"a"}"#]);
    home.ok(&["tool", "exec", &text("two"), "--context", r#"{"session":"b"}"#]);
    let follower = crate::home::Lines::of(&mut home.creel(&["events", "--follow", "--session", "B"]));
    assert!(follower.next().contains("agent:main:b exec-exit exec:"));
    let said = follower.next();
    assert!(said.contains("two") && !said.contains('\u{1b}'), "{said}");
    crate::home::until("both", || home.ok(&["events", "--json"]).lines().count() == 2);
    let first: Value = serde_json::from_str(home.ok(&["events", "--json"]).lines().next().unwrap()).unwrap();
    let since = first["seq"].to_string();
    assert_eq!(home.ok(&["events", "--json", "--since", &since]).lines().count(), 1);
}
