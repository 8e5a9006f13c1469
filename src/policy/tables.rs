//! Groups, profiles and default lists (spec `sandbox.md` §18.2, §18.3, §18.6).

/// The groups, in the order in which they are documented. `group:openclaw` is their union without [`CANVAS`].
pub const GROUPS: &[(&str, &[&str])] = &[
    ("group:fs", &["ls", "read", "write", "edit", "apply_patch"]),
    ("group:runtime", &["exec", "process", "code_execution", "secrets"]),
    ("group:web", &["web_search", "web_fetch", "x_search"]),
    ("group:memory", &["memory_search", "memory_get"]),
    (
        "group:sessions",
        &[
            "sessions",
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "conversations_list",
            "conversations_send",
            "conversations_turn",
            "sessions_send",
            "sessions_spawn",
            "github_identity_status",
            "github_publish",
            "agents_wait",
            "sessions_yield",
            "subagents",
            "session_status",
            "suggest_task",
            "dismiss_task",
        ],
    ),
    ("group:ui", &["browser", "screen", "theme", "dashboard", "terminal", "portal", "canvas", "show_widget"]),
    ("group:messaging", &["message"]),
    ("group:automation", &["heartbeat_respond", "automations", "gateway", "plugins", "openclaw"]),
    ("group:nodes", &["nodes", "computer", "mobile_ui"]),
    (
        "group:agents",
        &[
            "agents_list",
            "get_goal",
            "create_goal",
            "update_goal",
            "progress_card",
            "ask_user",
            "skill_workshop",
        ],
    ),
    ("group:media", &["view_image", "image_generate", "music_generate", "video_generate", "tts", "pdf"]),
];

/// The group of every built-in tool. Upstream leaves `exec`, `process` and the file tools out of it too.
pub const GROUP_ALL: &str = "group:openclaw";

/// The group of everything that plugins own. It is not a table: the owner of a tool decides.
pub const GROUP_PLUGINS: &str = "group:plugins";

/// The owner of every MCP tool.
pub const MCP_OWNER: &str = "bundle-mcp";

/// The one tool of a group that a plugin owns, of the same name.
pub const CANVAS: &str = "canvas";

/// The members of a group; `None` for what is no group.
pub fn members(group: &str) -> Option<Vec<&'static str>> {
    if group == GROUP_ALL {
        return Some(known().filter(|name| *name != CANVAS).collect());
    }
    GROUPS.iter().find(|(name, _)| *name == group).map(|(_, members)| members.to_vec())
}

/// Every tool that is in a group.
pub fn known() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, members)| members.iter().copied())
}

/// A named base allow list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Only the state of the session.
    Minimal,
    /// What a coding agent needs.
    Coding,
    /// What an agent in a chat needs.
    Messaging,
    /// Everything.
    Full,
}

impl Profile {
    /// All profiles with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("minimal", Self::Minimal),
        ("coding", Self::Coding),
        ("messaging", Self::Messaging),
        ("full", Self::Full),
    ];

    /// The profile of that name; names are compared exactly, as upstream does.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, profile)| *profile)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, profile)| *profile == self).map_or("", |(name, _)| *name)
    }

    /// Whether it leaves anything out. A limited profile restricts `gateway` to updates.
    pub fn is_limited(self) -> bool {
        self != Self::Full
    }

    /// What it allows.
    pub fn allow(self) -> &'static [&'static str] {
        match self {
            Self::Minimal => &["session_status", "gateway"],
            Self::Coding => CODING,
            Self::Messaging => MESSAGING,
            Self::Full => &["*"],
        }
    }
}

const CODING: &[&str] = &[
    "group:fs",
    "group:runtime",
    "group:web",
    "group:memory",
    "group:sessions",
    "screen",
    "theme",
    "dashboard",
    "terminal",
    "portal",
    "automations",
    "gateway",
    "plugins",
    "get_goal",
    "create_goal",
    "update_goal",
    "progress_card",
    "ask_user",
    "skill_workshop",
    "view_image",
    "image_generate",
    "music_generate",
    "video_generate",
    MCP_OWNER,
];

const MESSAGING: &[&str] = &[
    "secrets",
    "sessions",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "conversations_list",
    "conversations_send",
    "conversations_turn",
    "sessions_send",
    "sessions_spawn",
    "sessions_yield",
    "subagents",
    "session_status",
    "theme",
    "message",
    "gateway",
    "ask_user",
    MCP_OWNER,
];

/// What a sandboxed session has where nothing is configured.
pub const SANDBOX_ALLOW: &[&str] = &[
    "exec",
    "process",
    "read",
    "ls",
    "write",
    "edit",
    "apply_patch",
    "view_image",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "sessions_yield",
    "subagents",
    "session_status",
];

/// What a sandboxed session is refused where nothing is configured: tools that act on the host with the host's
/// authority, and every channel, because what leaves over a channel leaves the sandbox.
pub const SANDBOX_DENY: &[&str] = &[
    "browser",
    "canvas",
    "computer",
    "mobile_ui",
    "nodes",
    "automations",
    "gateway",
    "feishu",
    "googlechat",
    "nostr",
    "buzz",
    "msteams",
    "mattermost",
    "nextcloud-talk",
    "matrix",
    "raft",
    "a2a",
    "line",
    "zalo",
    "clickclack",
    "zalouser",
    "sms",
    "synology-chat",
    "tlon",
    "discord",
    "imessage",
    "irc",
    "reef",
    "signal",
    "slack",
    "telegram",
    "twitch",
    "whatsapp",
];

/// What no subagent has.
pub const SUBAGENT_DENY: &[&str] = &[
    "gateway",
    "agents_list",
    "openclaw",
    "session_status",
    "progress_card",
    "automations",
    "message",
    "sessions_send",
    "conversations_list",
    "conversations_send",
    "conversations_turn",
];

/// What a subagent does not have that may not start others.
pub const LEAF_DENY: &[&str] =
    &["subagents", "sessions_list", "sessions_history", "sessions_search", "sessions_spawn"];
