//! The JSON Schema of the blocks that creel reads, for editors. What the schema accepts the reader may still refuse:
//! rules over several keys, paths and sizes are beyond a schema.
//!
//! A test holds the names against the reader's own tables.

use serde_json::{Map, Value, json};

/// Draft 2020-12.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The whole schema. Sections of the agent host are passed over, as the reader does.
pub fn schema() -> Value {
    let agent = || {
        vec![
            ("id", text("The agent's id; only in agents.list.")),
            ("default", flag("The agent that is meant when none is named.")),
            ("workspace", text("Its workspace on the host; absolute or ~.")),
            ("sandbox", json!({"$ref": "#/$defs/sandbox"})),
            ("tools", json!({"$ref": "#/$defs/agentTools"})),
        ]
    };
    let listed = with(open("One agent.", agent()), "required", json!(["id"]));
    let agents = vec![
        (
            "defaults",
            open(
                "What holds where an agent says nothing.",
                vec![
                    ("workspace", text("Workspace of the default agent; absolute or ~.")),
                    ("elevatedDefault", text("Level of elevated: off, on, ask or full.")),
                    ("sandbox", json!({"$ref": "#/$defs/sandbox"})),
                ],
            ),
        ),
        ("entries", map("Agents by id.", open("One agent.", agent()))),
        (
            "list",
            json!({"type": "array", "description": "Agents with their ids; older spelling.", "items": listed}),
        ),
        (
            "ownership",
            text("\"explicit\": no agent inherits the default workspace by its place in the file."),
        ),
    ];
    let session = vec![("scope", text("\"global\": all channels share one session."))];
    let root = open(
        "Configuration of creel and its agent host.",
        vec![
            ("agents", open("Agents and their sandboxes.", agents)),
            ("tools", json!({"$ref": "#/$defs/tools"})),
            ("session", open("Sessions.", session)),
        ],
    );
    let mut root =
        with(with(root, "$schema", json!(DIALECT)), "title", json!("openclaw.json as creel reads it"));
    root = with(
        root,
        "$defs",
        json!({
            "sandbox": closed("Where commands run.", sandbox()),
            "docker": closed("The container.", docker()),
            "exec": closed("The exec tool.", exec()),
            "lists": closed("Names, groups (group:fs) and globs of tools.", lists()),
            "elevated": closed("The way out of the sandbox, for exec.", vec![
                ("enabled", flag("Off closes it; on leaves the decision to the lists.")),
                ("allowFrom", map("Channel to senders; * is everybody.", json!({
                    "type": "array",
                    "items": {"type": ["string", "number"]},
                }))),
            ]),
            "agentTools": open("Tools of one agent.", tools(false)),
            "tools": open("Tools of every agent.", tools(true)),
        }),
    );
    root
}

/// The schema as the file in the documentation has it.
pub fn text_of_schema() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

type Members = Vec<(&'static str, Value)>;

fn sandbox() -> Members {
    let prune = closed(
        "When unused sandboxes are removed.",
        vec![
            ("idleHours", whole("Hours without use; 0 is never.", 0)),
            ("maxAgeDays", whole("Days; 0 is never.", 0)),
        ],
    );
    let most = json!(super::sandbox::MAX_POOL);
    let size = with(whole("How many wait; 0 is none.", 0), "maximum", most);
    let pool = closed("Containers that wait, ready, for new sessions.", vec![("size", size)]);
    vec![
        ("mode", one_of("Which sessions are sandboxed.", &["off", "non-main", "all"])),
        ("backend", text("docker or podman; both mean the engine that is found.")),
        ("scope", one_of("What shares a container.", &["session", "agent", "shared"])),
        ("workspaceAccess", one_of("What the sandbox sees of the agent's workspace.", &["none", "ro", "rw"])),
        ("workspaceRoot", text("Where the sandboxes' own workspaces lie; absolute or ~.")),
        ("sessionToolsVisibility", one_of("Not used by creel.", &["spawned", "all"])),
        ("docker", json!({"$ref": "#/$defs/docker"})),
        ("ssh", json!({"type": "object", "description": "Not used by creel."})),
        ("browser", json!({"type": "object", "description": "Not used by creel."})),
        ("prune", prune),
        ("pool", pool),
    ]
}

fn docker() -> Members {
    let size = |what: &str| json!({"description": what, "type": ["string", "number"]});
    let limit = json!({"anyOf": [
        {"type": ["string", "number"]},
        {"type": "object", "additionalProperties": false, "properties": {
            "soft": {"type": "integer", "minimum": 0}, "hard": {"type": "integer", "minimum": 0},
        }},
    ]});
    vec![
        ("image", text("Image reference.")),
        ("containerPrefix", text("What the container's name begins with.")),
        ("workdir", text("Working directory in the container; absolute.")),
        ("readOnlyRoot", flag("The root file system is read-only.")),
        ("tmpfs", with(texts("path[:options]."), "maxItems", json!(super::docker::MAX_MOUNTS))),
        ("network", text("none, bridge or a network's name.")),
        ("user", text("uid[:gid]; else the workspace's owner.")),
        ("capDrop", with(texts("Capabilities to drop."), "minItems", json!(1))),
        ("env", map("Variables of every command.", json!({"type": "string"}))),
        (
            "setupCommand",
            json!({"description": "Run once in a new container.", "anyOf": [
                {"type": "string"}, {"type": "array", "items": {"type": "string"}},
            ]}),
        ),
        ("pidsLimit", whole("Processes and threads.", 1)),
        ("memory", size("Bytes, or a size such as 512m; at least 6 MiB.")),
        ("memorySwap", size("Memory and swap together, beside memory; -1 is no limit.")),
        ("cpus", json!({"description": "Processors.", "type": "number", "exclusiveMinimum": 0})),
        ("gpus", text("As the engine's client writes them.")),
        ("ulimits", map("Limits by name.", limit)),
        ("seccompProfile", text("Path of a JSON file that creel can read.")),
        ("apparmorProfile", text("Name of a profile.")),
        ("dns", texts("Addresses of name servers.")),
        ("extraHosts", texts("name:address.")),
        ("binds", with(texts("host:container[:options]."), "maxItems", json!(super::docker::MAX_MOUNTS))),
        ("dangerouslyAllowReservedContainerTargets", flag("Binds may cover the workspace.")),
        ("dangerouslyAllowExternalBindSources", flag("Binds may come from outside the workspace.")),
        ("dangerouslyAllowContainerNamespaceJoin", flag("The network may be another container's.")),
        ("dangerouslyAllowUnenforced", texts("Rules that the kernel need not enforce.")),
    ]
}

fn exec() -> Members {
    let other = |what: &str| json!({"description": what});
    vec![
        ("host", one_of("Where commands run.", &["auto", "sandbox", "gateway", "node"])),
        ("mode", one_of("One word for security and ask.", &["deny", "allowlist", "ask", "auto", "full"])),
        ("security", one_of("How far the host is trusted.", &["deny", "allowlist", "full"])),
        ("ask", one_of("When a person is asked.", &["off", "on-miss", "always"])),
        ("node", text("The paired machine.")),
        ("timeoutSec", whole("Seconds; older spelling.", 1)),
        ("timeoutSeconds", whole("Seconds that a command may live.", 1)),
        ("backgroundMs", whole("Milliseconds until a command goes on in the background.", 1)),
        ("pathPrepend", texts("Directories before PATH.")),
        ("strictInlineEval", flag("Inline evaluation needs approval.")),
        ("cleanupMs", whole("Milliseconds that a finished background command is kept.", 1)),
        ("notifyOnExit", flag("A notice follows the end of a background command.")),
        ("notifyOnExitEmptySuccess", flag("One follows success without output too.")),
        (
            "approvalRunningNoticeMs",
            whole("Milliseconds until an approved command that still runs is told of; 0 is never.", 0),
        ),
        ("safeBins", texts("Programs that only filter their input.")),
        (
            "safeBinTrustedDirs",
            texts("Directories whose programs may be safe bins, beside /bin and /usr/bin."),
        ),
        ("safeBinProfiles", map("Which arguments a safe bin may have, by its name.", safe_bin_profile())),
        ("commandHighlighting", flag("Who decides about a command may be shown where its programs stand.")),
        ("grantExpiryDays", whole("Days until a grant for scheduled runs ends, 1 to 3650.", 1)),
        ("reviewer", closed("Who looks at a command in mode auto before a person does.", reviewer())),
        ("applyPatch", other("Not read yet.")),
    ]
}

fn safe_bin_profile() -> Value {
    closed(
        "What is not declared is refused.",
        vec![
            ("minPositional", whole("Fewest operands.", 0)),
            ("maxPositional", whole("Most operands.", 0)),
            ("allowedValueFlags", texts("Options that take a value.")),
            ("deniedFlags", texts("Options that are refused.")),
        ],
    )
}

fn reviewer() -> Members {
    let words = super::reviewer::THINKING.map(|(word, _)| word);
    vec![
        ("command", texts("A program by its absolute path, and its arguments.")),
        ("url", text("An endpoint of chat completions, up to /chat/completions.")),
        ("keyEnv", text("The variable that holds the endpoint's key.")),
        ("model", text("The model that the endpoint is asked for.")),
        ("thinking", one_of("How hard the model thinks.", &words)),
        ("fastMode", flag("The endpoint's faster service.")),
        ("timeoutMs", whole("Milliseconds for an answer; at least 1000.", 1)),
    ]
}

fn lists() -> Members {
    vec![("allow", texts("Only these.")), ("alsoAllow", texts("These too.")), ("deny", texts("Never these."))]
}

fn tools(global: bool) -> Members {
    let inner = || open("Lists.", vec![("tools", json!({"$ref": "#/$defs/lists"}))]);
    let profile = || one_of("What is allowed to begin with.", &["minimal", "coding", "messaging", "full"]);
    let provider =
        closed("One provider, or provider/model.", [vec![("profile", profile())], lists()].concat());
    let mut members = vec![
        ("profile", profile()),
        ("byProvider", map("By provider or provider/model.", provider)),
        ("toolsBySender", map("By sender.", json!({"$ref": "#/$defs/lists"}))),
        ("sandbox", inner()),
        ("subagents", inner()),
        ("elevated", json!({"$ref": "#/$defs/elevated"})),
        ("exec", json!({"$ref": "#/$defs/exec"})),
    ];
    members.extend(lists());
    if global {
        members.push(("dangerouslyAllowEmptyPolicy", flag("Empty allow lists mean everything.")));
    }
    members
}

fn with(mut schema: Value, name: &str, value: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.insert(name.to_owned(), value);
    }
    schema
}

fn open(what: &str, members: Members) -> Value {
    let properties: Map<String, Value> =
        members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"description": what, "type": "object", "properties": properties})
}

fn closed(what: &str, members: Members) -> Value {
    with(open(what, members), "additionalProperties", json!(false))
}

fn map(what: &str, values: Value) -> Value {
    with(json!({"description": what, "type": "object"}), "additionalProperties", values)
}

fn text(what: &str) -> Value {
    json!({"description": what, "type": "string"})
}

fn texts(what: &str) -> Value {
    json!({"description": what, "type": "array", "items": {"type": "string"}})
}

fn flag(what: &str) -> Value {
    json!({"description": what, "type": "boolean"})
}

fn whole(what: &str, least: u64) -> Value {
    json!({"description": what, "type": "integer", "minimum": least})
}

fn one_of(what: &str, words: &[&str]) -> Value {
    json!({"description": what, "enum": words})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The reader refuses every other key of these blocks, so the schema must know exactly these.
    #[test]
    fn names_are_the_readers() {
        for (members, keys) in [
            (sandbox(), super::super::sandbox::KEYS),
            (docker(), super::super::docker::KEYS),
            (exec(), super::super::exec::KEYS),
            (reviewer(), super::super::reviewer::KEYS),
            (tools(true), super::super::tools::KEYS),
        ] {
            let known: BTreeSet<&str> = members.iter().map(|(name, _)| *name).collect();
            assert_eq!(known, keys.iter().copied().collect());
            assert_eq!(known.len(), members.len(), "a name twice");
        }
    }

    /// `creel config schema > docs/openclaw.schema.json` makes it anew.
    #[test]
    fn the_file_in_the_documentation_is_this_schema() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openclaw.schema.json");
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text_of_schema());
    }

    /// Every reference leads somewhere.
    #[test]
    fn references_resolve() {
        let schema = schema();
        let text = schema.to_string();
        for part in text.split("\"$ref\":\"#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schema["$defs"][name].is_object(), "{name}");
        }
    }
}
