use std::path::Path;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;

pub(super) fn report(text: &str, browsers: &BrowserLook) -> Report {
    with_approvals(text, browsers, None)
}

pub(super) fn with_approvals(text: &str, browsers: &BrowserLook, approvals: Option<&Local>) -> Report {
    let file = Path::new("/state/openclaw.json");
    let places = Places { home: Some("/home/me".into()), state: "/state".into() };
    let document = Document::parse(text, file).ok();
    let config = Config::parse(text, file, &|_| None);
    let binds =
        document.as_ref().map(|document| judge_binds(document, &places, &|_| None)).unwrap_or_default();
    audit(&Input {
        document: document.as_ref(),
        config: config.as_ref(),
        places: &places,
        binds: &binds,
        writable: &[],
        approvals,
        browsers,
    })
}

/// The findings that are worth more than a note.
pub(super) fn bad(text: &str) -> Vec<(String, Severity)> {
    let all = report(text, &BrowserLook::NoEngine).findings.into_iter();
    all.filter(|one| one.severity > Severity::Info).map(|one| (one.check_id, one.severity)).collect()
}

const ALL: &str = "agents: {defaults: {sandbox: {mode: 'all'}}}";

#[test]
fn each_check_of_the_sandbox_has_its_case() {
    use Severity::{Critical, Warn};
    let docker = |inside: &str| {
        format!("{{agents: {{defaults: {{sandbox: {{mode: 'all', docker: {{{inside}}}}}}}}}}}")
    };
    for (inside, id, severity) in [
        ("binds: ['/etc:/x']", "sandbox.dangerous_bind_mount", Critical),
        ("binds: ['/var/run/docker.sock:/s']", "sandbox.dangerous_bind_mount", Critical),
        ("binds: ['/:/x']", "sandbox.dangerous_bind_mount", Critical),
        ("env: {API_TOKEN: 'hidden'}", "sandbox.env_credentials", Warn),
        ("readOnlyRoot: false", "sandbox.writable_root", Warn),
        ("capDrop: ['NET_RAW']", "sandbox.capabilities_kept", Warn),
        ("user: '0:0'", "sandbox.root_user", Warn),
        ("dangerouslyAllowExternalBindSources: true", "config.insecure_or_dangerous_flags", Warn),
        ("dangerouslyAllowUnenforced: ['pids']", "config.insecure_or_dangerous_flags", Warn),
    ] {
        assert_eq!(bad(&docker(inside)), [(id.to_owned(), severity)], "{inside}");
    }
    // What creel refuses is named beside the refusal.
    for (inside, id) in [
        ("network: ' HOST'", "sandbox.dangerous_network_mode"),
        ("network: 'container:x'", "sandbox.dangerous_network_mode"),
        ("seccompProfile: 'unconfined'", "sandbox.dangerous_seccomp_profile"),
        ("apparmorProfile: 'Unconfined'", "sandbox.dangerous_apparmor_profile"),
    ] {
        assert_eq!(
            bad(&docker(inside)),
            [(id.to_owned(), Critical), ("config.invalid".to_owned(), Warn)],
            "{inside}"
        );
    }
    let relative = bad(&docker("binds: ['data:/x']"));
    let wanted = ["config.invalid", "sandbox.bind_mount_non_absolute"].map(|id| (id.to_owned(), Warn));
    assert_eq!(relative, wanted);
    // The flag lets the configuration through, and the audit names it all the same.
    let joined = bad(&docker("network: 'container:x', dangerouslyAllowContainerNamespaceJoin: true"));
    let ids: Vec<&str> = joined.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(ids, ["sandbox.dangerous_network_mode", "config.insecure_or_dangerous_flags"]);
    // Nothing that is advised opens what it is advised against.
    for flag in ["", ", dangerouslyAllowContainerNamespaceJoin: true"] {
        let text = docker(&format!("network: 'container:x'{flag}"));
        for finding in report(&text, &BrowserLook::NoEngine).findings {
            assert!(!finding.remediation.contains("allows it"), "{finding:?}");
        }
    }
    let browser = "{agents: {defaults: {sandbox: {browser: {network: 'host', binds: ['/etc:/x']}}}}}";
    assert_eq!(bad(browser).iter().filter(|one| one.1 == Critical).count(), 2);
}

#[test]
fn a_container_that_is_never_made() {
    let id = "sandbox.docker_config_mode_off";
    let has = |text: &str| bad(text).iter().filter(|one| one.0 == id).count();
    assert_eq!(has("{agents: {defaults: {sandbox: {docker: {cpus: 1}}}}}"), 1);
    assert_eq!(
        has("{agents: {defaults: {sandbox: {docker: {cpus: 1}}}, entries: {a: {sandbox: {mode: 'all'}}}}}"),
        0
    );
    assert_eq!(has("{agents: {entries: {a: {sandbox: {docker: {cpus: 1}}}}}}"), 1);
    assert_eq!(has("{agents: {list: [{id: 'a', sandbox: {docker: {}}}]}}"), 0);
}

#[test]
fn each_check_of_exec_and_tools_has_its_case() {
    for (text, ids) in [
        ("{tools: {exec: {host: 'sandbox'}}}", vec!["tools.exec.host_sandbox_no_sandbox_defaults"]),
        (
            "{agents: {entries: {a: {tools: {exec: {host: 'sandbox'}}}}}}",
            vec!["tools.exec.host_sandbox_no_sandbox_agents"],
        ),
        (
            "{tools: {deny: ['write', 'edit', 'apply_patch']}}",
            vec!["tools.exec.fs_tools_disabled_but_exec_enabled"],
        ),
        ("{tools: {exec: {mode: 'full'}}}", vec!["tools.exec.security_full_configured"]),
        ("{tools: {exec: {security: 'full', ask: 'always'}}}", vec![]),
        (
            "{tools: {profile: 'minimal'}, agents: {entries: {a: {tools: {profile: 'coding'}}}}}",
            vec!["tools.profile_minimal_overridden"],
        ),
        ("{tools: {dangerouslyAllowEmptyPolicy: true}}", vec!["config.insecure_or_dangerous_flags"]),
        ("{tools: {exec: {applyPatch: {workspaceOnly: false}}}}", vec!["config.insecure_or_dangerous_flags"]),
        ("{gateway: {controlUi: {allowInsecureAuth: true}}}", vec!["config.insecure_or_dangerous_flags"]),
        ("{commands: {useAccessGroups: false}}", vec!["commands.access_groups_off"]),
    ] {
        let found: Vec<String> = bad(text).into_iter().map(|one| one.0).collect();
        assert_eq!(found, ids, "{text}");
    }
    let sandboxed = format!("{{tools: {{deny: ['write', 'edit', 'apply_patch']}}, {ALL}}}");
    assert_eq!(bad(&sandboxed), [], "a sandbox that cannot write is a read-only agent");
}

#[test]
fn each_check_of_elevated_has_its_case() {
    let many = (0..26).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(",");
    for (inside, found) in [
        ("allowFrom: {telegram: ['*']}".to_owned(), Some(("wildcard", Severity::Critical))),
        (format!("allowFrom: {{telegram: [{many}]}}"), Some(("large", Severity::Warn))),
        ("allowFrom: {telegram: ['1', 2]}".to_owned(), None),
        ("enabled: false, allowFrom: {telegram: ['*']}".to_owned(), None),
    ] {
        let wanted: Vec<_> = found
            .iter()
            .map(|(end, severity)| (format!("tools.elevated.allowFrom.telegram.{end}"), *severity))
            .collect();
        assert_eq!(bad(&format!("{{tools: {{elevated: {{{inside}}}}}}}")), wanted, "{inside}");
    }
}

#[test]
fn each_check_of_exposure_has_its_case() {
    let open = "channels: {telegram: {groupPolicy: 'open'}}";
    let ids = |text: &str| -> Vec<String> { bad(text).into_iter().map(|one| one.0).collect() };
    let elevated = "security.exposure.open_groups_with_elevated";
    let commands = "security.exposure.open_channels_with_exec";
    let runtime = "security.exposure.open_groups_with_runtime_or_fs";
    let control = "security.exposure.open_groups_with_control_plane_tools";
    let people = "security.trust_model.multi_user_heuristic";
    assert_eq!(ids(&format!("{{{open}}}")), [elevated, commands, runtime, control, people]);
    // In a sandbox neither commands nor gateway and automations are left; sessions may be started.
    let held = format!(
        "{{{open}, tools: {{elevated: {{enabled: false}}, deny: ['sessions_spawn', 'sessions_send']}}, {ALL}}}"
    );
    assert_eq!(ids(&held), [people]);
    let files = format!("{{{open}, tools: {{elevated: {{enabled: false}}, allow: ['read']}}}}");
    let found = bad(&files);
    assert_eq!(found[0], (runtime.to_owned(), Severity::Warn));
    let inside = files.replace("allow:", "fs: {workspaceOnly: true}, allow:");
    assert_eq!(ids(&inside), [people]);
    for (text, signals) in [
        ("{channels: {telegram: {allowFrom: ['*']}}}", true),
        ("{channels: {discord: {groupPolicy: 'allowlist', guilds: {'1': {}}}}}", true),
        ("{channels: {telegram: {accounts: {a: {dmPolicy: 'open'}}}}}", true),
        ("{channels: {telegram: {enabled: false, groupPolicy: 'open'}}}", false),
        ("{channels: {telegram: {groupPolicy: 'allowlist', allowFrom: ['1']}}}", false),
    ] {
        assert_eq!(ids(text).iter().any(|id| id == people), signals, "{text}");
    }
}

#[test]
fn browsers() {
    let good: [(&str, &str); 2] =
        [("openclaw.configHash", "x"), ("openclaw.browserConfigEpoch", "2026-05-12-cdp-relay-auth")];
    let container = |labels: &[(&str, &str)], published: &[&str]| BrowserContainer {
        name: "b".to_owned(),
        labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        published: published.iter().map(|place| (*place).to_owned()).collect(),
    };
    let ids = |look: BrowserLook| -> Vec<String> {
        report("{}", &look).findings.into_iter().map(|one| one.check_id).collect()
    };
    let live = |one: BrowserContainer| ids(BrowserLook::Live(vec![one]));
    let local = ["127.0.0.1:1", "[::1]:2", "::1:3", "localhost:4"];
    assert!(live(container(&good, &local)).is_empty());
    assert_eq!(live(container(&good, &["0.0.0.0:1"])), ["sandbox.browser_container.non_loopback_publish"]);
    assert_eq!(live(container(&good[1..], &[])), ["sandbox.browser_container.hash_label_missing"]);
    assert_eq!(live(container(&good[..1], &[])), ["sandbox.browser_container.hash_epoch_stale"]);
    let late = BrowserLook::TimedOut(Duration::from_secs(5));
    assert_eq!(ids(late), ["sandbox.browser_container.docker_probe_timeout"]);
}

#[test]
fn removed_tools_are_told_by_layer() {
    let text = "{\n tools: {deny: ['browser']},\n agents: {entries: {a: {tools: {allow: ['exec']}}}}}";
    let report = report(text, &BrowserLook::NoEngine);
    let layers: Vec<(&str, &str)> = report
        .tool_policy
        .iter()
        .flat_map(|one| one.entries.iter().map(|entry| (one.agent_id.as_str(), entry.rule.as_str())))
        .collect();
    assert_eq!(layers, [("a", "tools.deny"), ("a", "agents.a.tools.allow")]);
    let first = report.findings.iter().find(|one| one.check_id == LOGGER).unwrap();
    assert_eq!((first.key.as_deref(), first.line), (Some("tools.deny[0]"), Some(2)));
}

#[test]
fn places_are_told_and_values_are_not() {
    let text = "{agents: {defaults: {sandbox: {mode: 'all', docker: {\n env: {DB_PASSWORD: 'hidden'}}}}}}";
    let report = report(text, &BrowserLook::NoEngine);
    let one = &report.findings[0];
    assert_eq!(
        (one.line, one.column, one.key.as_deref()),
        (Some(2), Some(2), Some("agents.defaults.sandbox.docker.env"))
    );
    assert_eq!(one.file.as_deref(), Some(Path::new("/state/openclaw.json")));
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("DB_PASSWORD") && !json.contains("hidden"), "{json}");
    assert_eq!(report.summary, Summary { critical: 0, warn: 1, info: report.summary.info });
}

#[test]
fn a_file_that_is_no_json_is_a_finding() {
    assert_eq!(bad("{agents: "), [("config.invalid".to_owned(), Severity::Critical)]);
}
