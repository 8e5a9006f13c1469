//! The lists that hold in a sandbox (spec `sandbox.md` §18.6).
//!
//! Each list is chosen by itself: the agent's, else the global one, else the built-in one. What an operator
//! allows in so many words leaves the built-in deny list; a configured deny list is exactly what it says.

use super::decide::{Against, Gate, Step, Tool};
use super::lists::{Entry, List, Lists};
use super::matcher::{Matcher, covers};
use super::name::expand;
use super::tables::{SANDBOX_ALLOW, SANDBOX_DENY};

/// The label of the step.
pub const LABEL: &str = "sandbox tools.allow";
const ALLOW: &str = "tools.sandbox.tools.allow";
const ALSO: &str = "tools.sandbox.tools.alsoAllow";
const DENY: &str = "tools.sandbox.tools.deny";

/// Who chose a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The agent's block.
    Agent,
    /// The global block.
    Global,
    /// Nobody: it is built in.
    Default,
}

/// Where a list comes from, as `sandbox explain` prints it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Source {
    /// Who chose it.
    pub source: Layer,
    /// The key; agents are `agents.entries.*`.
    pub key: String,
}

/// The lists that hold in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTools {
    /// What is allowed, groups expanded, each name once.
    pub allow: Vec<Entry>,
    /// What is denied, likewise.
    pub deny: Vec<Entry>,
    /// Who chose `allow`.
    pub allow_source: Source,
    /// Who chose `deny`.
    pub deny_source: Source,
    /// The list allows everything that is not denied: it is empty, and the configuration says that this is what
    /// empty means.
    pub open: bool,
    /// The key of the list that decides what is allowed.
    allow_key: String,
    /// The key of the list to which an addition belongs.
    add_to: String,
    /// A configured deny list before its groups were expanded.
    deny_written: Vec<Entry>,
}

impl SandboxTools {
    /// The agent's lists over the global ones over the built-in ones.
    pub fn resolve(global: &Lists, agent: Option<&Lists>, empty_allow_is_all: bool) -> Self {
        let none = Lists::default();
        let agent = agent.unwrap_or(&none);
        let allow = agent.allow.as_ref().or(global.allow.as_ref());
        let also = agent.also_allow.as_ref().or(global.also_allow.as_ref());
        let open = empty_allow_is_all && allow.is_some_and(List::is_blank);
        let explicit = Matcher::new(allow.into_iter().chain(also).flat_map(|list| &list.entries));

        let deny = agent.deny.as_ref().or(global.deny.as_ref());
        let mut denied = match deny {
            Some(list) => names(&list.entries),
            None => names(&List::built_in(DENY, SANDBOX_DENY).entries)
                .into_iter()
                .filter(|entry| explicit.find_name(&entry.text).is_none())
                .collect(),
        };
        cover_view_image(&mut denied);
        let built_in = List::built_in(ALLOW, SANDBOX_ALLOW);
        let mut allowed = match allow {
            _ if open => Vec::new(),
            Some(list) => names(list.entries.iter().chain(also.into_iter().flat_map(|also| &also.entries))),
            None => names(built_in.entries.iter().chain(also.into_iter().flat_map(|also| &also.entries))),
        };
        if let (Some(list), false) = (allow, open) {
            add_view_image(&mut allowed, &denied, &list.key);
        }
        Self {
            allow: allowed,
            deny: denied,
            allow_source: source(agent, global),
            deny_source: deny_source(agent, global),
            open,
            allow_key: allow.map_or(ALLOW, |list| &list.key).to_owned(),
            add_to: match (allow, also) {
                (Some(list), _) | (None, Some(list)) => list.key.clone(),
                (None, None) => ALSO.to_owned(),
            },
            deny_written: deny.map(|list| list.entries.clone()).unwrap_or_default(),
        }
    }

    /// The step of the pipeline.
    pub(super) fn step(&self) -> Step {
        let gate = || Gate {
            matcher: Matcher::new(&self.allow),
            key: self.allow_key.clone(),
            add_to: Some(self.add_to.clone()),
        };
        Step {
            label: LABEL.to_owned(),
            allow: (!self.open).then(gate),
            deny: Matcher::new(&self.deny),
            deny_written: self.deny_written.clone(),
            against_built_in: Against::AddTo(self.add_to.clone()),
        }
    }

    /// Whether the lists by themselves remove a tool. The pipeline asks the same.
    pub fn judge(&self, tool: &Tool) -> super::Judged {
        super::Policy { steps: vec![self.step()], gateway_limit: None }.judge(tool)
    }
}

/// Entries with groups expanded, each name once; a member carries the key of the entry that named its group.
fn names<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for entry in entries {
        for text in expand([entry.text.as_str()]) {
            if !all.iter().any(|known| known.text == text) {
                all.push(Entry { text, key: entry.key.clone() });
            }
        }
    }
    all
}

/// Who denies `image` means the tool that shows images under its present name too. Written out, because the list
/// is shown to people.
fn cover_view_image(denied: &mut Vec<Entry>) {
    if denied.iter().any(|entry| covers(&entry.text, "view_image")) {
        return;
    }
    if let Some(key) = denied.iter().find(|entry| covers(&entry.text, "image")).map(|entry| entry.key.clone())
    {
        denied.push(Entry { text: "view_image".to_owned(), key });
    }
}

/// An agent that was given any list can still look at images that it was sent.
fn add_view_image(allowed: &mut Vec<Entry>, denied: &[Entry], key: &str) {
    let present = allowed.iter().any(|entry| entry.text == "view_image");
    if !present && !denied.iter().any(|entry| covers(&entry.text, "view_image")) {
        allowed.push(Entry { text: "view_image".to_owned(), key: key.to_owned() });
    }
}

fn source(agent: &Lists, global: &Lists) -> Source {
    let (source, key) = match (&agent.allow, &agent.also_allow, &global.allow, &global.also_allow) {
        (Some(_), ..) => (Layer::Agent, ALLOW),
        (_, Some(_), ..) => (Layer::Agent, ALSO),
        (_, _, Some(_), _) => (Layer::Global, ALLOW),
        (.., Some(_)) => (Layer::Global, ALSO),
        _ => (Layer::Default, ALLOW),
    };
    named(source, key)
}

fn deny_source(agent: &Lists, global: &Lists) -> Source {
    let source = match (&agent.deny, &global.deny) {
        (Some(_), _) => Layer::Agent,
        (_, Some(_)) => Layer::Global,
        _ => Layer::Default,
    };
    named(source, DENY)
}

fn named(source: Layer, key: &str) -> Source {
    let prefix = if source == Layer::Agent { "agents.entries.*." } else { "" };
    Source { source, key: format!("{prefix}{key}") }
}
