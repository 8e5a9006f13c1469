//! The pipeline as a whole, and what holds for every policy.

use proptest::prelude::*;

use super::*;
use super::{audit, elevated};

fn list(key: &str, texts: &[&str]) -> List {
    List::built_in(key, texts)
}

fn profile(profile: Profile) -> ProfileSet {
    ProfileSet { profile, key: "tools.profile".to_owned() }
}

fn all_tools() -> Vec<Tool> {
    let more =
        [Tool::owned("srv__query", "bundle-mcp"), Tool::owned("acme_x", "acme"), Tool::new("unheard_of")];
    tables::known().map(Tool::new).chain(more).collect()
}

fn policy(global: &Scope, agent: Option<&Scope>, caller: &Caller<'_>) -> Policy {
    let agent = agent.map(|agent| ("ops", agent));
    Policy::new(&Rules { global, agent, empty_allow_is_all: false }, caller)
}

fn sandboxed() -> Caller<'static> {
    Caller { sandboxed: true, ..Caller::default() }
}

#[test]
fn every_removal_names_layer_key_and_fix() {
    let mut global = Scope { profile: Some(profile(Profile::Coding)), ..Scope::default() };
    global.lists.deny = Some(List {
        key: "tools.deny".to_owned(),
        entries: vec![
            Entry { text: "x".to_owned(), key: "tools.deny[0]".to_owned() },
            Entry { text: "Group:Web".to_owned(), key: "tools.deny[1]".to_owned() },
        ],
    });
    let mut agent = Scope::default();
    agent.lists.allow = Some(list("agents.list[0].tools.allow", &["group:fs", "group:runtime", "gateway"]));
    let policy = policy(&global, Some(&agent), &sandboxed());
    let why = |name| policy.judge(&Tool::new(name)).removal.unwrap();
    let (message, web, list, gateway) = (why("message"), why("web_fetch"), why("memory_get"), why("gateway"));
    assert_eq!((message.layer.as_str(), message.key.as_str()), ("tools.profile (coding)", "tools.profile"));
    assert_eq!(message.fix, "add \"message\" to tools.alsoAllow");
    assert_eq!(
        (web.layer.as_str(), web.key.as_str(), web.kind),
        ("tools.allow", "tools.deny[1]", Kind::Deny)
    );
    assert_eq!(web.fix, "remove \"Group:Web\" from tools.deny");
    assert_eq!(
        (list.layer.as_str(), list.key.as_str()),
        ("agents.ops.tools.allow", "agents.list[0].tools.allow")
    );
    assert_eq!((gateway.layer.as_str(), gateway.key.as_str()), (sandbox::LABEL, "tools.sandbox.tools.deny"));
    assert_eq!(policy.verdict(&Tool::new("exec")), Verdict::Allow);
    assert_eq!(policy.gateway_limited_by(), Some("tools.profile"));
}

#[test]
fn a_fix_can_be_followed() {
    let fix = |global: &Scope, caller: &Caller<'_>, name| {
        policy(global, None, caller).judge(&Tool::new(name)).removal.unwrap().fix
    };
    // What is built in cannot be removed from a list: it is allowed in so many words.
    let none = Scope::default();
    assert_eq!(fix(&none, &sandboxed(), "show_widget"), "add \"canvas\" to tools.sandbox.tools.alsoAllow");
    let mut followed = Scope::default();
    followed.sandbox.also_allow = Some(list("tools.sandbox.tools.alsoAllow", &["canvas"]));
    assert_eq!(policy(&followed, None, &sandboxed()).verdict(&Tool::new("show_widget")), Verdict::Allow);
    let child = Caller { subagent: Some(Subagent::Leaf), ..Caller::default() };
    assert!(fix(&none, &child, "gateway").contains("parent's session"));
    // Additions may not stand beside an allow list.
    let mut both = Scope { profile: Some(profile(Profile::Minimal)), ..Scope::default() };
    both.lists.allow = Some(list("tools.allow", &["exec"]));
    assert_eq!(fix(&both, &Caller::default(), "exec"), "choose a wider tools.profile");
}

#[test]
fn an_empty_list_allows_nothing() {
    let mut global = Scope::default();
    global.lists.allow = Some(list("tools.allow", &["", " "]));
    assert!(policy(&global, None, &Caller::default()).sift(&all_tools()).nothing_left());
    let none = List { key: "run".to_owned(), entries: Vec::new() };
    let caller = Caller { runtime: Some(&none), ..Caller::default() };
    assert!(policy(&Scope::default(), None, &caller).sift(&all_tools()).nothing_left());
}

#[test]
fn model_before_provider_and_plain_spelling_first() {
    let one = |name: &str, deny: &str| ProviderScope {
        name: name.to_owned(),
        profile: None,
        lists: Lists { deny: Some(list("k", &[deny])), ..Lists::default() },
    };
    let by_provider =
        vec![one("OpenAI", "ls"), one("openai", "read"), one("openai/gpt-5", "exec"), one("x/y/z", "edit")];
    let global = Scope { by_provider, ..Scope::default() };
    let denied = |provider, model| {
        let caller = Caller { provider: Some(provider), model, ..Caller::default() };
        let policy = policy(&global, None, &caller);
        let sifted = policy.sift(&all_tools());
        sifted.removed().map(|(tool, _)| tool.shown().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(denied("openai", None), ["read"]);
    assert_eq!(denied(" OPENAI ", Some("GPT-5")), ["exec"]);
    assert_eq!(denied("openai", Some("other")), ["read"]);
    assert_eq!(denied("x", Some("y/z")), ["edit"]);
    assert!(denied("x", None).is_empty() && denied("", Some("gpt-5")).is_empty());
}

#[test]
fn subagents_groups_and_senders_only_lose() {
    let by_sender = vec![SenderScope {
        who: "42".to_owned(),
        lists: Lists { deny: Some(list("tools.toolsBySender.42.deny", &["exec"])), ..Lists::default() },
    }];
    let global = Scope { by_sender, ..Scope::default() };
    let sender = Sender { id: Some("42".to_owned()), ..Sender::default() };
    let group =
        Lists { allow: Some(list("group", &["exec", "sessions_list", "message"])), ..Lists::default() };
    let caller = Caller { group: Some(&group), sender: Some(&sender), ..Caller::default() };
    let left = |caller: &Caller<'_>, agent: Option<&Scope>| {
        let sifted = policy(&global, agent, caller).sift(&all_tools());
        sifted.allowed().map(|tool| tool.shown().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(left(&caller, None), ["sessions_list", "message"]);
    let child = Caller { subagent: Some(Subagent::Orchestrator), ..caller };
    assert_eq!(left(&child, None), ["sessions_list"]);
    assert!(left(&Caller { subagent: Some(Subagent::Leaf), ..caller }, None).is_empty());
    // The agent's word on the sender, even an empty one, leaves the global one unread.
    let agent = Scope {
        by_sender: vec![SenderScope { who: "*".to_owned(), lists: Lists::default() }],
        ..Scope::default()
    };
    assert_eq!(left(&caller, Some(&agent)), ["exec", "sessions_list", "message"]);
}

#[test]
fn the_gateway_tool_is_limited_unless_it_is_named() {
    let mut global = Scope { profile: Some(profile(Profile::Minimal)), ..Scope::default() };
    let limited =
        |global: &Scope, caller: &Caller<'_>| policy(global, None, caller).gateway_limited_by().is_some();
    assert!(limited(&global, &Caller::default()));
    global.lists.also_allow = Some(list("tools.alsoAllow", &["group:automation"]));
    assert!(!limited(&global, &Caller::default()));
    let profile_of_x = Some(profile(Profile::Coding));
    global.by_provider =
        vec![ProviderScope { name: "x".to_owned(), profile: profile_of_x, lists: Lists::default() }];
    assert!(limited(&global, &Caller { provider: Some("x"), ..Caller::default() }));
    global.profile = Some(profile(Profile::Full));
    assert!(!limited(&global, &Caller::default()));
}

#[test]
fn misspelt_entries_are_found() {
    let texts = ["read", "raed", "group:nosuch", "acme", "srv__*"];
    let entry =
        |(at, text): (usize, &&str)| Entry { text: (*text).to_owned(), key: format!("tools.allow[{at}]") };
    let entries = texts.iter().enumerate().map(entry).collect();
    // `bundle-mcp` is an entry of the profile: nobody misspelt it.
    let mut global = Scope { profile: Some(profile(Profile::Coding)), ..Scope::default() };
    global.lists.allow = Some(List { key: "tools.allow".to_owned(), entries });
    let policy = policy(&global, None, &Caller::default());
    let tools: Vec<Tool> =
        all_tools().into_iter().filter(|tool| tool.owner() != Some("bundle-mcp")).collect();
    assert_eq!(
        policy.unknown(&tools).map(|entry| entry.text.as_str()).collect::<Vec<_>>(),
        ["raed", "group:nosuch", "srv__*"]
    );
}

#[test]
fn the_log_names_rule_key_and_tools() {
    let mut global = Scope::default();
    global.lists.deny = Some(list("tools.deny", &["group:web", "evil*"]));
    let mut tools = all_tools();
    tools.push(Tool::new(&format!("evil\n\u{202e}{}", "x".repeat(200))));
    let policy = policy(&global, None, &sandboxed());
    let entries = audit::entries(&policy, &policy.sift(&tools));
    assert_eq!(
        entries.iter().map(|entry| entry.rule.as_str()).collect::<Vec<_>>(),
        ["tools.deny", sandbox::LABEL]
    );
    let json = serde_json::to_value(&entries).unwrap();
    assert_eq!(json[0]["ruleKind"], "deny");
    assert_eq!(json[0]["matchedRules"], serde_json::json!(["group:web"]));
    assert_eq!(json[0]["configKey"], "tools.deny");
    assert_eq!(json[1]["ruleKind"], "allow+deny");
    assert!(json[1]["removedToolCount"].as_u64().unwrap() > 40);
    let text = json.to_string();
    assert!(!text.contains('\u{202e}') && !text.contains("\\n") && text.len() < 6000, "{text}");
}

#[test]
fn gates_in_their_order() {
    let from = |provider: &str, who: &[&str]| elevated::AllowFrom {
        provider: provider.to_owned(),
        senders: List::built_in("k", who),
    };
    let scope = |enabled, allow_from| ElevatedScope { enabled, allow_from };
    let sender = Sender { id: Some("42".to_owned()), ..Sender::default() };
    let keys = |global: &ElevatedScope, agent: Option<&ElevatedScope>, provider, sender| {
        let who = elevated::Requester { provider, sender, ..elevated::Requester::default() };
        elevated::failing(global, agent, &who).into_iter().map(|failing| failing.key).collect::<Vec<_>>()
    };
    let (off, unset) = (scope(Some(false), None), scope(None, None));
    assert_eq!(
        keys(&off, Some(&off), Some("x"), Some(&sender)),
        ["tools.elevated.enabled", "agents.entries.*.tools.elevated.enabled"]
    );
    assert_eq!(keys(&unset, None, None, Some(&sender)), ["ctx.Provider"]);
    assert_eq!(keys(&unset, None, Some("X"), Some(&sender)), ["tools.elevated.allowFrom.x"]);
    let global = scope(None, Some(vec![from("x", &["42"]), from("empty", &[])]));
    assert!(keys(&global, None, Some("X"), Some(&sender)).is_empty());
    assert!(keys(&global, Some(&unset), Some("x"), Some(&sender)).is_empty());
    assert_eq!(keys(&global, None, Some("x"), None), ["tools.elevated.allowFrom.x"]);
    assert_eq!(keys(&global, None, Some("empty"), Some(&sender)), ["tools.elevated.allowFrom.empty"]);
    // An agent's list restricts; it does not open.
    let agent = scope(None, Some(vec![from("x", &["43"]), from("y", &["*"])]));
    assert_eq!(
        keys(&global, Some(&agent), Some("x"), Some(&sender)),
        ["agents.entries.*.tools.elevated.allowFrom.x"]
    );
    assert_eq!(keys(&global, Some(&agent), Some("y"), Some(&sender)), ["tools.elevated.allowFrom.y"]);
    assert_eq!(elevated::fix_it(Some("X"))[3], "agents.entries.*.tools.elevated.allowFrom.x");
}

#[test]
fn levels() {
    use elevated::Levels;
    let levels = |inline, session, configured| Levels { inline, session, configured };
    let (off, ask, full) = (Some(Level::Off), Some(Level::Ask), Some(Level::Full));
    assert_eq!(levels(None, None, None).for_call(None), Level::Off);
    assert_eq!(levels(None, None, None).for_call(Some(true)), Level::Ask);
    assert_eq!(levels(None, None, off).for_call(Some(true)), Level::Ask);
    assert_eq!(levels(None, off, full).for_call(Some(true)), Level::Off);
    assert_eq!(levels(full, off, None).for_call(Some(true)), Level::Full);
    assert_eq!(levels(None, full, ask).for_call(None), Level::Full);
    assert_eq!(levels(full, full, full).for_call(Some(false)), Level::Off);
    for (word, level) in [("ON", ask), ("auto-approve", full), ("0", off), ("maybe", None)] {
        assert_eq!(Level::parse(word), level, "{word}");
    }
}

fn entry() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = tables::known()
        .chain(tables::GROUPS.iter().map(|(name, _)| *name))
        .chain([
            "group:openclaw",
            "group:plugins",
            "bundle-mcp",
            "acme",
            "*",
            "s*",
            "*_list",
            "image",
            "image*",
        ])
        .chain(["bash", "cron", "srv__*", "nosuch", "", " ", "update_plan", "apply-patch", "group:nosuch"])
        .collect();
    proptest::sample::select(known).prop_map(str::to_owned)
}

fn some_list(key: &'static str) -> impl Strategy<Value = Option<List>> {
    proptest::option::of(proptest::collection::vec(entry(), 0..5)).prop_map(move |texts| {
        let texts = texts?;
        Some(List::built_in(key, &texts.iter().map(String::as_str).collect::<Vec<_>>()))
    })
}

fn lists() -> impl Strategy<Value = Lists> {
    (some_list("allow"), some_list("alsoAllow"), some_list("deny"))
        .prop_map(|(allow, also_allow, deny)| Lists { allow, also_allow, deny })
}

fn scope() -> impl Strategy<Value = Scope> {
    let profile =
        proptest::option::of(proptest::sample::select(Profile::ALL.map(|(_, profile)| profile).to_vec()));
    (profile, lists(), lists(), lists()).prop_map(|(profile, lists, provider, sandbox)| Scope {
        profile: profile.map(|profile| ProfileSet { profile, key: "tools.profile".to_owned() }),
        lists,
        by_provider: vec![ProviderScope { name: "p".to_owned(), profile: None, lists: provider }],
        sandbox,
        ..Scope::default()
    })
}

/// Where a denial is added.
#[derive(Debug, Clone, Copy)]
enum Place {
    Global,
    Agent,
    Provider,
    Sandbox,
    AgentSandbox,
}

fn add(place: Place, global: &mut Scope, agent: &mut Scope, text: &str) {
    let lists = match place {
        Place::Global => &mut global.lists,
        Place::Agent => &mut agent.lists,
        Place::Provider => &mut global.by_provider[0].lists,
        Place::Sandbox => &mut global.sandbox,
        Place::AgentSandbox => &mut agent.sandbox,
    };
    let deny = lists.deny.get_or_insert_with(|| List { key: "deny".to_owned(), entries: Vec::new() });
    deny.entries.push(Entry { text: text.to_owned(), key: "deny".to_owned() });
}

fn caller(sandboxed: bool) -> Caller<'static> {
    Caller { provider: Some("p"), sandboxed, ..Caller::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// A further denial takes nothing back. In a sandbox's first deny list it replaces the built-in one, as it is
    /// specified to; from then on the same holds there.
    #[test]
    fn a_denial_never_adds_a_tool(
        (global, agent) in (scope(), scope()),
        place in proptest::sample::select(vec![
            Place::Global, Place::Agent, Place::Provider, Place::Sandbox, Place::AgentSandbox,
        ]),
        text in entry(),
        sandboxed in any::<bool>(),
    ) {
        let (mut more_global, mut more_agent) = (global.clone(), agent.clone());
        let first = match place {
            Place::Sandbox => global.sandbox.deny.is_none() && agent.sandbox.deny.is_none(),
            Place::AgentSandbox => agent.sandbox.deny.is_none(),
            _ => false,
        };
        prop_assume!(!first);
        add(place, &mut more_global, &mut more_agent, &text);
        for empty_allow_is_all in [false, true] {
            let new = |global, agent| {
                Policy::new(&Rules { global, agent: Some(("ops", agent)), empty_allow_is_all }, &caller(sandboxed))
            };
            let (before, after) = (new(&global, &agent), new(&more_global, &more_agent));
            for tool in all_tools() {
                prop_assert!(after.verdict(&tool) >= before.verdict(&tool), "{tool:?} {text}");
            }
        }
    }

    /// What is denied anywhere in so many words is not there, whatever is allowed.
    #[test]
    fn deny_wins((mut global, mut agent) in (scope(), scope()), at in 0usize..60, in_agent in any::<bool>()) {
        let tools = all_tools();
        let tool = &tools[at];
        let place = if in_agent { Place::Agent } else { Place::Global };
        add(place, &mut global, &mut agent, tool.shown());
        for sandboxed in [false, true] {
            let policy = policy(&global, Some(&agent), &caller(sandboxed));
            prop_assert_eq!(policy.verdict(tool), Verdict::Deny);
        }
        add(Place::AgentSandbox, &mut Scope::default(), &mut agent, tool.shown());
        agent.lists.deny = None;
        prop_assert_eq!(policy(&global, Some(&agent), &caller(true)).verdict(tool), Verdict::Deny);
    }

    /// A session in a sandbox has no tool that it would not have outside.
    #[test]
    fn a_sandbox_only_removes((global, agent) in (scope(), scope())) {
        let (outside, inside) =
            (policy(&global, Some(&agent), &caller(false)), policy(&global, Some(&agent), &caller(true)));
        for tool in all_tools() {
            prop_assert!(inside.verdict(&tool) >= outside.verdict(&tool));
        }
    }

    /// What is explained is what is enforced: running the steps one after another over what is left, as a
    /// pipeline would, leaves what the explanation says is left, and takes away where it says.
    #[test]
    fn explained_is_enforced((global, agent) in (scope(), scope()), sandboxed in any::<bool>()) {
        let policy = policy(&global, Some(&agent), &caller(sandboxed));
        let tools = all_tools();
        let explained = policy.sift(&tools);
        let mut left = tools.clone();
        for step in policy.steps() {
            let alone = Policy { steps: vec![step.clone()], gateway_limit: None };
            let (keep, gone): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|tool| alone.verdict(tool) == Verdict::Allow);
            for tool in gone {
                let judged = explained.tools.iter().find(|judged| judged.tool == tool).unwrap();
                prop_assert_eq!(&judged.removal.as_ref().unwrap().layer, step.label());
            }
            left = keep;
        }
        prop_assert_eq!(explained.allowed().cloned().collect::<Vec<_>>(), left.clone());
        for tool in &tools {
            prop_assert_eq!(policy.verdict(tool) == Verdict::Allow, left.contains(tool));
        }
    }
}

/// Whoever may leave elsewhere: a session whose creator's role demands a sandbox stays in it.
#[test]
fn nobody_leaves_a_sandbox_that_is_demanded() {
    let everybody = ElevatedScope {
        enabled: Some(true),
        allow_from: Some(vec![elevated::AllowFrom {
            provider: "webchat".to_owned(),
            senders: List::built_in("k", &["*"]),
        }]),
    };
    let who = |required| elevated::Requester {
        provider: Some("webchat"),
        required,
        ..elevated::Requester::default()
    };
    assert!(elevated::failing(&everybody, None, &who(false)).is_empty());
    let failing = elevated::failing(&everybody, None, &who(true));
    assert_eq!(failing.len(), 1);
    assert_eq!((failing[0].gate, failing[0].key.as_str()), (elevated::Gate::Sandbox, "sandbox=required"));
}
