//! How a refusal to leave every sandbox is told: what decided, by its file and key, and every change that is needed.

use super::assess::Assessed;
use super::document::Standing as Known;
use super::explain::change::{self, Edit, quoted};
use super::host::Standing;
use super::missed;
use super::policy::{Source, Target};
use crate::config::exec::{Ask, ExecHost, Security};
use crate::error::Diagnose as _;
use crate::policy::Level;
use crate::shown;

/// Around a decision: what a refusal needs to name a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// The session's key.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// `/exec` of the message itself.
    pub message: Option<String>,
    /// The session has a sandbox.
    pub sandboxed: bool,
    /// How the machine's document stands.
    pub document: Known,
    /// The key that decides about `strictInlineEval`.
    pub inline_key: String,
}

/// What decided, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The file and key.
    pub rule: String,
    /// The changes.
    pub fix: String,
}

impl Why {
    /// Security decided: the configuration, the session, or a document that is stricter.
    pub(super) fn security(host: Target, standing: &Standing<'_>) -> Self {
        let way = &standing.effective.security;
        let decided = if way.effective == way.requested.value { &way.requested } else { &way.host };
        let rule = standing.named(&decided.source, "security");
        Self { rule, fix: standing.fix(host) }
    }

    /// Ask decided, where the call's own is not stricter still.
    pub(super) fn ask(host: Target, standing: &Standing<'_>) -> Self {
        let way = &standing.effective.ask;
        let decided = if way.effective == way.requested.value { &way.requested } else { &way.host };
        let rule = if standing.policy.ask == way.effective {
            standing.named(&decided.source, "ask")
        } else {
            "the call's own ask".to_owned()
        };
        Self { rule, fix: standing.fix(host) }
    }

    /// Nobody is asked, and the list does not have it.
    pub(super) fn missed(host: Target, standing: &Standing<'_>, assessed: &Assessed) -> Self {
        Self::security(host, standing).listing(standing, assessed)
    }

    /// A person would be asked, and none can be.
    pub(super) fn unasked(host: Target, standing: &Standing<'_>, assessed: &Assessed) -> Self {
        Self::ask(host, standing).listing(standing, assessed)
    }

    /// With the entry that would cover it in front.
    fn listing(self, standing: &Standing<'_>, assessed: &Assessed) -> Self {
        let ways = missed::ways(assessed, &standing.scene.agent);
        Self { fix: format!("{ways}; or {}", self.fix), ..self }
    }

    /// `strictInlineEval` decided.
    pub(super) fn inline(_host: Target, standing: &Standing<'_>) -> Self {
        let key = standing.scene.inline_key.clone();
        let fix = format!("put the code into a file and run that; or set {key} to false");
        Self { rule: key, fix }
    }

    /// Variables of the call decided, about which no entry says anything.
    pub(super) fn environment(names: &str) -> Self {
        let rule = "built-in: variables of a call to a listed command".to_owned();
        let fix = format!(
            "leave {names} out of the call's env: no entry says anything about that; or have a person asked (ask: on-miss)"
        );
        Self { rule, fix }
    }

    /// A sandbox whose denial somebody wrote.
    pub fn inside(scene: &Scene, source: &Source) -> Self {
        let fix = match source {
            Source::Key(key) if session(key) => scene.unset("security"),
            Source::Key(key) | Source::Derived(key) => {
                format!("remove {key}: commands in a sandbox then run without a question")
            }
            _ => "write tools.exec.mode: \"full\"".to_owned(),
        };
        Self { rule: scene.named(source, "security"), fix }
    }
}

/// Whether a key is a choice of the session.
fn session(key: &str) -> bool {
    key.starts_with("/exec ")
}

impl Scene {
    fn named(&self, source: &Source, what: &str) -> String {
        match source {
            Source::Key(key) if session(key) => {
                format!("{key} of session {}", shown::one_line(&self.session))
            }
            Source::Key(key) | Source::Derived(key) => key.clone(),
            Source::Document { .. } => match self.trouble() {
                Some(trouble) => format!("{source}; {trouble}"),
                None => source.to_string(),
            },
            Source::BuiltIn | Source::Inherited => format!("tools.exec.{what} ({source})"),
        }
    }

    /// Why a document holds that is not what the file says now.
    fn trouble(&self) -> Option<String> {
        let problem = self.document.problem()?;
        let holds = match self.document {
            Known::LastGood(_) => "the last good copy of it holds",
            _ => "nothing runs while no good copy of it is known",
        };
        Some(format!(
            "{holds}, because {} [{}]",
            shown::one_line(&problem.to_string()),
            problem.report().code
        ))
    }

    /// How a choice of the session, or of the message, is taken back.
    fn unset(&self, what: &str) -> String {
        let said = self.message.as_ref().is_some_and(|text| text.to_lowercase().contains(what));
        if said {
            return format!("take {what} out of /exec in the message");
        }
        format!("take it back with `creel session set {} {what}=unset`", shown::one_line(&self.session))
    }
}

impl Standing<'_> {
    fn named(&self, source: &Source, what: &str) -> String {
        self.scene.named(source, what)
    }

    /// The way into the sandbox, and everything that lets the command run on the host.
    fn fix(&self, host: Target) -> String {
        let mut ways = vec![self.home(host)];
        if self.elevated != Level::Off && self.elevated != Level::Full && self.effective.never_asks() {
            ways.push("have an allowed sender say /elevated full".to_owned());
        }
        ways.extend(self.asking());
        let changes = self.changes();
        if !changes.is_empty() {
            let changes = changes.join(", and ");
            ways.push(format!(
                "to let every command of the agent run on this machine without a question, {changes}"
            ));
        }
        ways.retain(|way| !way.is_empty());
        ways.join("; or ")
    }

    /// How the command comes to run in a sandbox.
    fn home(&self, host: Target) -> String {
        if !self.scene.sandboxed {
            return "set agents.defaults.sandbox.mode to \"all\" for a sandbox".to_owned();
        }
        let mut parts = Vec::new();
        if self.elevated != Level::Off {
            parts.push("leave elevated out of the call (or send elevated: false)".to_owned());
        }
        let configured = &self.requested.host;
        if matches!(configured.value, ExecHost::Gateway | ExecHost::Node) {
            parts.push(match &configured.source {
                Source::Key(key) if session(key) => self.scene.unset("host"),
                Source::Key(key) | Source::Derived(key) => format!("set {key} to \"auto\""),
                _ => "set tools.exec.host to \"auto\"".to_owned(),
            });
        } else if host == Target::Node {
            parts.push("leave host out of the call".to_owned());
        }
        if parts.is_empty() {
            String::new()
        } else {
            format!("{}: it then runs in the sandbox", parts.join(", and "))
        }
    }

    /// Where the configuration alone keeps people from being asked: the smaller step, that they are.
    fn asking(&self) -> Option<String> {
        let (security, ask) = (&self.effective.security, &self.effective.ask);
        let open = self.policy.security == Security::Full || self.policy.ask != Ask::Off;
        let written = matches!(security.host.source, Source::Document { .. });
        let document =
            written && security.host.value == Security::Deny || ask.requested.value != ask.effective;
        if open || document || security.requested.value == Security::Full {
            return None;
        }
        let step = |edit: Edit| match edit {
            Edit::Config { key, value } => {
                let word = value?.as_str()?.to_owned();
                Some(format!("set {key} to {word:?} (`creel config set {} {word}`)", quoted(&key)))
            }
            Edit::Session(what) => Some(self.scene.unset(what)),
            _ => None,
        };
        let steps = change::asking(self.effective).into_iter().map(step).collect::<Option<Vec<_>>>()?;
        let asked = "a person is then asked about what is not listed";
        (!steps.is_empty()).then(|| format!("{}: {asked}", steps.join(", and ")))
    }

    /// Every change without which the command does not run on the host.
    fn changes(&self) -> Vec<String> {
        let (security, ask) = (&self.effective.security.requested, &self.effective.ask.requested);
        let mut all = Vec::new();
        if security.value != Security::Full || security.source == Source::BuiltIn {
            all.push(self.opened(&security.source, "security", "full"));
        }
        if ask.value != Ask::Off
            && !(ask.source == security.source && matches!(ask.source, Source::Derived(_)))
        {
            all.push(self.opened(&ask.source, "ask", "off"));
        }
        all.extend(self.in_document());
        if self.policy.ask != self.effective.ask.effective {
            all.push("leave ask out of the call".to_owned());
        }
        all
    }

    fn opened(&self, source: &Source, what: &str, value: &str) -> String {
        match source {
            Source::Key(key) if session(key) => self.scene.unset(what),
            Source::Key(key) => format!("set {key} to \"{value}\""),
            Source::Derived(key) => format!("set {key} to \"full\""),
            _ => match &self.effective.ask.requested.source {
                // A mode beside it would be refused.
                Source::Key(ask) if !session(ask) => {
                    format!("write {}security: \"full\"", ask.strip_suffix("ask").unwrap_or("tools.exec."))
                }
                _ => "write tools.exec.mode: \"full\"".to_owned(),
            },
        }
    }

    /// What the machine's document has to say otherwise.
    fn in_document(&self) -> Option<String> {
        let (security, ask) = (&self.effective.security.host, &self.effective.ask.host);
        let mut file = None;
        let mut keys = Vec::new();
        if let (Source::Document { locator, key }, true) =
            (&security.source, security.value != Security::Full)
        {
            file = Some(locator);
            keys.push(format!("{key} to \"full\""));
        }
        if let (Source::Document { locator, key }, true) = (&ask.source, ask.value != Ask::Off) {
            file = Some(locator);
            keys.push(format!("{key} to \"off\""));
        }
        let set = format!("set {} in {}", keys.join(" and "), file?);
        Some(match &self.scene.document {
            Known::Current | Known::Absent => set,
            Known::LastGood(problem) => {
                let report = problem.report();
                format!("mend {} ({}), then {set}", report.rule.unwrap_or_default(), report.fix)
            }
            Known::Closed(problem) => {
                let report = problem.report();
                format!("mend {} ({})", report.rule.unwrap_or_default(), report.fix)
            }
        })
    }
}
