//! `creel security audit` from outside.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::Home;

/// Without an engine: containers of other people are none of these tests' business.
fn audit(home: &Home) -> (Value, i32) {
    let (out, err, status) = home.run(&["security", "audit", "--json", "--engine", "unix:///no/such.sock"]);
    (serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")), status)
}

#[test]
fn findings_have_upstreams_fields_and_a_place() {
    let home = Home::new(
        "{ agents: { defaults: { sandbox: { mode: 'all', docker: {\n  binds: ['/var/run/docker.sock:/s'], env: { MY_TOKEN: 'hidden' } } } } },\n  tools: { deny: ['browser'] } }",
    );
    let (all, status) = audit(&home);
    assert_eq!((all["summary"]["critical"].as_u64(), status), (Some(1), 1), "{all:#}");
    let first = &all["findings"][0];
    for field in ["checkId", "severity", "title", "detail", "remediation", "file", "key", "line", "column"] {
        assert!(!first[field].is_null(), "{field} in {first}");
    }
    assert_eq!(
        (first["checkId"].as_str(), first["line"].as_u64()),
        (Some("sandbox.dangerous_bind_mount"), Some(2))
    );
    assert!(first["title"].as_str().unwrap().contains("engine's socket"), "{first}");
    assert_eq!(all["toolPolicy"][0]["entries"][0]["rule"], "tools.deny");
    assert_eq!(all["toolPolicy"][0]["entries"][0]["configKey"], "tools.deny[0]");
    assert!(!all.to_string().contains("hidden"), "a secret leaves");
    let (text, _, status) = home.run(&["security", "audit", "--engine", "unix:///no/such.sock"]);
    assert_eq!(status, 1);
    assert!(text.starts_with("critical  ") && text.contains("MY_TOKEN"), "{text}");
    assert!(!text.contains("hidden") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_file_that_is_refused_is_audited_all_the_same() {
    let home = Home::new("{ agents: { defaults: { sandbox: { docker: { network: 'host' } } } } }");
    let (all, status) = audit(&home);
    let ids: Vec<&str> =
        all["findings"].as_array().unwrap().iter().map(|one| one["checkId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["sandbox.dangerous_network_mode", "config.invalid", "sandbox.docker_config_mode_off"]);
    assert_eq!(status, 1);
    std::fs::write(home.file(), "{").unwrap();
    assert_eq!(audit(&home).0["findings"][0]["checkId"], "config.invalid");
    std::fs::remove_file(home.file()).unwrap();
    assert_eq!(
        audit(&home),
        (
            serde_json::json!({"summary": {"critical": 0, "warn": 0, "info": 0}, "findings": [], "toolPolicy": []}),
            0
        )
    );
    let names = std::fs::read_dir(home.state()).unwrap().count();
    assert_eq!(names, 0, "an audit writes nothing");
}
