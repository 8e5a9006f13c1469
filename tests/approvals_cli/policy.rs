//! `creel exec-policy`.

use std::os::unix::fs::DirBuilderExt as _;

use serde_json::{Value, json};

use crate::home::Home;

fn config(home: &Home) -> Value {
    let text = std::fs::read_to_string(home.config()).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn presets_are_written_to_both_sides() {
    let home = Home::new(r#"{"tools": {"exec": {"security": "full", "ask": "off", "node": "mac"}}}"#);
    for (name, mode, defaults) in [
        ("cautious", "ask", json!({"security": "allowlist", "ask": "on-miss", "askFallback": "deny"})),
        ("deny-all", "deny", json!({"security": "deny", "ask": "off", "askFallback": "deny"})),
        ("yolo", "full", json!({"security": "full", "ask": "off", "askFallback": "full"})),
    ] {
        let told = home.json(&["exec-policy", "preset", name, "--json"]);
        assert_eq!((&told["preset"], &told["approvalsExists"]), (&name.into(), &true.into()));
        assert_eq!(told["configPath"], home.config().to_str().unwrap());
        assert_eq!(told["approvalsPath"], home.file().to_str().unwrap());
        assert_eq!(told["effectivePolicy"]["scopes"][0]["mode"]["effective"], mode);
        assert_eq!(home.document()["defaults"], defaults);
        assert_eq!(config(&home)["tools"]["exec"], json!({"node": "mac", "mode": mode, "host": "gateway"}));
    }
    let shown = home.json(&["exec-policy", "show", "--json"]);
    assert!(shown.get("preset").is_none() && shown.get("applied").is_none());
    assert_eq!(shown["effectivePolicy"]["scopes"][0]["runtimeApprovalsSource"], "local-file");
    assert!(home.ok(&["exec-policy", "show"]).contains("mode"));
}

#[test]
fn single_values_leave_the_others() {
    let home = Home::new(r#"{"tools": {"exec": {"mode": "full"}}}"#);
    let told = home.json(&["exec-policy", "set", "--ask", "Always", "--json"]);
    assert_eq!(told["applied"], json!({"ask": "always"}));
    // No mode says full and always.
    assert_eq!(config(&home)["tools"]["exec"], json!({"security": "full", "ask": "always"}));
    assert_eq!(home.document()["defaults"], json!({"ask": "always"}));
    home.ok(&["exec-policy", "set", "--ask-fallback", "allowlist"]);
    assert_eq!(config(&home)["tools"]["exec"], json!({"security": "full", "ask": "always"}));
    assert_eq!(home.document()["defaults"], json!({"ask": "always", "askFallback": "allowlist"}));
    home.refused(&["exec-policy", "set"]);
    home.refused(&["exec-policy", "set", "--security", "much"]);
    home.refused(&["exec-policy", "preset", "wild"]);
}

#[test]
fn another_machine_is_not_told_what_to_do() {
    let home = Home::new("{}");
    assert!(home.refused(&["exec-policy", "set", "--host", "node"]).contains("node"));
    let home = Home::new(r#"{"tools": {"exec": {"host": "node"}}}"#);
    assert!(home.refused(&["exec-policy", "set", "--security", "deny"]).contains("tools.exec.host"));
    let shown = home.json(&["exec-policy", "show", "--json"]);
    let scope = &shown["effectivePolicy"]["scopes"][0];
    assert_eq!(
        (&scope["runtimeApprovalsSource"], &scope["security"]["effective"]),
        (&"node-runtime".into(), &"unknown".into())
    );
    // A policy of this machine would be reported as set for another one, whatever host the call names.
    for args in [&["preset", "cautious"][..], &["set", "--host", "gateway", "--ask", "off"]] {
        let told = home.refused(&[&["exec-policy"], args].concat());
        assert!(told.contains("creel config set tools.exec.host gateway"), "{told}");
    }
    home.ok(&["config", "set", "tools.exec.host", "gateway"]);
    home.ok(&["exec-policy", "preset", "cautious"]);
    let home = Home::new(r#"{"agents": {"entries": {"far": {"tools": {"exec": {"host": "node"}}}}}}"#);
    let told = home.refused(&["exec-policy", "preset", "yolo"]);
    assert!(told.contains("agents.entries.far.tools.exec.host"), "{told}");
}

#[test]
fn a_configuration_that_cannot_be_written_takes_back_only_what_does_not_loosen() {
    // What would have tightened stays, what would have loosened goes.
    for (preset, before, after) in [
        (
            "deny-all",
            json!({"security": "allowlist"}),
            json!({"security": "deny", "askFallback": "deny", "ask": "off"}),
        ),
        (
            "yolo",
            json!({"security": "allowlist", "ask": "always"}),
            json!({"security": "allowlist", "ask": "always"}),
        ),
    ] {
        let home = Home::with(&json!({"version": 1, "defaults": before}).to_string());
        // Somebody else is changing the configuration all the while.
        let lock = home.state().join("creel/lock");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&lock).unwrap();
        let lock = std::fs::File::create(lock.join("configuration")).unwrap();
        lock.lock().unwrap();
        let (_, err, status) = home.run(&["exec-policy", "preset", preset]);
        assert_eq!(status, 125, "{err}");
        assert!(err.contains("approvals document"), "{err}");
        let now = &home.document()["defaults"];
        for (name, value) in after.as_object().unwrap() {
            if preset == "yolo" || name == "security" {
                assert_eq!(&now[name], value, "{preset}: {now}");
            }
        }
        if preset == "yolo" {
            assert!(now.get("askFallback").is_none(), "{now}");
        }
    }
}

#[test]
fn a_broken_document_stops_it_before_the_configuration_changes() {
    let home = Home::with("{ broken");
    home.refused(&["exec-policy", "preset", "yolo"]);
    assert_eq!(config(&home), json!({}));
}
