//! The tables of the specification, whole.

mod decide;
mod places;
mod scopes;

use crate::config::exec::{Ask, ExecHost, ExecLayer, ExecMode, Security};
use crate::config::reader::Set;

const SECURITIES: [Security; 3] = [Security::Deny, Security::Allowlist, Security::Full];
const ASKS: [Ask; 3] = [Ask::Off, Ask::OnMiss, Ask::Always];
const MODES: [ExecMode; 5] =
    [ExecMode::Deny, ExecMode::Allowlist, ExecMode::Ask, ExecMode::Auto, ExecMode::Full];
const HOSTS: [ExecHost; 4] = [ExecHost::Auto, ExecHost::Sandbox, ExecHost::Gateway, ExecHost::Node];

fn set<T>(value: T, key: &str) -> Set<T> {
    Set { value, key: key.to_owned() }
}

fn mode(mode: ExecMode) -> ExecLayer {
    ExecLayer { mode: Some(set(mode, "tools.exec.mode")), ..ExecLayer::default() }
}

fn pair(security: Option<Security>, ask: Option<Ask>) -> ExecLayer {
    ExecLayer {
        security: security.map(|value| set(value, "x.security")),
        ask: ask.map(|value| set(value, "x.ask")),
        ..ExecLayer::default()
    }
}
