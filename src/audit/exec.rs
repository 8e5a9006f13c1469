//! Where commands run, and what they may do there. Pure.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::{self, at};
use crate::config::exec::{Ask, ExecHost, ExecMode, Security};
use crate::config::{Config, Document, Mode, Places, WorkspaceAccess};
use crate::policy::{Caller, Tool, Verdict};
use crate::session::AgentId;

/// How many agents are named.
const NAMED: usize = 5;

/// What shows in the values as written.
pub(super) fn written(document: &Document) -> Vec<Finding> {
    let root = document.root();
    let wants = |block: &Value| at(block, &["exec", "host"]).and_then(Value::as_str) == Some("sandbox");
    let mut all = Vec::new();
    let default_off =
        at(root, &["agents", "defaults", "sandbox", "mode"]).and_then(Value::as_str).unwrap_or("off")
            == "off";
    if default_off && root.get("tools").is_some_and(wants) {
        all.push(no_sandbox(
            document,
            "tools.exec.host_sandbox_no_sandbox_defaults",
            "tools.exec.host",
            "commands are sent to a sandbox, and agents.defaults.sandbox.mode is off: they are refused",
        ));
    }
    let stranded: Vec<(String, String)> = raw::agents(root)
        .into_iter()
        .filter(|layer| layer.block.get("tools").is_some_and(wants) && raw::mode(root, layer.block) == "off")
        .map(|layer| (layer.agent.unwrap_or_default(), format!("{}.tools.exec.host", layer.key)))
        .collect();
    if let Some((_, key)) = stranded.first() {
        let mut names: Vec<&str> = stranded.iter().map(|(name, _)| name.as_str()).take(NAMED).collect();
        if stranded.len() > NAMED {
            names.push("…");
        }
        let detail = format!(
            "agents {} send commands to a sandbox, and their mode is off: they are refused",
            names.join(", ")
        );
        all.push(no_sandbox(document, "tools.exec.host_sandbox_no_sandbox_agents", key, &detail));
    }
    all
}

fn no_sandbox(document: &Document, check: &str, key: &str, detail: &str) -> Finding {
    let fix = "set agents.defaults.sandbox.mode to non-main or all, or tools.exec.host to auto";
    Finding::new(check, Severity::Warn, "Commands want a sandbox that is switched off", detail, fix)
        .at(document, key)
}

/// The agents by id, the default one first.
pub(super) fn agents(config: &Config) -> Vec<AgentId> {
    let default = config.default_agent();
    let others = config.agents().iter().map(|agent| agent.id.clone()).filter(|id| *id != default);
    std::iter::once(default.clone()).chain(others).collect()
}

/// Whether an agent has a tool, in the sandbox where every session has one.
pub(super) fn has(config: &Config, id: &AgentId, sandboxed: bool, tool: &str) -> bool {
    let caller = Caller { sandboxed, ..Caller::default() };
    config.tool_policy(id, &caller).verdict(&Tool::new(tool)) == Verdict::Allow
}

/// How far an agent's commands are trusted outside a sandbox, and whether somebody has written that. `None` where it has no
/// exec, or every session has a sandbox.
pub(super) fn reach(config: &Config, id: &AgentId, places: &Places) -> Option<(Security, bool)> {
    let sandbox = config.sandbox(id, places).ok()?;
    let exec = config.exec(id);
    if !has(config, id, sandbox.mode != Mode::Off, "exec") {
        return None;
    }
    let written = exec.mode.map(|mode| mode.pair().0).or(exec.security);
    // Nothing that is written and always a sandbox: nothing reaches a host.
    (written.is_some() || sandbox.mode != Mode::All)
        .then(|| (written.unwrap_or(Security::Full), written.is_some()))
}

/// What only the merged values show. `open`: anybody can write to an agent.
pub(super) fn merged(config: &Config, document: &Document, places: &Places, open: bool) -> Vec<Finding> {
    let mut all = Vec::new();
    for id in agents(config) {
        let Ok(sandbox) = config.sandbox(&id, places) else { continue };
        let exec = config.exec(&id);
        let tool = |name: &str| has(config, &id, sandbox.mode != Mode::Off, name);
        let held = sandbox.mode == Mode::All
            && matches!(exec.host, ExecHost::Auto | ExecHost::Sandbox)
            && sandbox.workspace_access != WorkspaceAccess::Rw;
        if tool("exec") && !["write", "edit", "apply_patch"].iter().any(|name| tool(name)) && !held {
            all.push(
                Finding::new(
                    "tools.exec.fs_tools_disabled_but_exec_enabled",
                    Severity::Warn,
                    "An agent that may not write can run a shell",
                    format!("agent {id} has neither write, edit nor apply_patch, and exec writes files without them"),
                    "deny group:runtime too, or run every session in a sandbox with workspaceAccess none or ro",
                )
                .at(document, "tools.deny"),
            );
        }
        let full = exec.mode == Some(ExecMode::Full) || exec.security == Some(Security::Full);
        let asks = exec.ask.is_some_and(|ask| ask != Ask::Off);
        if full && !asks && tool("exec") && sandbox.mode != Mode::All {
            all.push(
                Finding::new(
                    "tools.exec.security_full_configured",
                    if open { Severity::Critical } else { Severity::Warn },
                    "Commands run on the host without a question",
                    format!(
                        "agent {id}: security is full, nobody is asked, and not every session has a sandbox"
                    ),
                    "set agents.defaults.sandbox.mode to all, or tools.exec.mode to ask: creel config set tools.exec.mode ask",
                )
                .at(document, "tools.exec"),
            );
        }
    }
    all
}
