//! The block `tools`, global and of each agent, as far as it says which tools there are (spec `sandbox.md` §18).
//!
//! The block has keys of the agent host too, which `foreign` knows.

use super::reader::{Block, Set, nearest};
use crate::policy::elevated::AllowFrom;
use crate::policy::{
    ElevatedScope, Entry, Level, List, Lists, Profile, ProfileSet, ProviderScope, Scope, SenderScope,
};

/// The key that gives empty allow lists and unknown profiles upstream's meaning: no restriction.
pub const EMPTY_KEY: &str = "dangerouslyAllowEmptyPolicy";

const LISTS: &[&str] = &["allow", "alsoAllow", "deny"];
pub(super) const KEYS: &[&str] = &[
    "profile",
    "allow",
    "alsoAllow",
    "deny",
    "byProvider",
    "toolsBySender",
    "sandbox",
    "subagents",
    "elevated",
    "exec",
    EMPTY_KEY,
];
/// Whether upstream's reading of empty lists is wanted. Only the global block can say so.
pub(super) fn empty_is_all(tools: &Block<'_>) -> bool {
    tools.flag(EMPTY_KEY).is_some_and(|set| set.value)
}

/// Reads a block `tools`.
pub(super) fn read(tools: &Block<'_>, empty_is_all: bool) -> Scope {
    let reader = Reading { empty_is_all };
    let sandbox = tools.closed("sandbox", &["tools"]);
    let subagents = tools.open("subagents");
    Scope {
        profile: reader.profile(tools),
        lists: reader.lists(tools),
        by_provider: reader.by_provider(tools),
        by_sender: reader.by_sender(tools),
        sandbox: sandbox.map(|block| reader.inner(&block)).unwrap_or_default(),
        subagents: subagents.map(|block| reader.inner(&block)).unwrap_or_default(),
        elevated: elevated(tools),
    }
}

struct Reading {
    empty_is_all: bool,
}

impl Reading {
    /// `tools` within `sandbox` or `subagents`: lists and nothing else.
    fn inner(&self, block: &Block<'_>) -> Lists {
        block.closed("tools", LISTS).map(|block| self.lists(&block)).unwrap_or_default()
    }

    fn lists(&self, block: &Block<'_>) -> Lists {
        let lists = Lists {
            allow: block.list("allow").map(list),
            also_allow: block.list("alsoAllow").map(list),
            deny: block.list("deny").map(list),
        };
        if lists.allow.as_ref().is_some_and(List::is_blank) && !self.empty_is_all {
            block.problem(
                "allow",
                "names no tool: nobody can tell whether nothing is meant or everything",
                format!(
                    "write deny: [\"*\"] for nothing; remove allow for everything; tools.{EMPTY_KEY}: true \
                     reads it as everything"
                ),
            );
        }
        let filled = |list: &Option<List>| list.as_ref().is_some_and(|list| !list.is_blank());
        if filled(&lists.allow) && filled(&lists.also_allow) {
            let fix = "move its entries to allow, or remove allow";
            block.problem("alsoAllow", "stands beside allow in the same block", fix);
        }
        lists
    }

    fn profile(&self, block: &Block<'_>) -> Option<ProfileSet> {
        let set = block.text("profile")?;
        if let Some(profile) = Profile::parse(&set.value) {
            return Some(ProfileSet { profile, key: set.key });
        }
        if !self.empty_is_all {
            let known = Profile::ALL.map(|(name, _)| name);
            let fix = match nearest(&set.value, &known) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("write one of {}, or remove it for no profile", known.join(", ")),
            };
            block.problem("profile", format!("{:?} is no profile", set.value), fix);
        }
        None
    }

    fn by_provider(&self, tools: &Block<'_>) -> Vec<ProviderScope> {
        let Some(all) = tools.open("byProvider") else { return Vec::new() };
        let scope = |name: &str| {
            if name.trim().is_empty() {
                all.problem(name, "a blank name is no provider's", "name the provider, or remove the block");
            }
            let block = all.closed(name, &["profile", "allow", "alsoAllow", "deny"])?;
            let (profile, lists) = (self.profile(&block), self.lists(&block));
            Some(ProviderScope { name: name.to_owned(), profile, lists })
        };
        all.names().into_iter().filter_map(scope).collect()
    }

    fn by_sender(&self, tools: &Block<'_>) -> Vec<SenderScope> {
        let Some(all) = tools.open("toolsBySender") else { return Vec::new() };
        let scope = |who: &str| {
            let block = all.closed(who, LISTS)?;
            Some(SenderScope { who: who.to_owned(), lists: self.lists(&block) })
        };
        all.names().into_iter().filter_map(scope).collect()
    }
}

fn list(set: Set<Vec<Set<String>>>) -> List {
    let entries = set.value.into_iter().map(|item| Entry { text: item.value, key: item.key });
    List { key: set.key, entries: entries.collect() }
}

/// `elevatedDefault` among the defaults of agents: the level of sessions that chose none.
pub(super) fn elevated_default(defaults: &Block<'_>) -> Option<Set<Level>> {
    let set = defaults.text("elevatedDefault")?;
    let level = Level::parse(&set.value);
    if level.is_none() {
        let message = format!("{:?} is no level of elevated", set.value);
        defaults.problem("elevatedDefault", message, "write off, on, ask or full");
    }
    Some(Set { value: level?, key: set.key })
}

fn elevated(tools: &Block<'_>) -> ElevatedScope {
    let Some(block) = tools.closed("elevated", &["enabled", "allowFrom"]) else {
        return ElevatedScope::default();
    };
    // Ids are numbers in some channels, so a number is as good as its text.
    let senders = |all: Block<'_>| {
        let of =
            |name: &str| Some(AllowFrom { provider: name.to_owned(), senders: list(all.scalars(name)?) });
        all.names().into_iter().filter_map(of).collect::<Vec<AllowFrom>>()
    };
    ElevatedScope {
        enabled: block.flag("enabled").map(|set| set.value),
        allow_from: block.open("allowFrom").map(senders),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Config, ConfigError, KeyPath, Problem};
    use crate::policy::{Caller, Tool, Verdict};
    use crate::session::AgentId;

    fn config(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("/c.json"), &|name| (name == "WHO").then(|| "42".to_owned()))
    }

    fn problems(text: &str) -> Vec<Problem> {
        match config(text) {
            Err(ConfigError::Invalid { problems, .. }) => problems,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_restricts_nothing_is_refused() {
        for (text, key) in [
            ("{tools: {allow: []}}", "tools.allow"),
            ("{tools: {allow: ['', ' ']}}", "tools.allow"),
            ("{tools: {profile: 'Coding'}}", "tools.profile"),
            ("{tools: {profile: ''}}", "tools.profile"),
            ("{tools: {sandbox: {tools: {allow: []}}}}", "tools.sandbox.tools.allow"),
            ("{tools: {byProvider: {x: {allow: []}}}}", "tools.byProvider.x.allow"),
            ("{tools: {byProvider: {' ': {deny: ['*']}}}}", "tools.byProvider[\" \"]"),
            ("{tools: {toolsBySender: {'*': {allow: []}}}}", "tools.toolsBySender[\"*\"].allow"),
            ("{tools: {subagents: {tools: {allow: []}}}}", "tools.subagents.tools.allow"),
            ("{agents: {list: [{id: 'a', tools: {allow: []}}]}}", "agents.list[0].tools.allow"),
            ("{tools: {allow: ['a'], alsoAllow: ['b']}}", "tools.alsoAllow"),
            ("{tools: {denny: ['exec']}}", "tools.denny"),
            ("{tools: {sandbox: {deny: ['exec']}}}", "tools.sandbox.deny"),
            ("{tools: {deny: 'exec'}}", "tools.deny"),
            ("{tools: {deny: [1]}}", "tools.deny[0]"),
            ("{tools: {elevated: {allowFrom: {x: 'me'}}}}", "tools.elevated.allowFrom.x"),
            ("{tools: {elevated: {allowFrom: {x: [{}]}}}}", "tools.elevated.allowFrom.x[0]"),
        ] {
            let problems = problems(text);
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert_eq!(problems[0].key, key, "{text}");
            assert!(problems[0].origin.is_some() && !problems[0].fix.is_empty(), "{text}: {problems:?}");
        }
    }

    #[test]
    fn the_dangerous_key_reads_them_as_upstream_does() {
        let text = "{tools: {dangerouslyAllowEmptyPolicy: true, allow: [], profile: 'x', deny: ['read']},
            agents: {entries: {a: {tools: {allow: [' ']}}}}}";
        let policy = config(text).unwrap().tool_policy(&AgentId::parse("a").unwrap(), &Caller::default());
        assert_eq!(policy.verdict(&Tool::new("exec")), Verdict::Allow);
        assert_eq!(policy.verdict(&Tool::new("read")), Verdict::Deny);
        // An agent cannot say it for itself.
        assert_eq!(
            problems("{agents: {entries: {a: {tools: {dangerouslyAllowEmptyPolicy: true}}}}}").len(),
            1
        );
    }

    #[test]
    fn senders_are_texts_or_numbers() {
        let read = config("{tools: {elevated: {allowFrom: {X: [42, '${WHO}']}}}}").unwrap();
        let global = &read.tools().elevated.allow_from.as_ref().unwrap()[0];
        assert_eq!((global.provider.as_str(), global.senders.entries[0].text.as_str()), ("X", "42"));
        assert_eq!(global.senders.entries[1].text, "42");
        assert_eq!(global.senders.entries[1].key, "tools.elevated.allowFrom.X[1]");
    }

    /// Does what a change says: `add "x" to KEY` or `remove "x" from KEY`.
    fn follow(root: &mut serde_json::Value, change: &str) {
        let (verb, rest) = change.split_once(" \"").unwrap();
        let (name, key) = rest.split_once("\" ").unwrap();
        let key = key.split_once(' ').unwrap().1;
        let at = KeyPath::parse(key).unwrap();
        let mut list: Vec<serde_json::Value> =
            at.look_up(root).and_then(|list| list.as_array().cloned()).unwrap_or_default();
        if verb == "add" {
            list.push(name.into());
        } else {
            let before = list.len();
            list.retain(|entry| entry.as_str() != Some(name));
            assert!(list.len() < before, "{change}: it is not written there");
        }
        let text = crate::config::edit::set(&root.to_string(), &at, &list.into()).unwrap();
        *root = json5::from_str(&text).unwrap();
    }

    /// Whoever follows all changes has the tool; whoever leaves one out does not.
    #[test]
    fn the_changes_together_bring_a_tool_back() {
        let caller =
            Caller { provider: Some("openai"), model: Some("small"), sandboxed: true, ..Caller::default() };
        for (text, tool, causes, changes) in [
            ("{}", "exec", 0, 0),
            ("{}", "browser", 1, 1),
            ("{}", "message", 1, 1),
            (r#"{"tools": {"deny": ["exec", "x", "group:runtime", "*"]}}"#, "exec", 3, 3),
            (r#"{"tools": {"deny": ["exec"], "allow": ["read"]}}"#, "exec", 2, 2),
            (r#"{"tools": {"sandbox": {"tools": {"deny": ["exec", "group:runtime"]}}}}"#, "exec", 2, 2),
            (r#"{"tools": {"sandbox": {"tools": {"deny": ["image"]}}}}"#, "view_image", 1, 1),
            (
                r#"{"tools": {"profile": "minimal", "deny": ["group:fs"], "byProvider": {"openai/small": {"allow": ["ls"]}},
                    "sandbox": {"tools": {"allow": ["exec"], "deny": ["read", "re*"]}}},
                    "agents": {"list": [{"id": "main", "tools": {"deny": ["read"], "allow": ["ls"]}}]}}"#,
                "read",
                8,
                8,
            ),
        ] {
            let policy = |root: &serde_json::Value| {
                config(&root.to_string()).unwrap().tool_policy(&AgentId::main(), &caller)
            };
            let tool = Tool::new(tool);
            let root: serde_json::Value = serde_json::from_str(text).unwrap();
            let removals = policy(&root).removals(&tool);
            assert_eq!(policy(&root).judge(&tool).removal.as_ref(), removals.first(), "{text}");
            let all = crate::policy::changes(&removals);
            assert_eq!((removals.len(), all.len()), (causes, changes), "{text}: {removals:#?}");
            for left_out in 0..=all.len() {
                let mut changed = root.clone();
                let followed = all.iter().enumerate().filter(|(at, _)| *at != left_out);
                followed.for_each(|(_, change)| follow(&mut changed, change));
                let whole = left_out == all.len();
                let verdict = policy(&changed).verdict(&tool);
                assert_eq!(verdict == Verdict::Allow, whole, "{text} without {left_out} of {all:?}");
            }
        }
    }
}
