//! The members of the blocks that creel checks in full, as far as it does not read them itself: they are the agent
//! host's. A member that neither knows is an error, for a rule that is misspelt restricts nothing.
//!
//! The names are those of `OpenClaw` 2026.9.6's own schema, of the seeds, and of former spellings that its doctor rewrites.

use super::reader::{Block, nearest};
use super::tools::{EMPTY_KEY, KEYS};

/// Sections that a misspelt one may mean.
const ROOT: &[&str] = &["agents", "approvals", "commands", "session", "tools"];
/// The other sections, which are read past.
const ROOT_OTHERS: &[&str] = &[
    "$schema",
    "accessGroups",
    "acp",
    "attachments",
    "auth",
    "bindings",
    "broadcast",
    "browser",
    "channels",
    "cloudWorkers",
    "cron",
    "desktop",
    "diagnostics",
    "discovery",
    "env",
    "gateway",
    "hooks",
    "logging",
    "mcp",
    "memory",
    "messages",
    "meta",
    "models",
    "nodeHost",
    "plugins",
    "proxy",
    "secrets",
    "security",
    "skills",
    "surfaces",
    "talk",
    "telemetry",
    "transcripts",
    "tts",
    "ui",
    "update",
    "wizard",
    "worktreeAcceleration",
    "worktreeRoot",
];
/// `agents`.
const AGENTS: &[&str] = &["defaults", "entries", "list", "ownership"];
/// `agents.defaults`.
const DEFAULTS: &[&str] = &[
    "authInheritance",
    "blockStreamingBreak",
    "blockStreamingChunk",
    "blockStreamingCoalesce",
    "blockStreamingDefault",
    "bootstrapMaxChars",
    "bootstrapTotalMaxChars",
    "compaction",
    "contextInjection",
    "contextLimits",
    "contextPruning",
    "cwd",
    "decisionModel",
    "elevatedDefault",
    "embeddedAgent",
    "experimental",
    "fastModeDefault",
    "heartbeat",
    "humanDelay",
    "imageMaxDimensionPx",
    "imageModel",
    "imageQuality",
    "maxConcurrent",
    "mediaMaxMb",
    "mediaModels",
    "model",
    "modelPolicy",
    "modelSelectionScope",
    "models",
    "params",
    "pdfMaxMb",
    "pdfMaxPages",
    "pdfModel",
    "reasoningDefault",
    "repoRoot",
    "sandbox",
    "sessionStore",
    "silentReply",
    "skills",
    "skipBootstrap",
    "skipOptionalBootstrapFiles",
    "startupContext",
    "subagents",
    "systemAgent",
    "thinkingDefault",
    "timeoutSeconds",
    "toolProgressDetail",
    "typingIntervalSeconds",
    "typingMode",
    "userTimezone",
    "utilityModel",
    "verboseDefault",
    "voiceModel",
    "workspace",
];
/// One agent.
const AGENT: &[&str] = &[
    "agentDir",
    "bootstrapMaxChars",
    "bootstrapTotalMaxChars",
    "contextInjection",
    "contextLimits",
    "cwd",
    "decisionModel",
    "default",
    "description",
    "embeddedAgent",
    "experimental",
    "fastModeDefault",
    "groupChat",
    "heartbeat",
    "humanDelay",
    "id",
    "identity",
    "memory",
    "model",
    "modelPolicy",
    "models",
    "name",
    "params",
    "reasoningDefault",
    "runtime",
    "sandbox",
    "skills",
    "skillsLimits",
    "subagents",
    "thinkingDefault",
    "toolProgressDetail",
    "tools",
    "tts",
    "typingMode",
    "utilityModel",
    "verboseDefault",
    "workspace",
];
/// `tools`, global and of an agent, beside what creel reads.
const TOOLS: &[&str] = &[
    "agentToAgent",
    "bash",
    "codeMode",
    "experimental",
    "fs",
    "github",
    "links",
    "loopDetection",
    "media",
    "message",
    "sessions",
    "sessions_spawn",
    "swarm",
    "toolSearch",
    "updatePlan",
    "web",
];
/// `session`.
const SESSION: &[&str] = &[
    "dmScope",
    "groupScope",
    "identityLinks",
    "mainKey",
    "maintenance",
    "notifyOnCreate",
    "reset",
    "resetByChannel",
    "resetByType",
    "resetTriggers",
    "scope",
    "sendPolicy",
    "sharing",
    "store",
    "threadBindings",
];
/// `commands`.
const COMMANDS: &[&str] = &[
    "allowFrom",
    "bash",
    "bashForegroundMs",
    "config",
    "debug",
    "mcp",
    "native",
    "nativeSkills",
    "ownerAllowFrom",
    "plugins",
    "restart",
    "text",
    "useAccessGroups",
];
/// `approvals`.
const APPROVALS: &[&str] = &["exec", "plugin"];
/// `approvals.exec` and `approvals.plugin`.
const FORWARDING: &[&str] = &["agentFilter", "enabled", "mode", "sessionFilter", "targets"];

const SCOPES: &[(&str, ())] = &[("per-sender", ()), ("global", ())];
const DM_SCOPES: &[(&str, ())] =
    &[("main", ()), ("per-peer", ()), ("per-channel-peer", ()), ("per-account-channel-peer", ())];
const GROUP_SCOPES: &[(&str, ())] = &[("main", ()), ("per-group", ())];
const FORWARDING_MODES: &[(&str, ())] = &[("session", ()), ("targets", ()), ("both", ())];
/// Members of `commands` that are on or off.
const SWITCHES: &[&str] =
    &["bash", "config", "debug", "mcp", "plugins", "restart", "text", "useAccessGroups"];

/// Reports every member of the checked blocks that nobody knows, and plain values of a wrong type.
pub(super) fn check(root: &Block<'_>) {
    sections(root);
    if let Some(agents) = root.open("agents") {
        only(&agents, AGENTS, &[]);
        if let Some(defaults) = agents.open("defaults") {
            only(&defaults, DEFAULTS, &[]);
        }
    }
    if let Some(tools) = root.open("tools") {
        self::tools(&tools);
    }
    session(root);
    commands(root);
    approvals(root);
}

/// The same for one agent, whose blocks are opened elsewhere.
pub(super) fn agent(block: &Block<'_>) {
    only(block, AGENT, &[]);
    if let Some(tools) = block.open("tools") {
        self::tools(&tools);
    }
}

/// A section that nobody knows is somebody else's, unless it looks like one of ours.
fn sections(root: &Block<'_>) {
    for name in root.names() {
        if ROOT.contains(&name) || ROOT_OTHERS.contains(&name) {
            continue;
        }
        if let Some(near) = nearest(name, ROOT) {
            root.problem(name, format!("unknown key {name:?}"), format!("did you mean {near}?"));
        }
    }
}

fn tools(tools: &Block<'_>) {
    only(tools, KEYS, TOOLS);
    for (name, known) in [("subagents", &["tools"][..]), ("fs", &["workspaceOnly"][..])] {
        if let Some(block) = tools.open(name) {
            only(&block, known, &[]);
        }
    }
    if let Some(fs) = tools.open("fs") {
        fs.flag("workspaceOnly");
    }
}

fn session(root: &Block<'_>) {
    let Some(session) = root.open("session") else { return };
    only(&session, SESSION, &[]);
    session.choice("scope", SCOPES);
    session.choice("dmScope", DM_SCOPES);
    session.choice("groupScope", GROUP_SCOPES);
    session.flag("notifyOnCreate");
    session.text("mainKey");
    session.text("store");
}

fn commands(root: &Block<'_>) {
    let Some(commands) = root.open("commands") else { return };
    only(&commands, COMMANDS, &[]);
    for name in SWITCHES {
        commands.flag(name);
    }
}

fn approvals(root: &Block<'_>) {
    let Some(approvals) = root.open("approvals") else { return };
    only(&approvals, APPROVALS, &[]);
    for name in APPROVALS {
        let Some(block) = approvals.open(name) else { continue };
        only(&block, FORWARDING, &[]);
        block.flag("enabled");
        block.choice("mode", FORWARDING_MODES);
    }
}

fn only(block: &Block<'_>, read: &[&str], passed: &[&str]) {
    for name in block.names() {
        if read.contains(&name) || passed.contains(&name) {
            continue;
        }
        let known: Vec<&str> = read.iter().chain(passed).copied().filter(|name| *name != EMPTY_KEY).collect();
        let fix = nearest(name, &known).map_or_else(
            || "remove it: neither creel nor the agent host has such a key here".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        block.problem(name, format!("unknown key {name:?}"), fix);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Config, ConfigError};

    fn problems(text: &str) -> Vec<String> {
        match Config::parse(text, Path::new("/c.json"), &|_| None) {
            Err(ConfigError::Invalid { problems, .. }) => {
                problems.iter().map(|one| format!("{}: {} ({})", one.key, one.message, one.fix)).collect()
            }
            Err(other) => vec![other.to_string()],
            Ok(_) => Vec::new(),
        }
    }

    #[test]
    fn members_that_nobody_knows_are_told_with_the_nearest() {
        for (text, key, near) in [
            ("{agents: {entries: {main: {Sandbox: {}}}}}", "agents.entries.main.Sandbox", "mean sandbox?"),
            ("{agents: {defaults: {sandbx: {}}}}", "agents.defaults.sandbx", "mean sandbox?"),
            ("{agents: {defualts: {}}}", "agents.defualts", "mean defaults?"),
            ("{agnets: {}}", "agnets", "mean agents?"),
            ("{agents: {sandbox: {}}}", "agents.sandbox", "remove it"),
            ("{agents: {entries: {a: {docker: {}}}}}", "agents.entries.a.docker", "remove it"),
            ("{tools: {foo: 1}}", "tools.foo", "remove it"),
            ("{tools: {subagents: {allow: []}}}", "tools.subagents.allow", "remove it"),
            ("{session: {scop: 'global'}}", "session.scop", "mean scope?"),
            ("{session: {scope: 'x'}}", "session.scope", "one of per-sender, global"),
            ("{commands: {bash: 'yes'}}", "commands.bash", "true or false"),
            ("{approvals: {foo: 1}}", "approvals.foo", "remove it"),
            ("{approvals: {exec: {mode: 'all'}}}", "approvals.exec.mode", "session"),
            ("{tools: 3}", "tools", "an object"),
            ("{agents: {list: [{id: 'a', tools: 3}]}}", "agents.list[0].tools", "an object"),
        ] {
            let found = problems(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(&format!("{key}: ")) && found[0].contains(near), "{found:?}");
        }
    }

    #[test]
    fn what_the_agent_host_has_is_passed_over() {
        let text =
            "{$schema: 'x', channels: {telegram: {anything: 1}}, models: 3, plugins: [], somethingNew: 1,
            agents: {defaults: {model: 'a/b', timeoutSeconds: 9, heartbeat: {every: '1h'}},
                list: [{id: 'a', name: 'A', identity: {}, tools: {codeMode: {}}}]},
            tools: {web: {search: {}}, agentToAgent: {enabled: true}, swarm: {}},
            session: {scope: 'per-sender', reset: {}, dmScope: 'per-peer'},
            commands: {native: 'auto', useAccessGroups: false}, approvals: {exec: {enabled: true}}}";
        assert_eq!(problems(text), Vec::<String>::new());
    }
}
