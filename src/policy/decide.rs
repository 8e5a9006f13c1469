//! The pipeline over a tool: one function decides, explains and enforces.

use super::lists::Entry;
use super::matcher::Matcher;
use super::name::normal;
use super::verdict::Verdict;

/// A tool that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    shown: String,
    name: String,
    owner: Option<String>,
}

impl Tool {
    /// A built-in tool.
    pub fn new(name: &str) -> Self {
        Self { shown: name.to_owned(), name: normal(name), owner: None }
    }

    /// A tool of a plugin; MCP tools belong to [`super::tables::MCP_OWNER`].
    pub fn owned(name: &str, plugin: &str) -> Self {
        Self { owner: Some(normal(plugin)), ..Self::new(name) }
    }

    /// The name as given.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The name as compared.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The plugin that owns it.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }
}

/// What kind of rule removed a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A list names it.
    Deny,
    /// A list of what is allowed does not name it.
    Allow,
}

/// Why a session does not have a tool.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// The step, as in `tools.allow`; a step has one label for both kinds.
    pub layer: String,
    /// Whether it was named, or not named.
    pub kind: Kind,
    /// The key that decided: of the entry that denies, or of the list that does not allow.
    pub key: String,
    /// The entry that denies, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// The smallest change that brings the tool past this cause.
    pub fix: String,
}

impl Removal {
    /// The step as people call it: `.deny` where it denied by name, although the step has one label for both kinds.
    pub fn rule(&self) -> String {
        match (self.kind, self.layer.strip_suffix(".allow")) {
            (Kind::Deny, Some(head)) => format!("{head}.deny"),
            _ => self.layer.clone(),
        }
    }
}

/// What together brings a tool back that was removed for these reasons, each change once.
pub fn changes(removals: &[Removal]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for removal in removals {
        if !all.contains(&removal.fix.as_str()) {
            all.push(&removal.fix);
        }
    }
    all
}

/// One step of the pipeline.
#[derive(Debug, Clone)]
pub struct Step {
    pub(super) label: String,
    pub(super) allow: Option<Gate>,
    pub(super) deny: Matcher,
    /// The denying list as it was written, where `deny` has its groups expanded; else empty.
    pub(super) deny_written: Vec<Entry>,
    /// What helps against a built-in denial, which cannot be removed from a list.
    pub(super) against_built_in: Against,
}

/// What helps against a built-in denial.
#[derive(Debug, Clone, Default)]
pub(super) enum Against {
    /// There is none in this step.
    #[default]
    Nothing,
    /// To allow in so many words what is denied, in the list of this key.
    AddTo(String),
    /// Nothing in the configuration.
    Never,
}

/// The half of a step that lets only some through.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) matcher: Matcher,
    /// The key of the list, or of the profile.
    pub(super) key: String,
    /// The key of the list to which an addition belongs; `None` where the profile itself has to change.
    pub(super) add_to: Option<String>,
}

impl Step {
    /// A step that denies nothing by name.
    pub(super) fn gate(label: String, gate: Gate) -> Self {
        Self {
            label,
            allow: Some(gate),
            deny: Matcher::default(),
            deny_written: Vec::new(),
            against_built_in: Against::default(),
        }
    }

    /// What the log calls it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether it removes a tool, and by what. Deny is asked first: it wins.
    fn cause(&self, tool: &Tool) -> Option<Cause<'_>> {
        if let Some(entry) = self.deny.find(tool) {
            return Some(Cause::Denied(self, self.as_written(entry)));
        }
        self.shut(tool).map(|gate| Cause::NotAllowed(&self.label, gate))
    }

    fn shut(&self, tool: &Tool) -> Option<&Gate> {
        self.allow.as_ref().filter(|gate| gate.matcher.find_allowed(tool).is_none())
    }

    /// Everything in this step that removes a tool, the first as [`Self::cause`] has it.
    fn causes(&self, tool: &Tool) -> Vec<Cause<'_>> {
        let mut denials: Vec<&Entry> = Vec::new();
        let mut add = |entry| {
            if !denials.contains(&entry) {
                denials.push(entry);
            }
        };
        let alone = |entry: &&Entry| Matcher::new([*entry]).find(tool).is_some();
        self.deny.entries().iter().filter(alone).for_each(|entry| add(self.as_written(entry)));
        // A name that two entries bring is in the expanded list only once.
        self.deny_written.iter().filter(alone).for_each(add);
        let gate = self.shut(tool).filter(|gate| !denials.iter().any(|entry| self.opens(entry, gate, tool)));
        let denied = denials.iter().map(|entry| Cause::Denied(self, entry));
        denied.chain(gate.map(|gate| Cause::NotAllowed(&self.label, gate))).collect()
    }

    /// An entry of the expanded list as it was written.
    fn as_written<'s>(&'s self, entry: &'s Entry) -> &'s Entry {
        self.deny_written.iter().find(|written| written.key == entry.key).unwrap_or(entry)
    }

    /// Taking this denial back lets the tool through the gate too.
    fn opens(&self, entry: &Entry, gate: &Gate, tool: &Tool) -> bool {
        let same =
            matches!(&self.against_built_in, Against::AddTo(list) if gate.add_to.as_ref() == Some(list));
        same && entry.list().is_none() && Matcher::new([entry]).find_allowed(tool).is_some()
    }

    /// The smallest change that takes a denial back. An entry that was written has a place in its list.
    fn undo(&self, entry: &Entry) -> String {
        let text = entry.text.trim();
        match (entry.list(), &self.against_built_in) {
            (None, Against::AddTo(key)) => format!("add {text:?} to {key}"),
            (None, Against::Never) => {
                "call it from the parent's session; no list gives it to a subagent".to_owned()
            }
            (list, _) => format!("remove {text:?} from {}", list.unwrap_or(&entry.key)),
        }
    }
}

/// What removes a tool: the step, and what in it.
enum Cause<'p> {
    Denied(&'p Step, &'p Entry),
    NotAllowed(&'p str, &'p Gate),
}

impl Cause<'_> {
    /// The same for people.
    fn removal(&self, tool: &Tool) -> Removal {
        match *self {
            Self::Denied(step, entry) => Removal {
                layer: step.label.clone(),
                kind: Kind::Deny,
                key: entry.key.clone(),
                matched: Some(entry.text.clone()),
                fix: step.undo(entry),
            },
            Self::NotAllowed(layer, gate) => Removal {
                layer: layer.to_owned(),
                kind: Kind::Allow,
                key: gate.key.clone(),
                matched: None,
                fix: match &gate.add_to {
                    Some(list) => format!("add {:?} to {list}", tool.shown()),
                    None => format!("choose a wider {}", gate.key),
                },
            },
        }
    }
}

/// What holds for a caller: steps in their order, each of which can only remove.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub(super) steps: Vec<Step>,
    pub(super) gateway_limit: Option<String>,
}

/// A tool and what was decided of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The tool.
    pub tool: Tool,
    /// Why it is not there, where it is not.
    pub removal: Option<Removal>,
}

impl Judged {
    /// Whether it may be called.
    pub fn verdict(&self) -> Verdict {
        if self.removal.is_some() { Verdict::Deny } else { Verdict::Allow }
    }
}

/// What became of a set of tools, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sifted {
    /// Every tool.
    pub tools: Vec<Judged>,
}

impl Sifted {
    /// The tools that the session has.
    pub fn allowed(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|judged| judged.removal.is_none()).map(|judged| &judged.tool)
    }

    /// The tools that it does not have, and why.
    pub fn removed(&self) -> impl Iterator<Item = (&Tool, &Removal)> {
        self.tools.iter().filter_map(|judged| Some((&judged.tool, judged.removal.as_ref()?)))
    }

    /// Nothing can be called. A run stops then: going on without tools hides a mistake in the configuration.
    pub fn nothing_left(&self) -> bool {
        self.allowed().next().is_none()
    }
}

impl Policy {
    /// The steps in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The first step that removes a tool. Everything that decides or explains asks here.
    fn cause(&self, tool: &Tool) -> Option<Cause<'_>> {
        self.steps.iter().find_map(|step| step.cause(tool))
    }

    /// Decides one tool, with the reason.
    pub fn judge(&self, tool: &Tool) -> Judged {
        Judged { tool: tool.clone(), removal: self.cause(tool).map(|cause| cause.removal(tool)) }
    }

    /// Everything that removes a tool, in the order of the steps: [`Self::judge`] names the first. Empty where the
    /// tool is there.
    pub fn removals(&self, tool: &Tool) -> Vec<Removal> {
        self.steps.iter().flat_map(|step| step.causes(tool)).map(|cause| cause.removal(tool)).collect()
    }

    /// Whether a tool may be called. This is what enforces.
    pub fn verdict(&self, tool: &Tool) -> Verdict {
        if self.cause(tool).is_some() { Verdict::Deny } else { Verdict::Allow }
    }

    /// Decides each of a set.
    pub fn sift(&self, tools: &[Tool]) -> Sifted {
        Sifted { tools: tools.iter().map(|tool| self.judge(tool)).collect() }
    }

    /// The key of the profile that lets `gateway` do updates only, where one does.
    pub fn gateway_limited_by(&self) -> Option<&str> {
        self.gateway_limit.as_deref()
    }

    /// Written entries of allow lists that name none of `tools`: misspelt, or a tool that is not loaded.
    pub fn unknown<'a>(&'a self, tools: &'a [Tool]) -> impl Iterator<Item = &'a Entry> {
        let entries = self.steps.iter().filter_map(|step| Some(step.allow.as_ref()?.matcher.entries()));
        entries.flatten().filter(|entry| entry.list().is_some()).filter(move |entry| {
            let alone = Matcher::new([*entry]);
            !tools.iter().any(|tool| alone.find_allowed(tool).is_some())
        })
    }
}
