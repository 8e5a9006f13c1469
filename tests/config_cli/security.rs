//! `creel security audit` from outside.

use creel::engine::{ContainerId, ContainerSpec, Discovery, Engine, Limits};
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

#[test]
fn approvals_are_audited_and_accepted_findings_are_told_apart() {
    let jq = "tools.exec.safe_bins_broad_behavior";
    let home = Home::new(&format!(
        "{{ tools: {{ exec: {{ safeBins: ['jq'] }} }},\n  security: {{ audit: {{ suppressions: [{{ checkId: '{jq}', reason: 'known\\u001b[2J' }}] }} }} }}"
    ));
    let approvals = home.state().join("exec-approvals.json");
    std::fs::write(&approvals, r#"{"version": 1, "defaults": {"autoAllowSkills": true}}"#).unwrap();
    let (all, status) = audit(&home);
    let ids = |part: &str| -> Vec<String> {
        let list = all[part].as_array().unwrap().iter();
        list.map(|one| one["checkId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        ids("findings"),
        ["tools.exec.auto_allow_skills_enabled", "security.audit.suppressions.active"]
    );
    assert_eq!(ids("suppressedFindings"), [jq]);
    let first = &all["findings"][0];
    assert_eq!(
        (first["file"].as_str(), first["key"].as_str()),
        (approvals.to_str(), Some("defaults.autoAllowSkills"))
    );
    assert_eq!((all["summary"]["warn"].as_u64(), status), (Some(1), 0));
    let (text, _, _) = home.run(&["security", "audit", "--engine", "unix:///no/such.sock"]);
    assert!(text.contains("accepted  A language is listed as a safe bin"), "{text}");
    assert!(
        text.contains("accepted by security.audit.suppressions[0]: known") && !text.contains('\u{1b}'),
        "{text}"
    );
    assert!(text.ends_with("0 critical, 1 warnings, 1 notes, 1 accepted\n"), "{text}");
    let files = std::fs::read_dir(home.state()).unwrap().count();
    assert_eq!(files, 2, "an audit writes nothing");
}

/// A container that is removed with its test.
struct Browser {
    engine: Engine,
    id: ContainerId,
}

impl Browser {
    /// What looks like a container of the sandbox browser and says nothing of its configuration.
    async fn start(name: &str) -> Self {
        let engine = Engine::discover(&Discovery::from_process(None)).await.unwrap();
        let spec = ContainerSpec {
            name: name.to_owned(),
            image: "creel-minimal:latest".to_owned(),
            argv: ["sleep", "300"].map(str::to_owned).to_vec(),
            env: Vec::new(),
            labels: [("openclaw.sandboxBrowser".to_owned(), "1".to_owned())].into(),
            user: None,
            workdir: "/".to_owned(),
            mounts: Vec::new(),
            tmpfs: Vec::new(),
            network: "none".to_owned(),
            dns: Vec::new(),
            extra_hosts: Vec::new(),
            read_only_root: true,
            cap_drop: vec!["ALL".to_owned()],
            seccomp: None,
            apparmor: None,
            limits: Limits::default(),
            gpus: None,
            engine_init: false,
            stdin: false,
            stop_timeout_s: 1,
        };
        let browser = Self { id: engine.create(&spec).await.unwrap(), engine };
        browser.engine.start(&browser.id).await.unwrap();
        browser
    }
}

impl Drop for Browser {
    /// Also after a failed assertion. A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let (engine, id) = (self.engine.clone(), self.id.clone());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let _ = runtime.block_on(engine.remove(&id));
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

#[tokio::test]
async fn live_browser_containers_are_looked_at() {
    let home = Home::new("{}");
    let name = format!("creel-test-browser-{}", std::process::id());
    let browser = Browser::start(&name).await;
    let (out, err, _) = home.run(&["security", "audit", "--json"]);
    let all: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let of = |one: &&Value| one["detail"].as_str().unwrap().contains(&name);
    let ids: Vec<&str> = all["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of)
        .map(|one| one["checkId"].as_str().unwrap())
        .collect();
    let wanted =
        ["sandbox.browser_container.hash_label_missing", "sandbox.browser_container.hash_epoch_stale"];
    assert_eq!(ids, wanted);
    drop(browser);
}
