//! The checks of a call, one after the other, each told as a layer.

use std::path::{Path, PathBuf};

use super::entries;
use super::side::Side;
use crate::approvals::allowlist::Allowlist;
use crate::approvals::assess::{Assessed, Rules, assess};
use crate::approvals::document::Entry;
use crate::approvals::enforce::{Enforced, Unpinnable, enforce};
use crate::approvals::explain::change::{Edit, Parameter, Situation};
use crate::approvals::explain::{
    Always, Analysis, Explained, Layer, PolicyShown, Rule, Run, entry_rule, settle, words,
};
use crate::approvals::policy::{ModePolicy, Reason, Target, judge};
use crate::approvals::programs::HostPrograms;
use crate::approvals::remember::remember;
use crate::approvals::safe_bins::SafeBins;
use crate::approvals::{Command, policy};
use crate::config::exec::{Ask, Security};
use crate::error::{Diagnose as _, Failure, Report};
use crate::paths::hold::HeldSource;
use crate::paths::host_dir;
use crate::policy::{Level, Verdict};
use crate::runner::host_plan::host_call;
use crate::session::SessionKey;
use crate::tools::Context;
use crate::tools::exec::decide::{Decided, decide};
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
    /// The document's text, where it is the document that holds.
    pub(super) document: Option<&'a str>,
}

/// What was seen, and what changes are proposed from.
pub(super) struct Seen {
    pub(super) explained: Explained,
    pub(super) session: SessionKey,
    decided: Option<Decided>,
    assessed: Option<Assessed>,
    entries: Vec<(String, Entry)>,
    agent: crate::session::AgentId,
}

impl Seen {
    /// Changes that may give another verdict.
    pub(super) fn proposals(&self, given: &[Parameter]) -> Vec<Edit> {
        let decided = self.decided.as_ref();
        Situation {
            verdict: self.explained.verdict,
            target: self.explained.host,
            given,
            policy: decided.map(|decided| (&decided.effective, decided.policy)),
            assessed: self.assessed.as_ref(),
            entries: &self.entries,
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

    fn checks(&self, seen: &mut Seen) -> Result<Option<(&'static str, Report)>, Failure> {
        let gathered = match Gathered::of(self.files.clone(), self.var, self.context, "exec") {
            Ok(gathered) => gathered,
            // The tool is not there: an answer. Everything else keeps any answer from being given.
            Err(Failure(report)) if matches!(report.code, "CRL-TOOL-013" | "CRL-TOOL-014") => {
                return Ok(Some(("tool", report)));
            }
            Err(failure) => return Err(failure),
        };
        seen.explained.layers.push(Layer::of("tool", Verdict::Allow, "tool", "the session has exec"));
        if let Some(problem) = self.files.document.held.standing.problem() {
            seen.explained.notes.push(problem.to_string());
        }
        let decided = match decide(&gathered.known(self.context), self.params) {
            Ok(decided) => decided,
            Err(error) => return Ok(Some((layer_of(&error), error.report()))),
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
            Target::Gateway => self.beside(seen, &gathered, &decided)?,
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
            pinned: false,
            text: Some(self.params.command.clone()),
            argv: Vec::new(),
            cwd: self.params.workdir().map(str::to_owned),
            path: None,
            env: self.params.env().into_iter().map(|(name, _)| name).collect(),
            bound: Vec::new(),
        });
    }

    /// A command on the gateway's host.
    fn beside(
        &self,
        seen: &mut Seen,
        gathered: &Gathered,
        decided: &Decided,
    ) -> Result<Option<(&'static str, Report)>, Failure> {
        seen.explained.policy = Some(PolicyShown::of(&decided.effective, decided.policy));
        let (cwd, _held) = match self.directory(seen, gathered)? {
            Ok(found) => found,
            Err(report) => return Ok(Some(("directory", report))),
        };
        seen.explained.workdir = Some(cwd.display().to_string());
        if let Err(error) = guards::live_state(&self.params.command, gathered, &cwd) {
            return Ok(Some(("guard", error.report)));
        }
        seen.explained.layers.push(Layer::of(
            "guard",
            Verdict::Allow,
            "guard",
            "no command that exec never runs",
        ));
        let env = match host_call(&self.params.env()) {
            Ok(env) => env,
            Err(error) => return Ok(Some(("environment", error.report()))),
        };
        if self.side.guessed {
            let note = "the login shell did not answer in time: PATH is that of this process";
            seen.explained.notes.push(note.to_owned());
        }
        let judged = self.judged(seen, gathered, decided, &cwd);
        self.plan(seen, decided, &judged, &cwd, &env);
        if judged.verdict != Verdict::Deny
            && judged.decider != Some(Reason::Full)
            && decided.level != Level::Full
            && let Err(error) = guards::preflight(&self.params.command, &cwd, None)
        {
            return Ok(Some(("preflight", error.report)));
        }
        Ok(None)
    }

    /// The directory, opened as for a start. The workspace that creel makes by itself may not be there yet.
    fn directory(
        &self,
        seen: &mut Seen,
        gathered: &Gathered,
    ) -> Result<Result<(PathBuf, Option<HeldSource>), Report>, Failure> {
        let session = gathered.config.agent_workspace(&gathered.subject.agent, &gathered.places)?;
        let process = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let own = session.starts_with(gathered.state.root()) && !session.exists();
        if own && self.params.workdir().is_none() {
            seen.explained.notes.push(format!(
                "the workspace {} is not there yet; the first command makes it",
                session.display()
            ));
            return Ok(Ok((session, None)));
        }
        Ok(match host_dir(self.params.workdir(), Some(&session), &process) {
            Ok(held) => Ok((held.path().to_owned(), Some(held))),
            Err(error) => Err(error.report()),
        })
    }
}

/// What the policy says about a command that was looked at.
struct Judged {
    verdict: Verdict,
    decider: Option<Reason>,
    enforced: Result<Enforced, Unpinnable>,
}

impl Look<'_> {
    /// Compares the text with the lists, and judges it under the policy.
    fn judged(&self, seen: &mut Seen, gathered: &Gathered, decided: &Decided, cwd: &Path) -> Judged {
        let lookup = HostPrograms::new(&self.side.path, gathered.places.home.clone());
        let entries = entries::allowed(gathered.document_of(), &gathered.subject.agent);
        let compile = |keyed: &[(String, Entry)]| {
            let list: Vec<&Entry> = keyed.iter().map(|(_, entry)| entry).collect();
            Allowlist::compile(&list, &lookup)
        };
        let (allow, deny, safe) = (compile(&entries), compile(&[]), SafeBins::default());
        let strict_inline = gathered.exec.strict_inline_eval;
        let rules = Rules { allow: &allow, deny: &deny, safe: &safe, skills: &[], strict_inline };
        let assessed = assess(&self.params.command, cwd, &rules, &lookup);
        let enforced = enforce(&assessed, false);
        let locator = self.files.document.path.display().to_string();
        let rule = |at: usize| {
            let (key, entry) = entries.get(at)?;
            Some(entry_rule(key, entry, &locator, self.document))
        };
        let analysis = Analysis::of(&assessed, &rule);
        let facts = assessed.facts(enforced.is_err());
        let judged = judge(decided.policy, &facts);
        for say in &judged.says {
            let told = self.told(say.reason, decided, &analysis, &assessed);
            seen.explained
                .layers
                .push(Layer::of(words::layer(say.reason), say.verdict, say.reason.code(), told.0).by(told.1));
        }
        seen.explained.analysis = Some(analysis);
        seen.assessed = Some(assessed);
        seen.entries = entries;
        Judged { verdict: judged.verdict, decider: judged.decider().map(|say| say.reason), enforced }
    }

    /// Why a reason holds for this command, and where it is written.
    fn told(
        &self,
        reason: Reason,
        decided: &Decided,
        analysis: &Analysis,
        assessed: &Assessed,
    ) -> (String, Option<Rule>) {
        let config = &self.files.config;
        let (security, ask) = (&decided.effective.security, &decided.effective.ask);
        let of =
            |source: &policy::Source, what: &str| Some(Rule::of_source(source, what, config, self.document));
        let by_security = || {
            let same = security.effective == security.requested.value;
            of(if same { &security.requested.source } else { &security.host.source }, "security")
        };
        let by_ask = || {
            let same = ask.effective == ask.requested.value;
            of(if same { &ask.requested.source } else { &ask.host.source }, "ask")
        };
        match reason {
            Reason::Miss => (format!("{}; {}", missing(analysis), nobody(decided.policy)), by_security()),
            Reason::Listed | Reason::Durable => {
                let commands = analysis.commands();
                let mut rules = commands.iter().filter_map(|command| command.rule.clone());
                let only = rules.next().filter(|_| rules.next().is_none());
                (words::reason(reason), only.or_else(by_security))
            }
            Reason::AskAlways if decided.policy.ask != ask.effective => {
                ("the call asks for a person".to_owned(), Some(Rule::built_in("ask of the call")))
            }
            Reason::AskAlways => (words::reason(reason), by_ask()),
            Reason::InlineEval => {
                let code = assessed.inline.clone().unwrap_or_default();
                let rule = Rule::in_config(config, &decided.scene.inline_key);
                (format!("{}: {code}", words::reason(reason)), Some(rule))
            }
            Reason::Unpinned => (
                words::reason(reason),
                Some(Rule::built_in("built-in: what is listed runs as it was matched")),
            ),
            Reason::Suppresses => {
                (words::reason(reason), Some(Rule::built_in("built-in: security.audit.suppressions")))
            }
            Reason::Full | Reason::SecurityDeny => (words::reason(reason), by_security()),
        }
    }

    /// What would be started.
    fn plan(
        &self,
        seen: &mut Seen,
        decided: &Decided,
        judged: &Judged,
        cwd: &Path,
        env: &[(String, String)],
    ) {
        let Some(assessed) = &seen.assessed else { return };
        let listed = decided.policy.security == Security::Allowlist;
        if judged.verdict == Verdict::Deny {
            return;
        }
        // What a person has seen keeps its patterns; what is listed has none.
        let seen_by_person = enforce(assessed, true);
        let enforced = match judged.verdict {
            Verdict::Allow => judged.enforced.as_ref().ok(),
            _ => seen_by_person.as_ref().ok(),
        };
        let enforced = enforced.filter(|_| listed || judged.verdict == Verdict::Ask);
        let text = Command::Shell(self.params.command.clone());
        let command = enforced.map_or(&text, |enforced| &enforced.command);
        let cwd = cwd.display().to_string();
        let planned = self.side.plan(command, &cwd, env);
        let bound = enforced.into_iter().flat_map(|enforced| &enforced.programs);
        let scripts = assessed.parts.iter().filter_map(|part| part.script.as_ref());
        let mut bound: Vec<String> = bound
            .map(|program| &program.real)
            .chain(scripts)
            .map(|path| path.display().to_string())
            .collect();
        bound.dedup();
        let env: Vec<String> = match &planned {
            Some(planned) => planned.env.iter().map(|(name, _)| name.clone()).collect(),
            None => env.iter().map(|(name, _)| name.clone()).collect(),
        };
        let argv = match (&planned, command) {
            (Some(planned), _) => planned.argv.clone(),
            (None, Command::Argv(argv)) => argv.clone(),
            (None, Command::Shell(_)) => Vec::new(),
        };
        let (how, text) = match command {
            Command::Argv(_) => ("argv", None),
            Command::Shell(text) => ("text", Some(text.clone())),
        };
        let bound = if enforced.is_some() { bound } else { Vec::new() };
        if judged.verdict == Verdict::Ask || decided.policy.ask != Ask::Off {
            seen.explained.always = Some(Always::of(&remember(assessed)));
        }
        seen.explained.run = Some(Run {
            how,
            pinned: enforced.is_some(),
            text,
            argv,
            cwd: Some(cwd),
            path: Some(self.side.path.clone()),
            env,
            bound,
        });
    }
}

/// The first thing that keeps a text from being covered.
fn missing(analysis: &Analysis) -> String {
    if let Some(obstacle) = &analysis.obstacle {
        return format!("it cannot be analysed: {}", obstacle.what);
    }
    let commands = analysis.commands();
    let open = commands
        .iter()
        .find(|command| matches!(command.by, "no-entry" | "not-found" | "unclear" | "untrusted"));
    open.map_or_else(
        || "it is not covered".to_owned(),
        |command| {
            let words = crate::shown::one_line(&command.argv.join(" "));
            format!("{:?}: {}", crate::process::shorten::middle(&words, 80), command.why)
        },
    )
}

/// What a miss comes to.
const fn nobody(policy: ModePolicy) -> &'static str {
    match policy.ask {
        Ask::Off => "nobody is asked",
        Ask::OnMiss | Ask::Always => "a person decides",
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
