//! Configuration and caller into an ordered pipeline (spec `sandbox.md` §18.4).

use super::decide::{Against, Gate, Policy, Step, Tool};
use super::lists::{List, Lists, ProfileSet, ProviderScope, Scope};
use super::matcher::Matcher;
use super::sandbox::SandboxTools;
use super::sender::{self, Sender};
use super::tables::{LEAF_DENY, SUBAGENT_DENY};

/// What is configured.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The global block.
    pub global: &'a Scope,
    /// The agent's block and id.
    pub agent: Option<(&'a str, &'a Scope)>,
    /// An empty allow list restricts nothing, as upstream reads it.
    pub empty_allow_is_all: bool,
}

/// How far down a subagent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subagent {
    /// It may start others.
    Orchestrator,
    /// It may not.
    Leaf,
}

/// Who calls, from where.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The provider of the model.
    pub provider: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The session runs in a sandbox.
    pub sandboxed: bool,
    /// The session is a subagent's.
    pub subagent: Option<Subagent>,
    /// Who sent the message.
    pub sender: Option<&'a Sender>,
    /// The policy of the chat group; the caller answers for it that the session belongs to that group.
    pub group: Option<&'a Lists>,
    /// What the run itself was limited to; here an empty list is nothing, always.
    pub runtime: Option<&'a List>,
    /// What a parent session handed down.
    pub inherited: Option<&'a Lists>,
}

impl Policy {
    /// The pipeline for a caller.
    pub fn new(rules: &Rules<'_>, caller: &Caller<'_>) -> Self {
        let agent = rules.agent.map(|(_, scope)| scope);
        let label = |rest: &str| rules.agent.map(|(id, _)| format!("agents.{id}.{rest}")).unwrap_or_default();
        let far = provider(&rules.global.by_provider, caller);
        let near = agent.and_then(|agent| provider(&agent.by_provider, caller));
        let mut build = Build { policy: Self::default(), empty_is_all: rules.empty_allow_is_all };

        let own = agent.and_then(|agent| Some((agent.profile.as_ref()?, &agent.lists)));
        let base = own.or_else(|| Some((rules.global.profile.as_ref()?, &rules.global.lists)));
        let own = agent.and_then(|agent| agent.lists.also_allow.as_ref());
        build.profile("tools.profile", base, own.or(rules.global.lists.also_allow.as_ref()));
        let own = near.and_then(|near| Some((near.profile.as_ref()?, &near.lists)));
        let base = own.or_else(|| far.and_then(|far| Some((far.profile.as_ref()?, &far.lists))));
        let own = near.and_then(|near| near.lists.also_allow.as_ref());
        let more = own.or(far.and_then(|far| far.lists.also_allow.as_ref()));
        build.profile("tools.byProvider.profile", base, more);

        build.lists("tools.allow", Some(&rules.global.lists));
        build.lists("tools.byProvider.allow", far.map(|far| &far.lists));
        build.lists(&label("tools.allow"), agent.map(|agent| &agent.lists));
        build.lists(&label("tools.byProvider.allow"), near.map(|near| &near.lists));
        build.lists("group tools.allow", caller.group);
        build.lists("tools.toolsBySender", by_sender(rules.global, agent, caller));
        if caller.sandboxed {
            let own = agent.map(|agent| &agent.sandbox);
            let tools = SandboxTools::resolve(&rules.global.sandbox, own, rules.empty_allow_is_all);
            build.policy.steps.push(tools.step());
        }
        if let Some(subagent) = caller.subagent {
            build.subagent(subagent, &rules.global.subagents);
        }
        build.runtime(caller.runtime);
        build.lists("inherited tools", caller.inherited);
        build.policy
    }
}

/// Which of a sender's scopes hold; a match of the agent's, even an empty one, leaves no room for a global one.
fn by_sender<'a>(global: &'a Scope, agent: Option<&'a Scope>, caller: &Caller<'_>) -> Option<&'a Lists> {
    let sender = caller.sender?;
    let own = agent.and_then(|agent| sender::scope(&agent.by_sender, sender));
    own.or_else(|| sender::scope(&global.by_sender, sender)).map(|scope| &scope.lists)
}

/// The scope of the model, else of the provider. Of two spellings of one name the plain one holds.
fn provider<'a>(scopes: &'a [ProviderScope], caller: &Caller<'_>) -> Option<&'a ProviderScope> {
    let plain = |text: &str| text.trim().to_lowercase();
    let provider = caller.provider.map(plain).filter(|name| !name.is_empty())?;
    let model = caller.model.map(plain).filter(|name| !name.is_empty());
    let find = |wanted: &str| {
        let exact = scopes.iter().find(|scope| scope.name == wanted);
        exact.or_else(|| scopes.iter().find(|scope| plain(&scope.name) == wanted))
    };
    model.and_then(|model| find(&format!("{provider}/{model}"))).or_else(|| find(&provider))
}

struct Build {
    policy: Policy,
    empty_is_all: bool,
}

impl Build {
    /// The base list of a profile with the additions that belong to it. Where none are written, they would stand
    /// beside the profile, but not beside an allow list.
    fn profile(&mut self, label: &str, base: Option<(&ProfileSet, &Lists)>, also: Option<&List>) {
        let Some((set, beside)) = base else { return };
        let base = List::built_in(&set.key, set.profile.allow());
        let more = also.into_iter().flat_map(|list| &list.entries);
        let add_to = match also {
            Some(list) => Some(list.key.clone()),
            None if beside.allow.is_some() => None,
            None => set.key.strip_suffix("profile").map(|scope| format!("{scope}alsoAllow")),
        };
        let gate = Gate {
            matcher: Matcher::new(base.entries.iter().chain(more.clone())),
            key: set.key.clone(),
            add_to,
        };
        // Updates only, unless every limited profile is told otherwise.
        if set.profile.is_limited() && Matcher::new(more).find(&Tool::new("gateway")).is_none() {
            self.policy.gateway_limit.get_or_insert_with(|| set.key.clone());
        }
        let label = format!("{label} ({})", set.profile.name());
        self.policy.steps.push(Step::gate(label, gate));
    }

    /// Three lists. Additions without a list to add to are additions to everything: no gate.
    fn lists(&mut self, label: &str, lists: Option<&Lists>) {
        let Some(lists) = lists else { return };
        let allow = lists.allow.as_ref().filter(|list| !(self.empty_is_all && list.is_blank()));
        let more = lists.also_allow.iter().flat_map(|list| &list.entries);
        let allow = allow.map(|list| Gate {
            matcher: Matcher::new(list.entries.iter().chain(more)),
            key: list.key.clone(),
            add_to: Some(list.key.clone()),
        });
        let deny = lists.deny.as_ref().map(Matcher::of).unwrap_or_default();
        if allow.is_some() || !deny.is_empty() {
            let against_built_in = Against::default();
            self.policy.steps.push(Step {
                label: label.to_owned(),
                allow,
                deny,
                deny_written: Vec::new(),
                against_built_in,
            });
        }
    }

    /// What is built in holds on top of what is configured; no list takes it back.
    fn subagent(&mut self, subagent: Subagent, lists: &Lists) {
        let leaf = if subagent == Subagent::Leaf { LEAF_DENY } else { &[] };
        let key = "tools.subagents.tools.deny";
        let built_in = List::built_in(key, &[SUBAGENT_DENY, leaf].concat()).entries;
        let configured = lists.deny.as_ref().map(|list| list.entries.clone()).unwrap_or_default();
        let deny = List { key: key.to_owned(), entries: [configured, built_in].concat() };
        self.lists("subagent tools.allow", Some(&Lists { deny: Some(deny), ..lists.clone() }));
        if let Some(step) = self.policy.steps.last_mut() {
            step.against_built_in = Against::Never;
        }
    }

    fn runtime(&mut self, list: Option<&List>) {
        let Some(list) = list else { return };
        let gate = Gate { matcher: Matcher::of(list), key: list.key.clone(), add_to: Some(list.key.clone()) };
        let label = "runtime tools.allow".to_owned();
        self.policy.steps.push(Step::gate(label, gate));
    }
}
