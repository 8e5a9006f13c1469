//! Requested, host, effective.

use std::path::Path;

use super::{ASKS, MODES, SECURITIES, mode, pair};
use crate::approvals::document::Document;
use crate::approvals::policy::requested::Source;
use crate::approvals::policy::snapshot::Snapshot;
use crate::approvals::policy::{
    Effective, Host, Layers, ModePolicy, PermissionMode, Requested, effective, report, words,
};
use crate::config::exec::{Ask, ExecHost, ExecLayer, ExecMode, Security};
use crate::session::AgentId;

fn document(text: &str) -> Document {
    Document::parse(text, Path::new("d")).unwrap()
}

fn under(requested: &Requested, documents: &[&Document]) -> Effective {
    let main = AgentId::main();
    let rules = documents.iter().map(|document| document.rules(Some(&main)));
    let hosts: Vec<Host<'_>> = rules.map(|rules| Host { locator: "d", rules }).collect();
    effective(requested, &hosts)
}

fn request(layers: &[&ExecLayer]) -> Requested {
    let layers =
        Layers { global: layers.first().copied(), agent: layers.get(1).copied(), ..Layers::default() };
    Requested::of(&layers, false)
}

fn of(layers: &[&ExecLayer]) -> (ExecMode, Security, Ask, bool) {
    let found = request(layers);
    (found.mode.value, found.security.value, found.ask.value, found.policy().reviewer())
}

#[test]
fn modes_and_pairs() {
    use {Ask as A, ExecMode as M, Security as S};
    for (mode, security, ask, reviewed) in [
        (M::Deny, S::Deny, A::Off, false),
        (M::Allowlist, S::Allowlist, A::Off, false),
        (M::Ask, S::Allowlist, A::OnMiss, false),
        (M::Auto, S::Allowlist, A::OnMiss, true),
        (M::Full, S::Full, A::Off, false),
    ] {
        let policy = ModePolicy::of(mode);
        assert_eq!((policy.security, policy.ask, policy.reviewer()), (security, ask, reviewed));
        assert_eq!((policy.mode(), policy.exact()), (mode, Some(mode)), "a mode is shown as itself");
    }
    for (security, ask, shown, exact) in [
        (S::Deny, A::OnMiss, M::Deny, true),
        (S::Deny, A::Always, M::Deny, false),
        (S::Allowlist, A::Always, M::Ask, false),
        (S::Full, A::OnMiss, M::Full, false),
        (S::Full, A::Always, M::Ask, false),
    ] {
        let policy = ModePolicy::pair(security, ask);
        assert_eq!((policy.mode(), policy.exact().is_some()), (shown, exact), "{security:?} {ask:?}");
    }
    let hardened = ModePolicy { ask: Ask::Always, ..ModePolicy::of(ExecMode::Auto) };
    assert!(!hardened.reviewer() && hardened.mode() == ExecMode::Ask);
}

#[test]
fn words_of_people() {
    assert_eq!(words::security(" Full "), Some(Security::Full));
    assert_eq!(words::ask("ON-MISS"), Some(Ask::OnMiss));
    assert_eq!(words::mode("auto"), Some(ExecMode::Auto));
    assert_eq!((words::host("auto"), words::target("auto")), (None, Some(ExecHost::Auto)));
    assert_eq!(words::permission("Read-Only"), Some(PermissionMode::ReadOnly));
    for text in ["", "allow-list", "on miss", "fulll", "node2"] {
        assert!(words::security(text).is_none() && words::ask(text).is_none() && words::mode(text).is_none());
        assert!(words::target(text).is_none() && words::permission(text).is_none());
    }
}

#[test]
fn a_nearer_layer_states_its_whole_intent() {
    use {Ask as A, ExecMode as M, Security as S};
    assert_eq!(of(&[]), (M::Full, S::Full, A::Off, false));
    assert_eq!(of(&[&mode(M::Auto), &mode(M::Full)]), (M::Full, S::Full, A::Off, false));
    assert_eq!(of(&[&mode(M::Auto), &pair(None, Some(A::Off))]), (M::Allowlist, S::Allowlist, A::Off, false));
    assert_eq!(of(&[&mode(M::Auto), &pair(Some(S::Full), None)]), (M::Full, S::Full, A::OnMiss, false));
    assert_eq!(of(&[&mode(M::Auto), &pair(None, Some(A::OnMiss))]), (M::Ask, S::Allowlist, A::OnMiss, false));
    assert_eq!(of(&[&mode(M::Deny), &pair(None, Some(A::Always))]), (M::Deny, S::Deny, A::Always, false));
    assert_eq!(
        of(&[&pair(Some(S::Deny), Some(A::Always)), &mode(M::Ask)]),
        (M::Ask, S::Allowlist, A::OnMiss, false)
    );
    assert_eq!(of(&[&mode(M::Auto), &ExecLayer::default()]), (M::Auto, S::Allowlist, A::OnMiss, true));
}

#[test]
fn sources_are_told() {
    let told = |layers: &[&ExecLayer]| {
        let found = request(layers);
        [found.mode.source, found.security.source, found.ask.source].map(|source| source.to_string())
    };
    assert_eq!(told(&[]), ["creel default", "creel default", "creel default"]);
    let derived = "derived from tools.exec.mode";
    assert_eq!(told(&[&mode(ExecMode::Ask)]), ["tools.exec.mode", derived, derived]);
    let half = pair(None, Some(Ask::Always));
    assert_eq!(told(&[&mode(ExecMode::Ask), &half]), [derived, derived, "x.ask"]);
    assert_eq!(told(&[&half]), ["derived from x.ask", "creel default", "x.ask"]);
}

/// Every mode that an operator can set for a session, under every word of `/exec`.
#[test]
fn a_permission_mode_is_only_tightened() {
    for permission in
        [PermissionMode::ReadOnly, PermissionMode::Guarded, PermissionMode::Workspace, PermissionMode::Full]
    {
        let set = ModePolicy::of(permission.exec());
        let global = mode(ExecMode::Allowlist);
        let requested = |session: Option<&ExecLayer>| {
            let layers =
                Layers { global: Some(&global), permission: Some(permission), session, ..Layers::default() };
            Requested::of(&layers, false).policy()
        };
        assert_eq!(requested(None), set, "it replaces what is configured");
        for word in MODES {
            let (security, ask) = word.pair();
            let expected = set.stricter(ModePolicy::pair(security, ask));
            assert_eq!(requested(Some(&mode(word))), expected, "{permission:?} {word:?}");
        }
        for security in SECURITIES {
            for ask in ASKS {
                let expected = set.stricter(ModePolicy::pair(security, ask));
                assert_eq!(requested(Some(&pair(Some(security), Some(ask)))), expected);
            }
        }
    }
    let full = pair(Some(Security::Full), None);
    let layers = Layers { session: Some(&full), ..Layers::default() };
    assert_eq!(
        Requested::of(&layers, false).security.value,
        Security::Full,
        "without one, /exec says what it says"
    );
}

/// Security, ask and fallback: every requested value under every document value.
#[test]
fn the_stricter_side_wins() {
    for security in SECURITIES {
        for ask in ASKS {
            let requested = request(&[&pair(Some(security), Some(ask))]);
            for host in SECURITIES {
                let text = format!("{{\"version\":1,\"defaults\":{{\"security\":{}}}}}", word(host));
                assert_eq!(under(&requested, &[&document(&text)]).security.effective, security.min(host));
                let text = format!("{{\"version\":1,\"defaults\":{{\"askFallback\":{}}}}}", word(host));
                let found = under(&requested, &[&document(&text)]);
                assert_eq!(found.ask_fallback.value, security.min(host));
                assert!(matches!(found.ask_fallback.source, Source::Document { .. }));
            }
            for host in ASKS {
                let text = format!("{{\"version\":1,\"defaults\":{{\"ask\":{}}}}}", word(host));
                assert_eq!(under(&requested, &[&document(&text)]).ask.effective, ask.max(host));
            }
            let silent = under(&requested, &[&document("{\"version\":1}")]);
            assert_eq!((silent.security.effective, silent.ask.effective), (security, ask));
            assert_eq!(
                (&silent.security.host.source, silent.security.host.value),
                (&Source::Inherited, security)
            );
            assert_eq!(silent.ask_fallback.value, Security::Deny, "silence is not consent");
            let closed = under(&requested, &[&Document::closed()]);
            assert_eq!(closed.security.effective, Security::Deny);
        }
    }
}

fn word<T: serde::Serialize>(value: T) -> String {
    serde_json::to_string(&value).unwrap()
}

/// A node: the gateway's document and the node's both count, in either order.
#[test]
fn every_document_counts() {
    let one = document(
        r#"{"version":1,"defaults":{"security":"full","ask":"always","askFallback":"full","autoAllowSkills":true}}"#,
    );
    let two = document(
        r#"{"version":1,"agents":{"main":{"security":"allowlist","ask":"off","askFallback":"allowlist"}}}"#,
    );
    let requested = request(&[]);
    for documents in [[&one, &two], [&two, &one]] {
        let found = under(&requested, &documents);
        assert_eq!(found.policy(), ModePolicy::pair(Security::Allowlist, Ask::Always));
        assert_eq!((found.ask_fallback.value, found.auto_allow_skills), (Security::Allowlist, false));
    }
    assert!(under(&requested, &[&one]).auto_allow_skills);
    assert!(!under(&requested, &[]).auto_allow_skills);
    let silent = Document::default();
    assert_eq!(under(&requested, &[&one, &silent]).ask_fallback.value, Security::Deny);
}

/// Only a session that is `full` and `off` on both sides is never asked.
#[test]
fn never_asking_needs_both_sides() {
    let open = document(r#"{"version":1,"defaults":{"security":"full","ask":"off"}}"#);
    assert!(under(&request(&[]), &[&open]).never_asks());
    for rule in
        [r#""ask":"always""#, r#""ask":"on-miss""#, r#""security":"allowlist""#, r#""security":"deny""#]
    {
        let strict = document(&format!("{{\"version\":1,\"defaults\":{{{rule}}}}}"));
        assert!(!under(&request(&[]), &[&strict]).never_asks(), "{rule}");
    }
    assert!(!under(&request(&[&mode(ExecMode::Auto)]), &[&open]).never_asks());
}

#[test]
fn the_report_tells_why() {
    let strict =
        document(r#"{"version":1,"defaults":{"security":"allowlist","ask":"on-miss","askFallback":"full"}}"#);
    let found = under(&request(&[&mode(ExecMode::Full)]), &[&strict]);
    let told = serde_json::to_value(report::scope(&found, Some("main"))).unwrap();
    let expected = serde_json::json!({
        "scopeLabel": "agent:main", "agentId": "main",
        "host": {"requested": "auto", "requestedSource": "creel default (auto)"},
        "mode": {"requested": "full", "requestedSource": "tools.exec.mode", "effective": "ask",
            "note": "host policy changes effective mode"},
        "security": {"requested": "full", "requestedSource": "derived from tools.exec.mode", "host": "allowlist",
            "hostSource": "d defaults.security", "effective": "allowlist", "note": "stricter host security wins"},
        "ask": {"requested": "off", "requestedSource": "derived from tools.exec.mode", "host": "on-miss",
            "hostSource": "d defaults.ask", "effective": "on-miss", "note": "more aggressive ask wins"},
        "askFallback": {"effective": "allowlist", "source": "d defaults.askFallback"},
        "runtimeApprovalsSource": "local-file",
    });
    pretty_assertions::assert_eq!(told, expected);
    let node =
        ExecLayer { host: Some(super::set(ExecHost::Node, "tools.exec.host")), ..ExecLayer::default() };
    let told = serde_json::to_value(report::scope(&under(&request(&[&node]), &[&strict]), None)).unwrap();
    assert_eq!(told["runtimeApprovalsSource"], "node-runtime");
    for place in ["/mode/effective", "/security/host", "/ask/effective", "/askFallback/effective"] {
        assert_eq!(told.pointer(place).unwrap(), "unknown", "{place}");
    }
}

#[test]
fn an_approval_is_void_when_a_rule_goes() {
    let snapshot = |text: &str| {
        let document = document(text);
        let found = under(&request(&[&mode(ExecMode::Ask)]), &[&document]);
        Snapshot::of(&found, &document.rules(Some(&AgentId::main())).allowlist)
    };
    let hash = format!("sha256:cwd-argv:v1:{}", "0".repeat(64));
    let with = |rules: &str, list: &str| {
        snapshot(&format!("{{\"version\":1,\"agents\":{{\"main\":{{{rules}\"allowlist\":[{list}]}}}}}}"))
    };
    let bound = format!("{{\"pattern\":\"rg\",\"argPattern\":\"{hash}\"}}");
    let always = format!("{{\"pattern\":\"rg\",\"argPattern\":\"{hash}\",\"source\":\"allow-always\"}}");
    let then = with("", &format!("\"ls\",{bound}"));
    assert!(then.holds_under(&then.clone()));
    assert!(then.holds_under(&with("", &format!("\"cat\",\"ls\",{bound}"))), "an added entry");
    assert!(then.holds_under(&with("", &format!("\"ls\",{always}"))), "approved for good since");
    assert!(!then.holds_under(&with("", "\"ls\"")), "a removed entry");
    assert!(!then.holds_under(&with("", &format!("{{\"pattern\":\"ls\",\"argPattern\":\"^a$\"}},{bound}"))));
    assert!(
        !then.holds_under(&with("", &format!("{{\"pattern\":\"ls\",\"source\":\"allow-always\"}},{bound}")))
    );
    for rule in [
        "\"ask\":\"always\",",
        "\"security\":\"deny\",",
        "\"askFallback\":\"full\",",
        "\"autoAllowSkills\":true,",
    ] {
        assert!(!then.holds_under(&with(rule, &format!("\"ls\",{bound}"))), "{rule}");
    }
}
