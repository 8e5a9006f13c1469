//! Checks of the approvals document, and of what comes of it and the configuration (spec `approvals.md` §17.2). Pure.

use super::configuration::{agents, resolved};
use super::facts::{ApprovalsLook, ConfigLook, SafeBinLook};
use super::finding::{Finding, Repair};
use crate::approvals::document::Standing;
use crate::approvals::overview::{holds, strangers};
use crate::approvals::policy::{Effective, Source};
use crate::approvals::safe_bins::Problem;
use crate::config::{Config, Mode};
use crate::error::Diagnose as _;
use crate::policy::{Caller, Tool};
use crate::session::AgentId;
use crate::shown::one_line;

/// Tools that write files.
const WRITERS: [&str; 3] = ["write", "edit", "apply_patch"];
/// Mode bits that others have.
const OTHERS: u32 = 0o077;
/// How many names a finding lists.
const LISTED: usize = 10;

pub(super) fn checks(look: &ApprovalsLook, config: &ConfigLook) -> Vec<Finding> {
    let mut all = document(look);
    all.extend(waiting(look));
    all.extend(imports(look));
    all.extend(look.safe_bins.iter().flat_map(safe_bins));
    if let Ok(parsed) = &config.config {
        all.extend(strange_agents(parsed, look));
        all.extend(conflicts(parsed, look));
        all.extend(writers(parsed, config));
    }
    all
}

/// Whether the document holds that its owner wrote.
fn document(look: &ApprovalsLook) -> Vec<Finding> {
    let local = &look.local;
    let mut all = Vec::new();
    for problem in local.problems() {
        let report = problem.report();
        let holds = match &local.held.standing {
            Standing::LastGood(_) => "the last good copy holds",
            _ => "nothing runs on this machine",
        };
        all.push(
            Finding::error("approvals.broken", format!("{}; {holds}", report.message))
                .rule(report.rule.unwrap_or_default())
                .fix(report.fix),
        );
    }
    if all.is_empty() {
        let what = if local.exists() {
            format!("{} is sound", local.locator())
        } else {
            format!("{} does not exist: it imposes nothing", local.locator())
        };
        all.push(Finding::ok("approvals.sound", what));
    }
    if let Some(mode) = look.mode.filter(|mode| mode & OTHERS != 0) {
        all.push(
            Finding::warning(
                "approvals.open",
                format!("{} can be read or written by others (mode {mode:o})", local.locator()),
            )
            .rule("built-in: it holds the socket's secret, and decides what runs on the host")
            .fix(match mode & 0o002 {
                0 => format!("chmod 600 {}", local.locator()),
                _ => format!(
                    "look at what {0} says, then creel approvals set --file {0}; --fix mends it where it is the last \
                     good copy",
                    local.locator()
                ),
            })
            .repair(Repair::ApprovalsFile),
        );
    }
    if look.former_main {
        all.push(
            Finding::note(
                "approvals.legacy-agent",
                "agents.default is what agents.main was called; it still means that",
            )
            .rule(local.locator())
            .fix("write agents.main")
            .repair(Repair::ApprovalsAgent),
        );
    }
    all
}

/// Approvals from before they were bound to a directory: they match nothing.
fn waiting(look: &ApprovalsLook) -> Option<Finding> {
    if look.waiting.is_empty() {
        return None;
    }
    let name = |one: &crate::approvals::store::lists::Waiting| {
        format!("{} of {}", one_line(&one.pattern), one_line(&one.agent))
    };
    let mut names: Vec<String> = look.waiting.iter().take(LISTED).map(name).collect();
    if look.waiting.len() > LISTED {
        names.push(format!("{} more", look.waiting.len() - LISTED));
    }
    let what = format!(
        "approvals of former versions match nothing until they are given again: {}",
        names.join(", ")
    );
    Some(
        Finding::warning("doctor.exec_approvals_require_cwd_renewal", what)
            .rule(look.local.locator())
            .fix("creel approvals allowlist adopt makes them your own entries; --fix removes them; or approve again")
            .repair(Repair::WaitingApprovals),
    )
}

/// A policy in `OpenClaw`'s database.
fn imports(look: &ApprovalsLook) -> Option<Finding> {
    if !look.importable {
        return None;
    }
    let what = "the policy in OpenClaw's database holds as a floor; creel never writes it";
    Some(
        Finding::note("approvals.import", what)
            .rule("built-in: state/openclaw.sqlite#exec_approvals_config")
            .fix(
                "where creel takes OpenClaw's place: stop OpenClaw, then import it; while exec-approvals.json is there, a \
                 current OpenClaw runs nothing",
            )
            .repair(Repair::ImportApprovals),
    )
}

/// Programs that are configured as filters, and never count as one.
fn safe_bins(list: &SafeBinLook) -> Vec<Finding> {
    let problem = |problem: &Problem| {
        let (id, repair) = match problem {
            Problem::NoProfile(_) => ("tools.exec.safe_bins_missing_profile", Some(Repair::SafeBinProfiles)),
            Problem::Language(_) => ("tools.exec.safe_bins_risky", None),
        };
        let finding = Finding::warning(id, one_line(&problem.to_string()))
            .rule(list.key.clone())
            .fix(one_line(&problem.fix()));
        match repair {
            Some(repair) => finding.repair(repair),
            None => finding,
        }
    };
    let outside = |(name, real): &(String, std::path::PathBuf)| {
        let (name, real) = (one_line(name), one_line(&real.display().to_string()));
        Finding::warning("tools.exec.safe_bins_outside", format!("{name} is {real}, outside every trusted directory"))
            .rule(list.key.clone())
            .fix("add its directory to tools.exec.safeBinTrustedDirs where only trusted users write there; or allow its path")
    };
    list.problems.iter().map(problem).chain(list.outside.iter().map(outside)).collect()
}

fn strange_agents(config: &Config, look: &ApprovalsLook) -> Vec<Finding> {
    let one = |id: &str| {
        let id = one_line(id);
        Finding::warning(
            "approvals.unknown-agent",
            format!("no agent {id} is configured; its rules hold for nobody"),
        )
        .rule(format!("{} agents.{id}", look.local.locator()))
        .fix("name a configured agent, or * for every agent")
    };
    strangers(config, &look.local).into_iter().map(one).collect()
}

/// Where the configuration asks for more than the document leaves: what holds is not what the configuration says.
fn conflicts(config: &Config, look: &ApprovalsLook) -> Vec<Finding> {
    let whole = [(None, holds(config, &look.local, None))];
    let each =
        config.agents().iter().map(|agent| (Some(&agent.id), holds(config, &look.local, Some(&agent.id))));
    let mut known: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for (agent, found) in whole.into_iter().chain(each) {
        for (what, rule) in broader(&found) {
            // An agent that only inherits says nothing new.
            if known.contains(&what) {
                continue;
            }
            let whose = agent.map_or_else(String::new, |id: &AgentId| format!("agent {id}: "));
            all.push(
                Finding::note("doctor.exec_policy_conflict", format!("{whose}{what}"))
                    .rule(rule)
                    .fix("write the same on both sides: creel exec-policy set, or creel approvals set"),
            );
            known.push(what);
        }
    }
    all
}

/// What is requested in so many words and does not hold, with the key that decides.
fn broader(found: &Effective) -> Vec<(String, String)> {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let written = |source: &Source| !matches!(source, Source::BuiltIn | Source::Inherited);
    let mut all = Vec::new();
    let mut note = |name: &str, requested: (String, &Source), host: (String, &Source), effective: String| {
        if requested.0 != effective && written(requested.1) {
            let what = format!(
                "{} asks for {name} {}, the document says {}: {effective} holds",
                requested.1, requested.0, host.0
            );
            all.push((what, host.1.to_string()));
        }
    };
    let way = &found.security;
    note(
        "security",
        (word(serde_json::to_value(way.requested.value)), &way.requested.source),
        (word(serde_json::to_value(way.host.value)), &way.host.source),
        word(serde_json::to_value(way.effective)),
    );
    let way = &found.ask;
    note(
        "ask",
        (word(serde_json::to_value(way.requested.value)), &way.requested.source),
        (word(serde_json::to_value(way.host.value)), &way.host.source),
        word(serde_json::to_value(way.effective)),
    );
    all
}

/// Agents that may not write files by a tool, and may by a command on the host.
fn writers(config: &Config, look: &ConfigLook) -> Vec<Finding> {
    let sandboxes = resolved(look, config);
    let open = |id: &AgentId| {
        let sandboxed = sandboxes.iter().any(|sandbox| sandbox.agent == *id && sandbox.mode != Mode::Off);
        let policy = config.tool_policy(id, &Caller { sandboxed, ..Caller::default() });
        let has = |name: &str| policy.judge(&Tool::new(name)).removal.is_none();
        !sandboxed && has("exec") && WRITERS.iter().all(|name| !has(name))
    };
    let one = |id: AgentId| {
        Finding::note(
            "doctor.exec_filesystem_policy",
            format!("agent {id} has no tool that writes files, and exec on the host, which writes them all the same"),
        )
        .rule("tools.deny, tools.exec")
        .fix("deny exec too, set a sandbox for the agent, or set its tools.exec.mode to \"ask\"")
    };
    agents(config).into_iter().filter(open).map(one).collect()
}
