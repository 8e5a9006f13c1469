//! The checks of a call, one after the other, each told as a layer.

use super::entries::Named;
use super::host::Beside;
use super::side::Side;
use crate::approvals::assess::Assessed;
use crate::approvals::document::Entry;
use crate::approvals::explain::change::{Edit, Parameter, Situation};
use crate::approvals::explain::{Explained, Layer, PolicyShown, Rule, Run, settle};
use crate::approvals::policy::Target;
use crate::config::index::Index;
use crate::error::{Diagnose as _, Failure, Report};
use crate::policy::{Level, Verdict};
use crate::session::{AgentId, SessionKey};
use crate::tools::Context;
use crate::tools::exec::decide::{Decided, decide, weigh};
use crate::tools::exec::error::ExecError;
use crate::tools::exec::gather::{Files, Gathered};
use crate::tools::exec::guards;
use crate::tools::exec::params::Params;

/// What is looked at.
pub(super) struct Look<'a> {
    pub(super) files: &'a Files,
    pub(super) context: &'a Context,
    pub(super) params: &'a Params,
    pub(super) side: &'a Side,
    pub(super) var: &'a dyn Fn(&str) -> Option<String>,
    /// Where keys of the document stand, where it is the document that holds.
    pub(super) document: Option<&'a Index>,
    /// The document is not this machine's, and so this machine's grants are none of it.
    pub(super) elsewhere: bool,
    /// What holds for nobody is told too.
    pub(super) thorough: bool,
}

/// A layer that refuses, and how.
pub(super) type Refusal = (&'static str, Report);

/// What was seen, and what changes are proposed from.
pub(super) struct Seen {
    pub(super) explained: Explained,
    pub(super) session: SessionKey,
    /// Where it was to go and under which policy, where that was decided.
    pub(super) decided: Option<Decided>,
    /// What is known of the text, where it was looked at.
    pub(super) assessed: Option<Assessed>,
    /// The list that it was compared with.
    pub(super) entries: Vec<Named>,
    agent: AgentId,
}

impl Seen {
    /// Changes that may give another verdict.
    pub(super) fn proposals(&self, given: &[Parameter]) -> Vec<Edit> {
        let decided = self.decided.as_ref();
        let keyed = |one: &Named| (one.key.clone(), one.entry.clone());
        let entries: Vec<(String, Entry)> = self.entries.iter().map(keyed).collect();
        Situation {
            verdict: self.explained.verdict,
            target: self.explained.host,
            given,
            policy: decided.map(|decided| (&decided.effective, decided.policy)),
            assessed: self.assessed.as_ref(),
            entries: &entries,
            agent: &self.agent,
            inline_key: decided.map_or("tools.exec.strictInlineEval", |decided| &decided.scene.inline_key),
        }
        .proposals()
    }
}

impl Look<'_> {
    /// Goes through the checks. The first refusal is the last layer.
    pub(super) fn run(self) -> Result<Seen, Failure> {
        let subject =
            self.files.config.subject(self.context.agent.as_deref(), self.context.session.as_deref())?;
        let mut seen = Seen {
            explained: Explained {
                verdict: Verdict::Deny,
                code: String::new(),
                agent_id: subject.agent.to_string(),
                session_key: subject.session.as_str().to_owned(),
                command: self.params.command.clone(),
                host: None,
                workdir: None,
                policy: None,
                layers: Vec::new(),
                analysis: None,
                run: None,
                always: None,
                changes: Vec::new(),
                asks: None,
                report: None,
                notes: Vec::new(),
            },
            session: subject.session,
            decided: None,
            assessed: None,
            entries: Vec::new(),
            agent: subject.agent,
        };
        if let Some((layer, report)) = self.checks(&mut seen)? {
            let rule = self.rule_of(&report);
            seen.explained.layers.push(Layer::refusal(layer, &report, rule));
            seen.explained.report = Some(report);
        }
        let explained = &mut seen.explained;
        explained.verdict = settle(&mut explained.layers);
        explained.code = explained.decider().map(|layer| layer.code.clone()).unwrap_or_default();
        Ok(seen)
    }

    /// The key that a refusal names, with its place.
    fn rule_of(&self, report: &Report) -> Option<Rule> {
        let key = report.rule.as_deref()?;
        Some(Rule::in_config(&self.files.config, key))
    }

    fn checks(&self, seen: &mut Seen) -> Result<Option<Refusal>, Failure> {
        let gathered = match Gathered::of(self.files.clone(), self.var, self.context, "exec") {
            Ok(gathered) => gathered,
            // The tool is not there: an answer. Everything else keeps any answer from being given.
            Err(Failure(report)) if matches!(report.code, "CRL-TOOL-013" | "CRL-TOOL-014") => {
                return Ok(Some(("tool", report)));
            }
            Err(failure) => return Err(failure),
        };
        seen.explained.layers.push(Layer::of("tool", Verdict::Allow, "tool", "the session has exec"));
        let decided = match decide(&gathered.known(self.context), self.params) {
            Ok(decided) => decided,
            Err(error) => {
                seen.decided =
                    weigh(&gathered.known(self.context), self.params).ok().map(|(decided, _)| decided);
                if let Some(decided) =
                    seen.decided.as_ref().filter(|decided| decided.target == Target::Gateway)
                {
                    seen.explained.host = Some(decided.target);
                    seen.explained.policy = Some(PolicyShown::of(&decided.effective, decided.policy));
                }
                return Ok(Some((layer_of(&error), error.report())));
            }
        };
        self.routed(seen, &gathered, &decided);
        if let Err(error) = guards::control(&self.params.command) {
            return Ok(Some(("guard", error.report)));
        }
        let done = match decided.target {
            Target::Sandbox => {
                self.inside(seen);
                None
            }
            Target::Gateway => Beside { look: self, gathered: &gathered, decided: &decided }.run(seen)?,
            Target::Node => Some(("route", ExecError::NoNode(decided.node.clone()).report())),
        };
        seen.decided = Some(decided);
        Ok(done)
    }

    /// Where it goes, and whether elevated had a say.
    fn routed(&self, seen: &mut Seen, gathered: &Gathered, decided: &Decided) {
        let explained = &mut seen.explained;
        explained.host = Some(decided.target);
        let config = &self.files.config;
        explained.layers.push(match decided.level {
            Level::Off => Layer::silent("elevated", "off", "not asked for"),
            level => {
                let word = serde_json::to_value(level).ok().and_then(|word| word.as_str().map(str::to_owned));
                let why = format!("every gate is open; level {}", word.unwrap_or_default());
                Layer::of("elevated", Verdict::Allow, "elevated", why)
            }
        });
        let source = &decided.requested.host.source;
        let rule = Rule::of_source(source, "host", config, None);
        let sandbox =
            if gathered.sandboxed { "the session has a sandbox" } else { "the session has no sandbox" };
        let target = word(decided.target);
        explained.layers.push(
            Layer::of("route", Verdict::Allow, target, format!("host {target}; {sandbox}")).by(Some(rule)),
        );
    }

    /// Commands in a sandbox need no approval.
    fn inside(&self, seen: &mut Seen) {
        let explained = &mut seen.explained;
        explained.layers.push(Layer::of(
            "policy",
            Verdict::Allow,
            "sandbox",
            "commands in a sandbox need no approval: the container is the boundary",
        ));
        explained.run = Some(Run {
            how: "text",
            exact: false,
            text: Some(self.params.command.clone()),
            argv: Vec::new(),
            cwd: self.params.workdir().map(str::to_owned),
            path: None,
            env: self.params.env().into_iter().map(|(name, _)| name).collect(),
            binds: None,
        });
    }
}

fn layer_of(error: &ExecError) -> &'static str {
    match error {
        ExecError::Elevated(_) => "elevated",
        ExecError::Route { .. } | ExecError::NoNode(_) | ExecError::HostValue(_) => "route",
        ExecError::Host(_) | ExecError::CannotWait(_) => "policy",
        _ => "call",
    }
}

const fn word(target: Target) -> &'static str {
    match target {
        Target::Sandbox => "sandbox",
        Target::Gateway => "gateway",
        Target::Node => "node",
    }
}
