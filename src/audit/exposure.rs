//! Who can reach an agent, and what it then can do. Pure.
//!
//! The blocks of channels belong to the agent host. They are only looked through for the few words that say who may
//! write to an agent.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::at;
use super::{elevated, exec};
use crate::config::exec::Security;
use crate::config::index::member;
use crate::config::{Config, Document, Mode, Places};
use crate::session::AgentId;

/// Tools that change or start agents.
const CONTROL: [&str; 4] = ["gateway", "automations", "sessions_spawn", "sessions_send"];
/// Tools that run commands.
const RUNTIME: [&str; 2] = ["exec", "process"];
/// Tools that read and write files.
const FILES: [&str; 5] = ["read", "write", "edit", "apply_patch", "ls"];

pub(super) fn checks(config: &Config, document: &Document, places: &Places) -> Vec<Finding> {
    let root = document.root();
    let (open, signals) = channels(root);
    let mut all = Vec::new();
    let risks: Vec<Risk> =
        exec::agents(config).iter().filter_map(|id| risk(config, document, places, id)).collect();
    if let Some(first) = open.first() {
        let who = open.join(", ");
        if elevated::is_on(root) {
            all.push(
                Finding::new(
                    "security.exposure.open_groups_with_elevated",
                    Severity::Critical,
                    "Anybody can write to an agent whose commands may leave the sandbox",
                    format!("open: {who}; tools.elevated is not switched off"),
                    "set the policy to allowlist, or tools.elevated.enabled to false",
                )
                .at(document, first),
            );
        }
        all.extend(with_exec(config, document, places, first, &who));
        all.extend(runtime_or_fs(document, first, &who, &risks));
        let control: Vec<&str> =
            risks.iter().filter(|risk| !risk.control.is_empty()).map(|risk| risk.agent.as_str()).collect();
        if !control.is_empty() {
            all.push(
                Finding::new(
                    "security.exposure.open_groups_with_control_plane_tools",
                    Severity::Critical,
                    "Anybody can write to an agent that controls others",
                    format!(
                        "open: {who}; agents {} have tools of {}",
                        control.join(", "),
                        CONTROL.join(", ")
                    ),
                    "set the policy to allowlist, or deny these tools",
                )
                .at(document, first),
            );
        }
    }
    if let Some((first, _)) = signals.first() {
        let told: Vec<String> = signals.iter().map(|(key, what)| format!("{key}: {what}")).collect();
        all.push(
            Finding::new(
                "security.trust_model.multi_user_heuristic",
                Severity::Warn,
                "Several people seem to use this installation",
                format!("{}. One installation is one trust group: whoever reaches an agent has what it has", told.join("; ")),
                "give people who do not trust each other an installation each, and run every session in a sandbox",
            )
            .at(document, first),
        );
    }
    all
}

/// Whether anybody can write to an agent.
pub(super) fn is_open(document: &Document) -> bool {
    !channels(document.root()).0.is_empty()
}

/// Agents whose commands may run for anybody: those for whom nobody has written `deny`.
fn with_exec(
    config: &Config,
    document: &Document,
    places: &Places,
    first: &str,
    who: &str,
) -> Option<Finding> {
    let reach = |id: &AgentId| Some((id.clone(), exec::reach(config, id, places)?.0));
    let agents: Vec<(AgentId, Security)> = exec::agents(config)
        .iter()
        .filter_map(reach)
        .filter(|(_, security)| *security != Security::Deny)
        .collect();
    let names: Vec<&str> = agents.iter().map(|(id, _)| id.as_str()).collect();
    let full = agents.iter().any(|(_, security)| *security == Security::Full);
    let (severity, how) = if full {
        (Severity::Critical, "without being listed")
    } else {
        (Severity::Warn, "as far as they are listed or approved")
    };
    (!agents.is_empty()).then(|| {
        Finding::new(
            "security.exposure.open_channels_with_exec",
            severity,
            "Anybody can write to an agent that runs commands",
            format!("open: {who}; commands of agents {} run {how}", names.join(", ")),
            "set the policy to allowlist, or tools.exec.mode to deny",
        )
        .at(document, first)
    })
}

fn runtime_or_fs(document: &Document, first: &str, who: &str, risks: &[Risk]) -> Option<Finding> {
    let named = |some: &dyn Fn(&Risk) -> bool| {
        risks.iter().filter(|risk| some(risk)).map(|risk| risk.agent.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (runtime, files) = (named(&|risk| risk.runtime), named(&|risk| risk.files));
    let (severity, what) = match (runtime.is_empty(), files.is_empty()) {
        (true, true) => return None,
        (false, _) => (Severity::Critical, format!("agents {runtime} run commands outside a sandbox")),
        (true, false) => (Severity::Warn, format!("agents {files} reach files beyond their workspace")),
    };
    Some(
        Finding::new(
            "security.exposure.open_groups_with_runtime_or_fs",
            severity,
            "Anybody can write to an agent that works on the host",
            format!("open: {who}; {what}"),
            "set the policy to allowlist, or agents.defaults.sandbox.mode to all",
        )
        .at(document, first),
    )
}

/// What an agent could do for a stranger.
struct Risk {
    agent: String,
    runtime: bool,
    files: bool,
    control: Vec<&'static str>,
}

fn risk(config: &Config, document: &Document, places: &Places, id: &AgentId) -> Option<Risk> {
    let sandbox = config.sandbox(id, places).ok()?;
    let sandboxed = sandbox.mode == Mode::All;
    let has = |name: &&&str| exec::has(config, id, sandboxed, name);
    let root = document.root();
    let agent = config.agents().iter().find(|agent| agent.id == *id);
    let own = agent.and_then(|agent| {
        let path = crate::config::KeyPath::parse(&agent.key).ok()?;
        at(path.look_up(root)?, &["tools", "fs", "workspaceOnly"])
    });
    let workspace_only =
        own.or_else(|| at(root, &["tools", "fs", "workspaceOnly"])) == Some(&Value::Bool(true));
    Some(Risk {
        agent: id.to_string(),
        runtime: !sandboxed && RUNTIME.iter().any(|name| has(&name)),
        files: !sandboxed && !workspace_only && FILES.iter().any(|name| has(&name)),
        control: CONTROL.iter().filter(has).copied().collect(),
    })
}

/// Keys of open policies, and everything that points to several people.
fn channels(root: &Value) -> (Vec<String>, Vec<(String, &'static str)>) {
    let (mut open, mut signals) = (Vec::new(), Vec::new());
    for (name, block) in root.get("channels").and_then(Value::as_object).into_iter().flatten() {
        if block.get("enabled") == Some(&Value::Bool(false)) {
            continue;
        }
        let key = member("channels", name);
        look(block, &key, &mut open, &mut signals);
        for (account, block) in block.get("accounts").and_then(Value::as_object).into_iter().flatten() {
            look(block, &member(&format!("{key}.accounts"), account), &mut open, &mut signals);
        }
    }
    (open, signals)
}

fn look(block: &Value, key: &str, open: &mut Vec<String>, signals: &mut Vec<(String, &'static str)>) {
    for path in [&["dmPolicy"][..], &["dm", "policy"], &["groupPolicy"]] {
        let key = format!("{key}.{}", path.join("."));
        match at(block, path).and_then(Value::as_str) {
            Some("open") => {
                signals.push((key.clone(), "open to everybody"));
                open.push(key);
            }
            Some("allowlist") if path == ["groupPolicy"] && has_groups(block) => {
                signals.push((key, "groups are configured"));
            }
            _ => {}
        }
    }
    for name in ["allowFrom", "groupAllowFrom"] {
        let list = block.get(name).and_then(Value::as_array);
        if list.into_iter().flatten().any(|entry| entry.as_str().is_some_and(|entry| entry.trim() == "*")) {
            signals.push((format!("{key}.{name}"), "names everybody"));
        }
    }
}

fn has_groups(block: &Value) -> bool {
    let some = |name: &str| match block.get(name) {
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        _ => false,
    };
    ["groups", "guilds", "channels", "rooms"].into_iter().any(some)
}
