use pretty_assertions::assert_eq;

use crate::home::Home;

#[test]
fn streams_status_and_text() {
    let home = Home::new();
    let done = home.run(&["exec", "--", "echo out; echo err >&2; exit 7"]);
    assert_eq!((done.out.as_str(), done.err.as_str(), done.status), ("out\n", "err\n", Some(7)));
    assert_eq!(home.run(&["exec", "--", "uname", "-s"]).short(), ("Linux\n", Some(0)));
    // Several operands are argv: nothing is a shell's.
    assert_eq!(home.run(&["exec", "--", "echo", "$HOME;", "*"]).short(), ("$HOME; *\n", Some(0)));
    assert_eq!(home.run(&["exec", "--", "kill -9 $$"]).status, Some(137));
    assert_eq!(home.sandboxes().len(), 1, "the same session has one sandbox");
}

#[test]
fn input_is_passed_only_when_asked_for() {
    let home = Home::new();
    assert_eq!(home.feed(&["exec", "--", "cat"], b"never seen").short(), ("", Some(0)));
    let long = vec![b'x'; 3_000_000];
    assert_eq!(home.feed(&["exec", "--stdin", "--", "wc -c"], &long).short(), ("3000000\n", Some(0)));
    // A command that stops reading does not keep creel waiting.
    assert_eq!(home.feed(&["exec", "--stdin", "--", "head -c 1"], &long).short(), ("x", Some(0)));
}

#[test]
fn directory_environment_and_workspace() {
    let home = Home::new();
    let dir = home.dir.path().join("project");
    std::fs::create_dir(&dir).unwrap();
    std::os::unix::fs::chown(&dir, Some(4321), Some(4321)).unwrap();
    let dir = dir.to_str().unwrap();
    let text = "pwd; echo $A; echo $OPENCLAW_SHELL; id -u; echo made > file";
    let done = home.run(&["exec", "--workspace", dir, "--env", "A=$B c", "--", text]);
    assert_eq!(done.short(), ("/workspace\n$B c\nexec\n4321\n", Some(0)), "{}", done.err);
    let meta = std::fs::metadata(format!("{dir}/file")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&meta), 4321);
    let done = home.run(&["exec", "--workspace", dir, "--workdir", "/tmp", "--", "pwd"]);
    assert_eq!(done.short(), ("/tmp\n", Some(0)));
}

#[test]
fn a_limit_is_told_with_what_was_printed_before() {
    let home = Home::new();
    let done = home.run(&["exec", "--timeout", "0.5", "--", "echo before; sleep 60"]);
    assert_eq!(done.short(), ("before\n", Some(124)));
    assert!(done.err.contains("CRL-EXEC-001") && done.err.contains("none is left"), "{}", done.err);
}

#[test]
fn the_result_object() {
    let home = Home::new();
    let done = home.run(&["exec", "--json", "--", "echo h\u{e9}; exit 3"]);
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(done.status, Some(3));
    for (key, want) in [
        ("status", serde_json::json!("completed")),
        ("exitCode", serde_json::json!(3)),
        ("exitSignal", serde_json::Value::Null),
        ("exitReason", serde_json::json!("exit")),
        ("aggregated", serde_json::json!("h\u{e9}\n")),
        ("timedOut", serde_json::json!(false)),
        ("noOutputTimedOut", serde_json::json!(false)),
        ("cwd", serde_json::json!("/workspace")),
        ("cause", serde_json::json!("exit")),
        ("transport", serde_json::json!("init")),
    ] {
        assert_eq!(value[key], want, "{key}");
    }
    assert!(value["usage"]["peakKib"].as_u64().unwrap() > 0);
    assert_eq!(value["processes"]["provenGone"], true);
}

#[test]
fn one_and_the_same_over_the_engine() {
    let home = Home::new();
    let road = |text: &str| home.run(&["exec", "--transport", "engine", "--", text]);
    let done = road("echo out; echo err >&2; exit 7");
    assert_eq!((done.out.as_str(), done.err.as_str(), done.status), ("out\n", "err\n", Some(7)));
    let done = home.run(&["exec", "--transport", "engine", "--", "/no/such/program", "x"]);
    assert_eq!(done.short(), ("", Some(127)), "the engine's complaint is not the command's output");
    let done = home.run(&["exec", "--transport", "engine", "--timeout", "1", "--", "echo a; sleep 60"]);
    assert_eq!(done.short(), ("a\n", Some(124)));
    let done = home.run(&["exec", "--transport", "engine", "--json", "--", "true"]);
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&value["transport"], &value["transportReason"]), (&"engine".into(), &"asked for".into()));
}

/// Root's own state directory lies in a place that may not be mounted; the workspaces in it may, and nothing else.
#[test]
fn a_state_directory_in_roots_home() {
    let root = tempfile::Builder::new().prefix(".creel-cli-").tempdir_in("/root").unwrap();
    let home = Home::in_dir(root);
    let done = home.run(&["exec", "--", "echo x > f && cat f"]);
    assert_eq!(done.short(), ("x\n", Some(0)), "{}", done.err);
    let state = home.state().display().to_string();
    assert_eq!(home.run(&["exec", "--workspace", &state, "--", "true"]).status, Some(125));
    let config = format!(
        "{{ agents: {{ defaults: {{ workspace: '{state}/creel', sandbox: {{ workspaceAccess: 'rw' }} }} }} }}"
    );
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    assert_eq!(home.run(&["exec", "--", "true"]).status, Some(125));
}
