//! Where commands run, and which policy that is.

use std::path::Path;

use super::{HOSTS, mode, set};
use crate::approvals::document::Document;
use crate::approvals::policy::{Host, Layers, ModePolicy, RouteError, Routing, Session, Target, resolve};
use crate::config::exec::{Ask, ExecHost, ExecLayer, ExecMode, Security};
use crate::error::Diagnose as _;
use crate::session::AgentId;

/// One cell: a letter for the host, `!` for no sandbox, `x` for not allowed.
fn cell(routing: Routing, host: Option<ExecHost>) -> char {
    match routing.call(host) {
        Ok(Target::Gateway) => 'G',
        Ok(Target::Sandbox) => 'S',
        Ok(Target::Node) => 'N',
        Err(RouteError::NoSandbox) => '!',
        Err(RouteError::NotAllowed { .. }) => 'x',
        Err(RouteError::Required) => 'r',
        Err(RouteError::ElevatedRequired) => 'e',
    }
}

/// Columns: nothing named, sandbox, gateway, node. Rows: auto, sandbox, gateway, node.
fn table(sandbox: bool, required: bool, elevated: bool) -> [String; 4] {
    HOSTS.map(|configured| {
        let routing = Routing { configured, sandbox, required, elevated };
        assert_eq!(cell(routing, None), cell(routing, Some(ExecHost::Auto)), "auto names nothing");
        let named = [None, Some(ExecHost::Sandbox), Some(ExecHost::Gateway), Some(ExecHost::Node)];
        named.map(|host| cell(routing, host)).iter().collect()
    })
}

/// Spec `exec.md` §2.2, whole; from `auto` with a sandbox a node may be named, as the seeds have it.
#[test]
fn the_table_of_hosts() {
    assert_eq!(table(false, false, false), ["G!GN", "!!xx", "GxGx", "NxxN"]);
    assert_eq!(table(true, false, false), ["SSxN", "SSxx", "GxGx", "NxxN"]);
    assert_eq!(table(false, false, true), ["GGGN", "GGxx", "GxGx", "NxxN"]);
    assert_eq!(table(true, false, true), ["GGxN", "GGxx", "GxGx", "NxxN"]);
    for elevated in [false, true] {
        assert_eq!(table(false, true, elevated), ["rrrr"; 4]);
    }
    assert_eq!(table(true, true, false), ["SSrr"; 4]);
    assert_eq!(table(true, true, true), ["eeee"; 4]);
}

#[test]
fn refusals_have_their_shape() {
    let routing = Routing { configured: ExecHost::Sandbox, sandbox: true, required: false, elevated: false };
    let report = routing.call(Some(ExecHost::Gateway)).unwrap_err().report();
    assert_eq!(report.code, "CRL-ROUTE-003");
    assert_eq!(report.message, "exec host not allowed (requested gateway; configured host is sandbox)");
    assert_eq!(report.rule.as_deref(), Some("tools.exec.host"));
}

/// The document limits what leaves the sandbox, and says nothing of what stays inside.
#[test]
fn the_document_is_for_hosts() {
    let text = r#"{"version":1,"defaults":{"security":"allowlist","ask":"on-miss"}}"#;
    let document = Document::parse(text, Path::new("d")).unwrap();
    let main = AgentId::main();
    let found = |layers: Layers<'_>, sandbox: bool| {
        let session = Session { layers, sandbox, required: false, elevated: false };
        resolve(&session, &[Host { locator: "d", rules: document.rules(Some(&main)) }]).unwrap()
    };
    let host = found(Layers::default(), false);
    assert_eq!((host.target, host.effective.policy().mode()), (Target::Gateway, ExecMode::Ask));
    let inside = found(Layers::default(), true);
    assert_eq!(inside.effective.policy(), ModePolicy::pair(Security::Deny, Ask::Off));
    assert!(!inside.refuses_sandbox(), "nobody wrote that deny");
    let deny = mode(ExecMode::Deny);
    assert!(found(Layers { global: Some(&deny), ..Layers::default() }, true).refuses_sandbox());
    let node = ExecLayer { host: Some(set(ExecHost::Node, "tools.exec.host")), ..mode(ExecMode::Auto) };
    let layers = Layers { global: Some(&node), ..Layers::default() };
    let found = found(layers, true);
    assert_eq!((found.target, found.effective.policy().mode()), (Target::Node, ExecMode::Auto));
}
