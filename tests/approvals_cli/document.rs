//! `creel approvals get` and `set`.

use crate::home::Home;

const ALLOWLIST: &str = r#"{"version": 1, "socket": {"path": "/s.sock", "token": "t0ps3cret"}, "defaults": {"security": "allowlist"}, "agents": {"*": {"allowlist": ["rg"]}}}"#;

#[test]
fn the_snapshot_has_the_shape_of_old_and_no_secret() {
    let home = Home::new(
        "{tools: {exec: {mode: 'full'}}, agents: {entries: {ops: {tools: {exec: {ask: 'always'}}}}}}",
    );
    let absent = home.json(&["approvals", "get", "--json"]);
    assert_eq!(absent["exists"], false);
    let empty = "missing:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(absent["hash"], empty);
    assert_eq!(absent["path"], home.file().to_str().unwrap());
    assert!(!home.file().exists(), "looking makes nothing");

    home.write(ALLOWLIST);
    let shown = home.json(&["exec-approvals", "get", "--json"]);
    assert_eq!(shown["exists"], true);
    assert_eq!(shown["hash"].as_str().unwrap().len(), 64);
    assert_eq!(shown["file"]["socket"], serde_json::json!({"path": "/s.sock"}));
    let scopes = shown["effectivePolicy"]["scopes"].as_array().unwrap();
    assert!(shown["effectivePolicy"]["note"].is_string());
    let labels: Vec<&str> = scopes.iter().map(|scope| scope["scopeLabel"].as_str().unwrap()).collect();
    assert_eq!(labels, ["tools.exec", "agent:ops"]);
    assert_eq!(scopes[1]["configPath"], "agents.entries.ops.tools.exec");
    assert_eq!(scopes[0]["security"]["effective"], "allowlist");
    assert_eq!(scopes[0]["security"]["note"], "stricter host security wins");
    assert_eq!(scopes[1]["ask"]["effective"], "always");
    for args in
        [&["approvals", "get"][..], &["approvals", "get", "--json"], &["approvals", "allowlist", "list"]]
    {
        assert!(!home.ok(args).contains("t0ps3cret"), "{args:?}");
    }
}

#[test]
fn a_document_can_be_looked_at_beside_a_broken_configuration() {
    let home = Home::new("{ tools: ");
    home.write(ALLOWLIST);
    let shown = home.json(&["approvals", "get", "--json"]);
    assert_eq!(shown["effectivePolicy"]["scopes"], serde_json::json!([]));
    assert!(shown["effectivePolicy"]["note"].as_str().unwrap().contains("openclaw.json"));
}

#[test]
fn a_hand_edit_holds_at_once_and_a_broken_one_names_its_place() {
    let home = Home::with(ALLOWLIST);
    let security = || {
        let shown = home.json(&["approvals", "get", "--json"]);
        shown["effectivePolicy"]["scopes"][0]["security"]["effective"].as_str().unwrap().to_owned()
    };
    assert_eq!(security(), "allowlist");
    home.write(r#"{"version": 1, "defaults": {"security": "deny"}}"#);
    assert_eq!(security(), "deny");
    let broken = "{\"version\": 1,\n \"defaults\": {\"security\": \"allowlst\"}}";
    home.write(broken);
    assert_eq!(security(), "deny", "the last good one holds");
    let shown = home.json(&["approvals", "get", "--json"]);
    let problem = shown["problems"][0].as_str().unwrap();
    assert!(problem.contains("exec-approvals.json:2:15: defaults.security"), "{problem}");
    let err = home.refused(&["approvals", "allowlist", "add", "jq"]);
    assert!(err.contains(":2:15"), "{err}");
    assert_eq!(home.text(), broken);
}

#[test]
fn a_document_is_set_as_a_whole() {
    let home = Home::with(ALLOWLIST);
    let (out, err, status) = home
        .fed(&["approvals", "set", "--stdin", "--json"], "// mine\n{version: 7, defaults: {ask: 'always'}}");
    assert_eq!(status, 0, "{err}");
    assert!(!out.contains("t0ps3cret") && out.contains("\"ask\":\"always\""), "{out}");
    let now = home.document();
    assert_eq!((&now["version"], &now["socket"]["token"]), (&1.into(), &"t0ps3cret".into()));
    assert!(now["agents"].as_object().unwrap().is_empty());

    let file = home.state().join("new.json5");
    std::fs::write(&file, "{agents: {'*': {denylist: ['rm']}}}").unwrap();
    let file = file.to_str().unwrap();
    home.ok(&["approvals", "set", "--file", file]);
    let text = home.text();
    assert_eq!(home.document()["agents"]["*"]["denylist"][0]["pattern"], "rm");
    assert!(home.ok(&["approvals", "set", "--file", file]).contains("written"), "ids are new ones");
    assert_ne!(home.text(), text);
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let home = Home::with(ALLOWLIST);
    for (input, wanted) in [
        ("{\n defaults: {security: 'no'}}", "standard input:2:13: defaults.security"),
        ("{\n oops", "standard input:2"),
        ("[]", "document: expected an object"),
        ("{defaults: {aks: 'off'}}", "nearly a known one"),
        ("{security: 'deny'}", "move security into defaults"),
        ("{agents: {'*': {denylist: [{pattern: 'rm', source: 'allow-always'}]}}}", "denies nothing"),
    ] {
        let before = home.text();
        let (out, err, status) = home.fed(&["approvals", "set", "--stdin"], input);
        assert_eq!((out.as_str(), status), ("", 125), "{input}");
        assert!(err.contains(wanted), "{input}: {err}");
        assert_eq!(home.text(), before);
    }
    let large = format!("{{version: 1, note: '{}'}}", "x".repeat(1 << 20));
    let (_, err, status) = home.fed(&["approvals", "set", "--stdin"], &large);
    assert!(status == 125 && err.contains("1048576"), "{err}");
    home.refused(&["approvals", "set"]);
    home.refused(&["approvals", "set", "--stdin", "--file", "x"]);
    assert!(home.refused(&["approvals", "set", "--file", "/nowhere/x"]).contains("/nowhere/x"));
}

#[test]
fn setting_mends_what_nothing_else_may_touch() {
    let home = Home::with(ALLOWLIST);
    home.ok(&["approvals", "get"]);
    home.write("{ broken");
    home.refused(&["approvals", "allowlist", "add", "jq"]);
    let (_, err, status) = home.fed(&["approvals", "set", "--stdin"], "{}");
    assert_eq!(status, 0, "{err}");
    let kept = std::fs::read_dir(home.state()).unwrap().map(|one| one.unwrap().path());
    let mut kept = kept.filter(|path| path.to_string_lossy().contains("exec-approvals.json.broken-"));
    assert_eq!(std::fs::read_to_string(kept.next().unwrap()).unwrap(), "{ broken");
    home.ok(&["approvals", "allowlist", "add", "jq"]);
}

#[test]
fn a_byte_order_mark_says_nothing() {
    let home = Home::with("\u{feff}{\"version\": 1, \"defaults\": {\"security\": \"deny\"}}");
    let shown = home.json(&["approvals", "get", "--json"]);
    assert_eq!(shown["effectivePolicy"]["scopes"][0]["security"]["effective"], "deny");
    assert!(home.findings("approvals.broken").is_empty());
    home.ok(&["approvals", "allowlist", "add", "rg"]);
    assert_eq!(home.document()["defaults"]["security"], "deny");
}

#[test]
fn nothing_is_waited_for_that_is_no_file() {
    let home = Home::new("{}");
    let pipe = home.state().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let pipe = pipe.to_str().unwrap();
    for file in [pipe, "/dev/zero", "/tmp"] {
        assert!(home.refused(&["approvals", "set", "--file", file]).contains("not a regular file"), "{file}");
        let (_, err, status) = home.run(&["policy", "test", file]);
        assert!(status == 2 && err.contains("not a regular file"), "{file}: {err}");
    }
    let (out, err, status) = home.fed(&["policy", "test", "-"], "{cases: []}");
    assert!(!err.contains("regular"), "{out}{err}{status}");
}
