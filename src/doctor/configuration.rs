//! Checks of the configuration. Pure.

use serde_json::Value;

use super::facts::ConfigLook;
use super::finding::{Finding, Repair};
use crate::config::{Config, ConfigError, KeyPath, Mode, Problem, ResolvedSandbox, legacy};
use crate::policy::{Tool, mcp, tables};
use crate::session::{AgentId, Scope};

/// Blocks of an agent that do not count in shared scope.
const SHARED_IGNORES: [&str; 4] = ["docker", "ssh", "browser", "prune"];
/// Others may write the file.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Whether any session runs in a sandbox by configuration. One that cannot be read may: errors stay errors.
pub(super) fn uses_sandboxes(look: &ConfigLook) -> bool {
    match &look.config {
        Ok(config) => resolved(look, config).iter().any(|sandbox| sandbox.mode != Mode::Off),
        Err(_) => true,
    }
}

/// What some sandbox has a limit on, by the engine's words; one that cannot be read has what is built in.
pub(super) fn limited(look: &ConfigLook) -> Vec<&'static str> {
    let sandboxes = look.config.as_ref().map(|config| resolved(look, config)).unwrap_or_default();
    let any = |has: fn(&ResolvedSandbox) -> bool| sandboxes.iter().any(has);
    let all = [
        ("pids", true),
        ("memory", any(|one| one.docker.memory.is_some())),
        ("swap", any(|one| one.docker.memory_swap.is_some())),
        ("cpu", any(|one| one.docker.nano_cpus.is_some())),
    ];
    all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}

/// Every agent's sandbox, the default agent's first; what cannot be merged is told by `problems`.
pub(super) fn resolved(look: &ConfigLook, config: &Config) -> Vec<ResolvedSandbox> {
    agents(config).iter().filter_map(|id| config.sandbox(id, &look.places).ok()).collect()
}

/// The default agent, then every other that is configured.
pub(super) fn agents(config: &Config) -> Vec<AgentId> {
    let default = config.default_agent();
    let others = config.agents().iter().map(|agent| agent.id.clone()).filter(|id| *id != default);
    std::iter::once(default.clone()).chain(others).collect()
}

pub(super) fn checks(look: &ConfigLook) -> Vec<Finding> {
    let mut all = problems(look);
    if let Some(document) = &look.document {
        all.extend(legacy_keys(document.root(), look));
    }
    if let Some(mode) = look.mode.filter(|mode| mode & WRITABLE_BY_OTHERS != 0) {
        let file = look.file.display();
        all.push(
            Finding::warning("config.writable", format!("{file} can be written by others (mode {mode:o})"))
                .rule("built-in: who writes the configuration decides what runs on the host")
                .fix(format!("chmod go-w {file}")),
        );
    }
    for path in &look.registry_files {
        all.push(
            Finding::note(
                "state.registry-file",
                format!("{} is a registry of a former version", path.display()),
            )
            .rule("built-in: the engine's labels are the truth")
            .fix("creel does not read it; OpenClaw's own doctor migrates it"),
        );
    }
    if let Ok(config) = &look.config {
        let sandboxes = resolved(look, config);
        all.extend(shared(look, config, &sandboxes));
        all.extend(limits(&sandboxes));
        all.extend(servers(config, &sandboxes));
        all.extend(sandboxes.first().into_iter().flat_map(|first| modes(first, &sandboxes)));
    }
    all
}

/// Everything that stops the configuration from being used, here or anywhere.
fn problems(look: &ConfigLook) -> Vec<Finding> {
    let mut all = match &look.config {
        Ok(config) => config.merged_problems(&look.places).iter().map(problem).collect(),
        Err(ConfigError::Invalid { problems, .. }) => {
            // A former key is told by `legacy_keys`, which knows what takes its place.
            problems.iter().filter(|one| !one.key.ends_with(".perSession")).map(problem).collect()
        }
        Err(error) => {
            let report = crate::error::Diagnose::report(error);
            let finding = Finding::error("config.unreadable", report.message).fix(report.fix);
            vec![finding.rule(report.rule.unwrap_or_default())]
        }
    };
    all.extend(look.refused_here.iter().map(problem));
    if all.is_empty() && look.config.is_ok() {
        let file = look.file.display();
        let what = if look.present {
            format!("{file} is sound")
        } else {
            format!("{file} does not exist: defaults hold")
        };
        all.push(Finding::ok("config.sound", what));
    }
    all
}

fn problem(problem: &Problem) -> Finding {
    let id = if problem.key.contains(".docker.env") {
        "config.env-invalid"
    } else if problem.key.contains(".binds") {
        "config.bind-refused"
    } else {
        "config.problem"
    };
    let rule = problem.origin.as_ref().map_or_else(|| problem.key.clone(), ToString::to_string);
    Finding::error(id, format!("{}: {}", problem.key, problem.message)).rule(rule).fix(problem.fix.clone())
}

fn legacy_keys(root: &Value, look: &ConfigLook) -> Vec<Finding> {
    let place = |key: &str| {
        let origin = look.document.as_ref().and_then(|document| document.origin(key));
        origin.map_or_else(|| key.to_owned(), |origin| origin.to_string())
    };
    let one = |old: legacy::Legacy| {
        let what = format!("{} is a key of a former version", old.key);
        let finding = if old.accepted {
            Finding::note("config.legacy-key", format!("{what}; it still means the same"))
        } else {
            Finding::error("config.legacy-key", format!("{what} and is refused"))
        };
        let finding = finding.rule(place(&old.key)).fix(format!("write {}", old.now));
        if old.clear { finding.repair(Repair::LegacyKeys) } else { finding }
    };
    legacy::find(root).into_iter().map(one).collect()
}

/// Blocks of agents that do not count, because one container cannot have two configurations.
fn shared(look: &ConfigLook, config: &Config, sandboxes: &[ResolvedSandbox]) -> Vec<Finding> {
    let Some(document) = &look.document else { return Vec::new() };
    let mut all = Vec::new();
    for sandbox in sandboxes.iter().filter(|sandbox| sandbox.scope == Scope::Shared) {
        let Some(agent) = config.agents().iter().find(|agent| agent.id == sandbox.agent) else { continue };
        let key = format!("{}.sandbox", agent.key);
        let block = KeyPath::parse(&key).ok().and_then(|path| path.look_up(document.root()).cloned());
        let has = |name: &&&str| block.as_ref().is_some_and(|block| block.get(**name).is_some());
        let ignored: Vec<&str> = SHARED_IGNORES.iter().filter(has).copied().collect();
        if let Some(first) = ignored.first() {
            let origin = document.origin(&format!("{key}.{first}"));
            all.push(
                Finding::warning(
                    "config.shared-override-ignored",
                    format!("agent {}: {} do not count in shared scope", agent.id, ignored.join(", ")),
                )
                .rule(origin.map_or(key, |origin| origin.to_string()))
                .fix("move them to agents.defaults.sandbox, or set scope: \"agent\""),
            );
        }
    }
    all
}

/// Without limits one sandbox can take the whole machine.
fn limits(sandboxes: &[ResolvedSandbox]) -> Vec<Finding> {
    let without = |has: fn(&ResolvedSandbox) -> bool| {
        let names: Vec<&str> =
            sandboxes.iter().filter(|one| !has(one)).map(|one| one.agent.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let one = |id, what: &str, key: &str, value: &str, names: String| {
        Finding::note(id, format!("no {what} limit is configured (agents: {names})"))
            .rule(format!("agents.defaults.sandbox.docker.{key}"))
            .fix(format!("creel config set agents.defaults.sandbox.docker.{key} {value}"))
    };
    let memory = without(|one| one.docker.memory.is_some());
    let cpu = without(|one| one.docker.nano_cpus.is_some());
    let memory = memory.map(|names| one("config.no-memory-limit", "memory", "memory", "2g", names));
    let cpu = cpu.map(|names| one("config.no-cpu-limit", "processor", "cpus", "2", names));
    memory.into_iter().chain(cpu).collect()
}

/// MCP servers whose tools no sandboxed session can call.
fn servers(config: &Config, sandboxes: &[ResolvedSandbox]) -> Option<Finding> {
    let names = config.mcp_servers();
    let names = mcp::server_names(names.iter().map(String::as_str));
    let sandboxed: Vec<&ResolvedSandbox> = sandboxes.iter().filter(|one| one.mode != Mode::Off).collect();
    if names.is_empty() || sandboxed.is_empty() {
        return None;
    }
    let lets = |sandbox: &&ResolvedSandbox| {
        let tools = config.sandbox_tools(&sandbox.agent);
        names.iter().any(|server| {
            let prefix = format!("{server}__").to_lowercase();
            let any = Tool::owned(&format!("{server}__*"), tables::MCP_OWNER);
            let one = tools.allow.iter().any(|entry| entry.text.to_lowercase().starts_with(&prefix));
            one || tools.judge(&any).removal.is_none()
        })
    };
    if sandboxed.iter().any(lets) {
        return None;
    }
    let agents: Vec<&str> = sandboxed.iter().map(|one| one.agent.as_str()).collect();
    Some(
        Finding::warning(
            "config.mcp-not-in-sandbox",
            format!(
                "MCP servers {} are configured, and the sandbox tool policy lets none of their tools through (agents: {})",
                names.join(", "),
                agents.join(", ")
            ),
        )
        .rule("tools.sandbox.tools.alsoAllow")
        .fix("creel config set tools.sandbox.tools.alsoAllow '[\"bundle-mcp\"]'"),
    )
}

/// Where commands run at all.
fn modes(first: &ResolvedSandbox, sandboxes: &[ResolvedSandbox]) -> Vec<Finding> {
    let mut all = Vec::new();
    let off: Vec<&str> =
        sandboxes.iter().filter(|one| one.mode == Mode::Off).map(|one| one.agent.as_str()).collect();
    if !off.is_empty() {
        all.push(
            Finding::note(
                "config.sandbox-off",
                format!("sessions run outside a sandbox (agents: {})", off.join(", ")),
            )
            .rule(first.key("mode").unwrap_or("agents.defaults.sandbox.mode").to_owned())
            .fix("creel config set agents.defaults.sandbox.mode non-main"),
        );
    }
    for one in sandboxes.iter().filter(|one| !matches!(one.backend_id().as_str(), "docker" | "podman")) {
        let what = format!("agent {}: creel has no sandbox backend {:?}", one.agent, one.backend);
        all.push(
            Finding::without_sandbox(one.mode != Mode::Off, "config.backend", what)
                .rule(one.key("backend").unwrap_or("agents.defaults.sandbox.backend").to_owned())
                .fix("write backend: \"docker\", or remove the key"),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::finding::Severity;
    use super::*;
    use crate::config::{Document, Places};

    fn look(text: &str) -> ConfigLook {
        let file = Path::new("/state/openclaw.json");
        ConfigLook {
            file: file.to_owned(),
            present: true,
            mode: Some(0o600),
            document: Document::parse(text, file).ok(),
            config: Config::parse(text, file, &|_| None),
            refused_here: Vec::new(),
            places: Places { home: None, state: "/state".into() },
            registry_files: Vec::new(),
        }
    }

    /// The findings that are worth more than a note.
    fn bad(text: &str) -> Vec<(String, Severity)> {
        let all = checks(&look(text)).into_iter().filter(|one| one.severity > Severity::Note);
        all.map(|one| (one.id.to_owned(), one.severity)).collect()
    }

    #[test]
    fn each_check_has_its_case() {
        for (text, id, severity) in [
            ("{agents: {", "config.unreadable", Severity::Error),
            ("{agents: {defaults: {sandbox: {mode: 'al'}}}}", "config.problem", Severity::Error),
            (
                "{agents: {defaults: {sandbox: {docker: {env: {'a-b': 'x'}}}}}}",
                "config.env-invalid",
                Severity::Error,
            ),
            (
                "{agents: {defaults: {sandbox: {docker: {binds: ['rel:/x']}}}}}",
                "config.bind-refused",
                Severity::Error,
            ),
            (
                "{agents: {defaults: {sandbox: {scope: 'shared'}}, entries: {a: {sandbox: {docker: {cpus: 1}, prune: {}}}}}}",
                "config.shared-override-ignored",
                Severity::Warning,
            ),
            (
                "{mcp: {servers: {mail: {}}}, agents: {defaults: {sandbox: {mode: 'all'}}}}",
                "config.mcp-not-in-sandbox",
                Severity::Warning,
            ),
            (
                "{agents: {defaults: {sandbox: {mode: 'all', backend: 'ssh'}}}}",
                "config.backend",
                Severity::Error,
            ),
        ] {
            assert_eq!(bad(text), [(id.to_owned(), severity)], "{text}");
        }
        // No session needs it, and `creel exec` does.
        let unused = bad("{agents: {defaults: {sandbox: {backend: 'ssh'}}}}");
        assert_eq!(unused, [("config.backend".to_owned(), Severity::Warning)]);
        let former = bad("{agents: {defaults: {sandbox: {perSession: true}}}}");
        assert_eq!(former, [("config.legacy-key".to_owned(), Severity::Error)]);
    }

    #[test]
    fn servers_that_are_let_through_are_no_finding() {
        for allow in ["bundle-mcp", "group:plugins", "mail__*", "mail__send"] {
            let text = format!(
                "{{mcp: {{servers: {{mail: {{}}}}}}, tools: {{sandbox: {{tools: {{alsoAllow: ['{allow}']}}}}}},
                 agents: {{defaults: {{sandbox: {{mode: 'all'}}}}}}}}"
            );
            assert_eq!(bad(&text), [], "{allow}");
        }
        assert_eq!(bad("{mcp: {servers: {mail: {}}}}"), [], "without a sandbox nothing is in the way");
    }

    #[test]
    fn absent_limits_are_named() {
        let all = checks(&look("{agents: {entries: {a: {sandbox: {docker: {memory: '1g'}}}, b: {}}}}"));
        let of = |id: &str| all.iter().find(|one| one.id == id).map(|one| one.what.clone()).unwrap();
        assert!(of("config.no-memory-limit").ends_with("(agents: b)"));
        assert!(of("config.no-cpu-limit").ends_with("(agents: a, b)"));
    }

    #[test]
    fn a_sound_file_says_so() {
        let all = checks(&look("{}"));
        assert_eq!(all[0].id, "config.sound");
        assert!(super::super::worst(&all) == Severity::Note, "{all:?}");
        let open = ConfigLook { mode: Some(0o664), ..look("{}") };
        assert!(checks(&open).iter().any(|one| one.id == "config.writable"));
    }
}
