//! What the doctor says of approvals, and mends.

use std::os::unix::fs::PermissionsExt as _;

use crate::home::Home;

fn repairs(told: &serde_json::Value) -> Vec<String> {
    told["repairs"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_policy_that_does_not_hold_is_named_with_both_sides() {
    let home = Home::new("{tools: {exec: {mode: 'full'}}}");
    assert!(home.findings("doctor.exec_policy_conflict").is_empty());
    home.write(r#"{"version": 1, "defaults": {"security": "allowlist", "ask": "on-miss"}}"#);
    let found = home.findings("doctor.exec_policy_conflict");
    assert_eq!(found.len(), 2);
    let what = found[0]["what"].as_str().unwrap();
    assert!(what.contains("security full") && what.contains("allowlist holds"), "{what}");
    assert!(found[0]["rule"].as_str().unwrap().ends_with("exec-approvals.json defaults.security"));
    // A default that the document narrows is nobody's mistake.
    std::fs::write(home.config(), "{}").unwrap();
    assert!(home.findings("doctor.exec_policy_conflict").is_empty());
}

#[test]
fn looking_changes_nothing() {
    let home = Home::with(r#"{"version": 1}"#);
    home.doctor(false);
    assert!(!home.state().join("creel/approvals").exists());
}

#[test]
fn what_waits_is_named_and_removed_and_nothing_else() {
    let home = Home::with(
        r#"{"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/git", "source": "allow-always"}, "rg"]},
            "old": {"allowlist": [{"pattern": "/usr/bin/x", "source": "allow-always"}]}}}"#,
    );
    let found = home.findings("doctor.exec_approvals_require_cwd_renewal");
    assert!(found[0]["what"].as_str().unwrap().contains("/usr/bin/git of main"), "{found:?}");
    assert!(found[0]["fix"].as_str().unwrap().contains("adopt"));
    assert_eq!(home.findings("approvals.unknown-agent").len(), 1);
    let told = repairs(&home.doctor(true));
    assert!(told.iter().any(|what| what.contains("/usr/bin/git")), "{told:?}");
    let agents = &home.document()["agents"];
    assert_eq!(agents["main"]["allowlist"].as_array().unwrap().len(), 1);
    assert_eq!(agents["main"]["allowlist"][0]["pattern"], "rg");
    assert!(agents.get("old").is_none());
    assert!(repairs(&home.doctor(true)).is_empty(), "a second time there is nothing to do");
}

#[test]
fn mode_and_former_names_are_mended() {
    let home = Home::with(r#"{"version": 1, "agents": {"default": {"ask": "always"}}}"#);
    std::fs::set_permissions(home.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(home.config(), "{tools: {exec: {security: 'full', ask: 'off'}}}").unwrap();
    assert_eq!(home.findings("approvals.open").len(), 1);
    assert_eq!(home.findings("approvals.legacy-agent").len(), 1);
    let told = repairs(&home.doctor(true)).join("\n");
    for part in ["mode is now 600", "agents.main", "tools.exec.security rewritten"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(std::fs::metadata(home.file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(home.document()["agents"]["main"]["ask"], "always");
    assert!(std::fs::read_to_string(home.config()).unwrap().contains("mode: \"full\""));
    assert!(repairs(&home.doctor(true)).is_empty());
}

#[test]
fn what_others_may_have_written_is_not_trusted_by_a_mode() {
    let sound = r#"{"version": 1, "defaults": {"security": "deny"}}"#;
    let forged = r#"{"version": 1, "defaults": {"security": "full", "ask": "off"}}"#;
    let open = |home: &Home| {
        std::fs::set_permissions(home.file(), std::fs::Permissions::from_mode(0o666)).unwrap();
    };
    let mode = |home: &Home| std::fs::metadata(home.file()).unwrap().permissions().mode() & 0o777;
    let home = Home::with(sound);
    home.ok(&["approvals", "get"]);
    // The last good copy is known, and the file says the same.
    open(&home);
    assert!(repairs(&home.doctor(true)).join(" ").contains("mode is now 600"));
    assert_eq!((mode(&home), home.text().as_str()), (0o600, sound));

    for known in [true, false] {
        let home = Home::with(if known { sound } else { forged });
        if known {
            home.ok(&["approvals", "get"]);
            home.write(forged);
        }
        open(&home);
        let told = home.doctor(true);
        let done = told["repairs"].as_array().unwrap();
        assert!(done.iter().all(|one| one["done"] == false), "{told}");
        assert!(repairs(&told).join(" ").contains("creel approvals set --file"), "{told}");
        assert_eq!((mode(&home), home.text().as_str()), (0o666, forged));
        let shown = home.json(&["approvals", "get", "--json"]);
        assert_eq!(shown["effectivePolicy"]["scopes"][0]["security"]["effective"], "deny");
    }
}

#[test]
fn one_run_does_all_that_a_second_would() {
    for config in [
        "{agents: {list: [{id: 'a', sandbox: {perSession: true}, tools: {exec: {safeBins: ['myfilter']}}}]}}",
        "{tools: {exec: {mode: 'full', security: 'deny', safeBins: ['myfilter']}}}",
    ] {
        let home = Home::new(config);
        assert!(!repairs(&home.doctor(true)).is_empty());
        let again = home.doctor(true);
        assert!(repairs(&again).is_empty(), "{config}: {again}");
        let left = std::fs::read_to_string(home.config()).unwrap();
        assert!(left.contains("safeBinProfiles") && !left.contains("security"), "{left}");
    }
}

#[test]
fn a_broken_document_is_an_error_with_its_place() {
    let home = Home::with("{\"version\": 1,\n \"defaults\": 3}");
    let found = home.findings("approvals.broken");
    assert_eq!(found[0]["severity"], "error");
    assert!(found[0]["rule"].as_str().unwrap().ends_with("exec-approvals.json:2:2"), "{found:?}");
    assert!(found[0]["what"].as_str().unwrap().contains("nothing runs"));
}

fn database(home: &Home, text: &str) -> rusqlite::Connection {
    std::fs::create_dir_all(home.state().join("state")).unwrap();
    let database = rusqlite::Connection::open(home.state().join("state/openclaw.sqlite")).unwrap();
    database
        .execute_batch("CREATE TABLE exec_approvals_config (config_key TEXT PRIMARY KEY, raw_json TEXT)")
        .unwrap();
    database.execute("INSERT INTO exec_approvals_config VALUES ('current', ?1)", [text]).unwrap();
    database
}

#[test]
fn the_policy_of_a_newer_store_is_a_floor_and_can_be_imported() {
    let home = Home::new("{}");
    let text = "{\n  \"version\": 1,\n  \"defaults\": {\n    \"security\": \"allowlist\"\n  }\n}\n";
    let kept = database(&home, text);
    let shown = home.json(&["approvals", "get", "--json"]);
    assert_eq!(shown["effectivePolicy"]["scopes"][0]["security"]["effective"], "allowlist");
    assert!(shown["floors"][0]["path"].as_str().unwrap().ends_with("openclaw.sqlite#exec_approvals_config"));
    // creel's own part lies where it stops nobody.
    home.ok(&["approvals", "allowlist", "add", "rg"]);
    assert!(home.state().join("creel/exec-approvals.json").exists() && !home.file().exists());
    assert_eq!(home.findings("approvals.import").len(), 1);

    kept.pragma_update(None, "journal_mode", "WAL").unwrap();
    kept.execute("UPDATE exec_approvals_config SET raw_json = raw_json || ' '", []).unwrap();
    let told = home.doctor(true);
    assert!(repairs(&told).iter().any(|what| what.contains("has its database open")), "{told}");
    assert!(!home.file().exists());
    drop(kept);

    let before = std::fs::read(home.state().join("state/openclaw.sqlite")).unwrap();
    let told = repairs(&home.doctor(true));
    assert!(told.iter().any(|what| what.contains("imported")), "{told:?}");
    let now = home.document();
    assert_eq!(now["defaults"]["security"], "allowlist");
    assert_eq!(now["agents"]["*"]["allowlist"][0]["pattern"], "rg");
    assert!(home.json(&["approvals", "get", "--json"]).get("floors").is_none());
    assert_eq!(
        std::fs::read(home.state().join("state/openclaw.sqlite")).unwrap(),
        before,
        "it is never written"
    );
    assert!(home.findings("approvals.import").is_empty());
}

#[test]
fn what_is_imported_alone_stays_byte_for_byte() {
    let home = Home::new("{}");
    let text = "{ \"version\": 1, \"later\": [1] }";
    drop(database(&home, text));
    home.doctor(true);
    assert_eq!(home.text(), text);
}

#[test]
fn filters_without_a_profile_get_an_empty_one_and_languages_never() {
    let home =
        Home::new("{\n  // mine\n  tools: { exec: { safeBins: ['cut', 'mytool', 'jq', 'python3'] } },\n}");
    let missing = home.findings("tools.exec.safe_bins_missing_profile");
    assert_eq!(missing.len(), 1);
    assert!(missing[0]["what"].as_str().unwrap().contains("mytool"), "{missing:?}");
    assert_eq!(home.findings("tools.exec.safe_bins_risky").len(), 2);
    let told = repairs(&home.doctor(true));
    assert_eq!(told.len(), 1, "{told:?}");
    let text = std::fs::read_to_string(home.config()).unwrap();
    assert!(text.contains("// mine") && text.contains("safeBinProfiles: { mytool: {} }"), "{text}");
    assert!(home.findings("tools.exec.safe_bins_missing_profile").is_empty());
    assert_eq!(home.findings("tools.exec.safe_bins_risky").len(), 2);
    assert!(repairs(&home.doctor(true)).is_empty());
}

#[test]
fn a_filter_from_elsewhere_is_named() {
    use std::os::unix::fs::OpenOptionsExt as _;
    let home = Home::new("{tools: {exec: {safeBins: ['cut'], safeBinProfiles: {}}}}");
    let bin = home.state().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).mode(0o755).open(bin.join("cut")).unwrap();
    let args = ["doctor", "--json", "--engine", "unix:///nonexistent/creel-test.sock"];
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let out = home.creel(&args).env("PATH", path).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let named = |one: &&serde_json::Value| one["id"] == "tools.exec.safe_bins_outside";
    assert_eq!(all["findings"].as_array().unwrap().iter().filter(named).count(), 1);
    assert!(home.findings("tools.exec.safe_bins_outside").is_empty());
}
