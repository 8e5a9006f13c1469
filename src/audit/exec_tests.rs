//! Checks of exec, safe bins, approvals and suppressions (spec `approvals.md` §17.1).

use std::os::unix::fs::PermissionsExt as _;

use pretty_assertions::assert_eq;

use super::tests::{bad, report, with_approvals};
use super::*;
use crate::approvals::store;
use crate::state::StateDir;

const OPEN: &str = "channels: {telegram: {groupPolicy: 'open'}}";

fn ids(text: &str) -> Vec<String> {
    bad(text).into_iter().map(|one| one.0).collect()
}

fn safe(inside: &str) -> Vec<String> {
    ids(&format!("{{tools: {{exec: {{{inside}}}}}}}"))
}

#[test]
fn full_is_critical_where_anybody_can_write() {
    let id = "tools.exec.security_full_configured";
    let of = |text: &str| bad(text).into_iter().find(|one| one.0 == id).map(|one| one.1);
    assert_eq!(of("{tools: {exec: {mode: 'full'}}}"), Some(Severity::Warn));
    assert_eq!(of(&format!("{{tools: {{exec: {{mode: 'full'}}}}, {OPEN}}}")), Some(Severity::Critical));
    assert_eq!(of(&format!("{{{OPEN}}}")), None, "only what is written (17.01)");
    assert_eq!(of("{agents: {entries: {a: {tools: {exec: {security: 'full'}}}}}}"), Some(Severity::Warn));
}

#[test]
fn exec_behind_an_open_channel() {
    let id = "security.exposure.open_channels_with_exec";
    let of = |inside: &str| {
        let all = bad(&format!("{{{OPEN}{inside}}}"));
        all.into_iter().find(|one| one.0 == id).map(|one| one.1)
    };
    assert_eq!(of(", tools: {exec: {mode: 'allowlist'}}"), Some(Severity::Warn));
    assert_eq!(of(", tools: {exec: {mode: 'full'}}"), Some(Severity::Critical));
    assert_eq!(of(""), Some(Severity::Critical), "what holds by default is full");
    assert_eq!(of(", tools: {exec: {mode: 'deny'}}"), None);
    assert_eq!(of(", tools: {exec: {security: 'deny'}}"), None);
    assert_eq!(of(", tools: {deny: ['exec']}"), None);
    assert_eq!(of(", agents: {defaults: {sandbox: {mode: 'all'}}}"), None);
    let one_agent = ", tools: {exec: {mode: 'deny'}}, agents: {entries: {a: {tools: {exec: {mode: 'ask'}}}}}";
    assert_eq!(of(one_agent), Some(Severity::Warn));
    assert!(!ids("{tools: {exec: {mode: 'full'}}}").contains(&id.to_owned()), "nobody can write");
    let direct = "{channels: {telegram: {accounts: {x: {dmPolicy: 'open'}}}}}";
    assert!(ids(direct).contains(&id.to_owned()));
}

#[test]
fn interpreters_as_safe_bins() {
    let id = "tools.exec.safe_bins_interpreter_unprofiled";
    for name in [
        "python3",
        "Python3.11",
        "/usr/bin/node",
        "bash",
        "php8.2",
        "busybox",
        "zsh",
        "pypy",
        "perl5.36",
        "nodejs",
        "deno",
        "lua5.4",
        "fish",
    ] {
        assert_eq!(safe(&format!("safeBins: ['cut', '{name}']")), [id], "{name}");
    }
    for inside in [
        "safeBins: ['cut', 'grep', 'mytool']",
        "safeBins: ['python3'], safeBinProfiles: {python3: {}}",
        "safeBinProfiles: {python3: {}}",
    ] {
        assert_eq!(safe(inside), [] as [&str; 0], "{inside}");
    }
    // An agent's list with a global profile, and without one.
    let agent = |profiles: &str| {
        ids(&format!(
            "{{tools: {{exec: {{safeBinProfiles: {{{profiles}}}}}}}, agents: {{entries: {{a: {{tools: {{exec: {{safeBins: ['ruby']}}}}}}}}}}}}"
        ))
    };
    assert_eq!(agent("ruby: {}"), [] as [&str; 0]);
    assert_eq!(agent(""), [id]);
}

#[test]
fn languages_as_safe_bins() {
    let id = "tools.exec.safe_bins_broad_behavior";
    assert_eq!(safe("safeBins: ['jq']"), [id]);
    assert_eq!(safe("safeBins: ['jq'], safeBinProfiles: {jq: {}}"), [id], "a profile does not help");
    for name in ["awk", "gawk", "mawk", "nawk", "sed", "gsed"] {
        let profiled = safe(&format!("safeBins: ['{name}'], safeBinProfiles: {{{name}: {{}}}}"));
        assert_eq!(profiled, [id], "{name}");
        assert!(safe(&format!("safeBins: ['{name}']")).contains(&id.to_owned()));
    }
    assert_eq!(safe("safeBins: ['grep', 'sort']"), [] as [&str; 0]);
}

#[test]
fn trusted_directories() {
    let id = "tools.exec.safe_bin_trusted_dirs_risky";
    for directory in [
        "/tmp",
        "/tmp/x/bin",
        "/var/tmp/bin",
        "/private/tmp",
        "/usr/local/bin",
        "/usr/local/bin/",
        "/opt/homebrew/bin",
        "/opt/local/bin",
        "/home/linuxbrew/.linuxbrew/bin",
        "~/bin",
        "/home/me/bin",
        "/home/other/bin",
        "/srv/x/.local/bin",
        "/usr/../tmp/bin",
    ] {
        assert_eq!(safe(&format!("safeBinTrustedDirs: ['{directory}']")), [id], "{directory}");
    }
    // A file that creel refuses is audited all the same.
    assert!(safe("safeBinTrustedDirs: ['bin']").contains(&id.to_owned()));
    for directory in ["/opt/tools/bin", "/usr/sbin", "/tmpx/bin", "/usr/local/sbin"] {
        assert_eq!(safe(&format!("safeBinTrustedDirs: ['{directory}']")), [] as [&str; 0], "{directory}");
    }
    let many = (0..12).map(|n| format!("'/tmp/{n}'")).collect::<Vec<_>>().join(",");
    let text = format!("{{tools: {{exec: {{safeBinTrustedDirs: [{many}]}}}}}}");
    let finding = report(&text, &BrowserLook::NoEngine).findings.remove(0);
    assert!(finding.detail.contains("/tmp/9 ") && !finding.detail.contains("/tmp/10"), "{}", finding.detail);
    assert_eq!(finding.key.as_deref(), Some("tools.exec.safeBinTrustedDirs[0]"));
}

#[test]
fn a_trusted_directory_that_others_may_write_to() {
    let home = tempfile::Builder::new().prefix("creel-audit").tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let text = format!("{{tools: {{exec: {{safeBinTrustedDirs: ['{}']}}}}}}", bin.display());
    let document = Document::parse(&text, std::path::Path::new("/x.json")).unwrap();
    let places = Places { home: None, state: "/state".into() };
    let found = |mode: u32| {
        std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(mode)).unwrap();
        let writable = writable_dirs(&document, &places);
        safe_bins::checks(&document, None, &writable).len()
    };
    assert_eq!((found(0o755), found(0o775), found(0o777)), (0, 1, 1));
}

struct Machine {
    home: tempfile::TempDir,
}

impl Machine {
    fn new(approvals: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("exec-approvals.json");
        std::fs::write(&path, approvals).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        Self { home }
    }

    fn bad(&self, config: &str) -> Vec<String> {
        let path = self.home.path().to_str().unwrap().to_owned();
        let state = StateDir::locate(|name| (name == "CREEL_STATE_DIR").then(|| path.clone())).unwrap();
        let local = store::peek(&state);
        let report = with_approvals(config, &BrowserLook::NoEngine, Some(&local));
        assert_eq!(std::fs::read_dir(self.home.path()).unwrap().count(), 1, "an audit writes nothing");
        let all = report.findings.into_iter().filter(|one| one.severity > Severity::Info);
        all.map(|one| one.check_id).collect()
    }
}

#[test]
fn programs_of_skills() {
    let id = "tools.exec.auto_allow_skills_enabled";
    for (inside, count) in [
        ("\"defaults\": {\"autoAllowSkills\": true}", 1),
        ("\"agents\": {\"*\": {\"autoAllowSkills\": true}, \"a\": {\"autoAllowSkills\": true}}", 2),
        ("\"defaults\": {\"autoAllowSkills\": false}", 0),
        ("\"defaults\": {}", 0),
    ] {
        let machine = Machine::new(&format!("{{\"version\": 1, {inside}}}"));
        assert_eq!(machine.bad("{}"), vec![id; count], "{inside}");
    }
}

#[test]
fn listed_interpreters() {
    let id = "tools.exec.allowlist_interpreter_without_strict_inline_eval";
    let listed = |agent: &str, entry: &str| {
        Machine::new(&format!(
            "{{\"version\": 1, \"agents\": {{\"{agent}\": {{\"allowlist\": [{entry}]}}}}}}"
        ))
    };
    let strict = "{tools: {exec: {strictInlineEval: true}}}";
    for entry in [
        "\"python3\"",
        "\"/usr/bin/python3*\"",
        "{\"pattern\": \"/usr/bin/node\"}",
        "{\"pattern\": \"deno\", \"argPattern\": \"^x\"}",
        "{\"pattern\": \"deno\", \"argPattern\": \"^x.*$\"}",
        "{\"pattern\": \"deno\", \"argPattern\": \"^x\\\\S$\"}",
        "{\"pattern\": \"deno\", \"argPattern\": \"^x\\\\$\"}",
    ] {
        assert_eq!(listed("*", entry).bad("{}"), [id], "{entry}");
        assert_eq!(listed("*", entry).bad(strict), [] as [&str; 0], "{entry}");
    }
    for entry in [
        "\"rg\"",
        "{\"pattern\": \"python3\", \"source\": \"allow-always\"}",
        "{\"pattern\": \"python3\", \"argPattern\": \"^a\\\\.py$\"}",
    ] {
        assert_eq!(listed("*", entry).bad("{}"), [] as [&str; 0], "{entry}");
    }
    // Of each agent its own rule counts; of everybody the least strict.
    let one = "{tools: {exec: {strictInlineEval: true}}, agents: {entries: {a: {tools: {exec: {strictInlineEval: false}}}}}}";
    assert_eq!(listed("a", "\"node\"").bad(one), [id]);
    assert_eq!(listed("main", "\"node\"").bad(one), [] as [&str; 0]);
    assert_eq!(listed("*", "\"node\"").bad(one), [id]);
}

#[test]
fn an_approvals_document_that_cannot_be_used_is_told() {
    assert_eq!(Machine::new("{").bad("{}"), ["approvals.document_invalid"]);
    assert_eq!(Machine::new("{\"version\": 1}").bad("{}"), [] as [&str; 0]);
}

#[test]
fn a_reviewers_key_in_clear() {
    let of = |inside: &str| safe(&format!("reviewer: {{{inside}}}"));
    assert_eq!(of("url: 'http://llm.lan:8000/v1', keyEnv: 'K'"), ["tools.exec.reviewer_key_in_clear"]);
    for inside in [
        "url: 'https://llm.lan/v1', keyEnv: 'K'",
        "url: 'http://127.0.0.1:8000/v1', keyEnv: 'K'",
        "url: 'http://[::1]:8000/v1', keyEnv: 'K'",
        "url: 'http://localhost/v1', keyEnv: 'K'",
        "url: 'http://llm.lan:8000/v1'",
    ] {
        assert_eq!(of(inside), [] as [&str; 0], "{inside}");
    }
}

#[test]
fn each_dangerous_switch_is_one_finding() {
    let text = "{tools: {dangerouslyAllowEmptyPolicy: true, exec: {applyPatch: {workspaceOnly: false}}}, \
                agents: {entries: {a: {tools: {exec: {applyPatch: {workspaceOnly: false}}}}}}}";
    let found = report(text, &BrowserLook::NoEngine).findings.into_iter();
    let keys: Vec<String> = found
        .filter(|one| one.check_id == "config.insecure_or_dangerous_flags")
        .filter_map(|one| one.key)
        .collect();
    assert_eq!(
        keys,
        [
            "tools.dangerouslyAllowEmptyPolicy",
            "tools.exec.applyPatch.workspaceOnly",
            "agents.entries.a.tools.exec.applyPatch.workspaceOnly"
        ]
    );
}

fn suppressed(rules: &str) -> Report {
    let text = format!(
        "{{tools: {{exec: {{mode: 'full', safeBins: ['jq']}}}}, security: {{audit: {{suppressions: {rules}}}}}}}"
    );
    report(&text, &BrowserLook::NoEngine)
}

#[test]
fn accepted_findings_stay_visible() {
    let full = "tools.exec.security_full_configured";
    let jq = "tools.exec.safe_bins_broad_behavior";
    let active = "security.audit.suppressions.active";
    let of = |rules: &str| {
        let report = suppressed(rules);
        let standing: Vec<String> = report.findings.iter().map(|one| one.check_id.clone()).collect();
        let accepted: Vec<String> =
            report.suppressed_findings.iter().map(|one| one.finding.check_id.clone()).collect();
        (standing, accepted, report.summary.warn)
    };
    let (standing, accepted, warned) = of(&format!("[{{checkId: '{full}', reason: 'a test machine'}}]"));
    assert_eq!(
        (standing, accepted, warned),
        (vec![jq.to_owned(), active.to_owned()], vec![full.to_owned()], 1)
    );
    let parts =
        format!("[{{checkId: '{jq}', titleIncludes: 'A LANGUAGE', detailIncludes: 'Jq', reason: 'x'}}]");
    assert_eq!(of(&parts).1, [jq]);
    for rules in [
        format!("[{{checkId: '{jq}', titleIncludes: 'python', reason: 'x'}}]"),
        format!("[{{checkId: '{jq}', detailIncludes: 'python', reason: 'x'}}]"),
        "[{checkId: 'tools.exec', reason: 'exact ids only'}]".to_owned(),
        format!("[{{checkId: '{}', reason: 'case counts'}}]", jq.to_uppercase()),
        // What says that something is suppressed cannot be suppressed.
        format!("[{{checkId: '{active}', reason: 'x'}}]"),
    ] {
        assert_eq!(
            of(&rules),
            (vec![jq.to_owned(), full.to_owned(), active.to_owned()], vec![], 2),
            "{rules}"
        );
    }
    let json = serde_json::to_value(suppressed(&parts)).unwrap();
    assert_eq!(json["suppressedFindings"][0]["checkId"], jq);
    assert_eq!(json["suppressedFindings"][0]["suppressionReason"], "x");
    assert_eq!(json["suppressedFindings"][0]["suppressedBy"], "security.audit.suppressions[0]");
}

#[test]
fn a_suppression_that_cannot_be_read_suppresses_nothing() {
    let jq = "tools.exec.safe_bins_broad_behavior";
    for rules in [
        "'all'".to_owned(),
        "['all']".to_owned(),
        format!("[{{checkId: '{jq}'}}]"),
        format!("[{{checkId: '{jq}', reason: ' '}}]"),
        format!("[{{checkId: ['{jq}'], reason: 'x'}}]"),
        format!("[{{checkId: '{jq}', reason: 'x', until: 'ever'}}]"),
        "[{reason: 'x'}]".to_owned(),
    ] {
        let report = suppressed(&rules);
        assert!(report.suppressed_findings.is_empty(), "{rules}");
        let told = report.findings.iter().any(|one| one.check_id == "security.audit.suppressions.invalid");
        assert!(told, "{rules}");
    }
}
