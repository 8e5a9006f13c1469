//! A command beside the gateway: directory, environment, lists, decision, what would be bound and started. The decision is
//! that of [`crate::approvals::host`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entries::{self, Named};
use super::look::{Look, Refusal, Seen};
use super::notes;
use crate::approvals::Ground;
use crate::approvals::binding::{BindError, Binding};
use crate::approvals::desk::Grant;
use crate::approvals::explain::{Always, Analysis, Asks, Layer, PolicyShown, Rule, Run, words};
use crate::approvals::host::{self, Launch, Next};
use crate::approvals::policy::{self, ModePolicy, Reason, Target, judge};
use crate::approvals::programs::HostPrograms;
use crate::approvals::remember::Remembered;
use crate::approvals::{Command, desk};
use crate::config::exec::{Ask, Security};
use crate::error::{Diagnose as _, Failure, Report};
use crate::paths::hold::HeldSource;
use crate::paths::host_dir;
use crate::policy::Verdict;
use crate::runner::host_plan::host_call;
use crate::tools::exec::decide::Decided;
use crate::tools::exec::gather::Gathered;
use crate::tools::exec::guards;
use crate::tools::exec::lists::Lists;
use crate::tools::exec::look as seen_by_exec;

/// A command beside the gateway.
pub(super) struct Beside<'l, 'a> {
    pub(super) look: &'l Look<'a>,
    pub(super) gathered: &'l Gathered,
    pub(super) decided: &'l Decided,
}

/// What of it is fixed before anything is decided.
struct Fixed {
    cwd: PathBuf,
    /// The directory, held; none where creel makes it with the first command.
    held: Option<HeldSource>,
    env: Vec<(String, String)>,
}

impl Beside<'_, '_> {
    /// Goes through the checks of a host.
    pub(super) fn run(&self, seen: &mut Seen) -> Result<Option<Refusal>, Failure> {
        let fixed = match self.fix(seen)? {
            Ok(fixed) => fixed,
            Err(refusal) => return Ok(Some(refusal)),
        };
        let lookup = HostPrograms::new(&self.look.side.path, self.gathered.places.home.clone());
        let grants = self.grants()?;
        let lists = Arc::new(Lists::compile(self.gathered, &grants, &lookup));
        let command = &self.look.params.command;
        let unusable = if self.look.thorough { lists.allow.problems() } else { Vec::new() };
        let look = seen_by_exec::Look::at(command, &fixed.cwd, self.decided.strict_inline, lists, lookup)
            .called_with(&fixed.env);
        let (local, agent) = (&self.gathered.document, &self.gathered.subject.agent);
        seen.entries = entries::allowed(local, agent, &grants);
        if self.look.thorough {
            let unusable: Vec<(usize, String)> =
                unusable.into_iter().map(|(at, why)| (at, why.to_string())).collect();
            let notes = notes::of(local, &self.look.files.config, &seen.entries, &unusable);
            seen.explained.notes.extend(notes);
        }
        let entries = &seen.entries;
        let rule = |at: usize| entries.get(at).map(|named: &Named| named.rule(local, self.look.document));
        let analysis = Analysis::of(&look.assessed, &rule);
        let standing = self.decided.standing();
        let next = host::ahead(Target::Gateway, &standing)
            .unwrap_or_else(|| host::decide(Target::Gateway, &standing, &look.looked()));
        self.layers(seen, &look, &analysis, &next);
        seen.explained.analysis = Some(analysis);
        let refusal = self.end(seen, &fixed, &look, &next);
        seen.assessed = Some(look.assessed);
        Ok(refusal)
    }

    /// Directory and environment.
    fn fix(&self, seen: &mut Seen) -> Result<Result<Fixed, Refusal>, Failure> {
        seen.explained.policy = Some(PolicyShown::of(&self.decided.effective, self.decided.policy));
        let (cwd, held) = match self.directory(seen)? {
            Ok(found) => found,
            Err(report) => return Ok(Err(("directory", report))),
        };
        seen.explained.workdir = Some(cwd.display().to_string());
        if let Err(error) = guards::live_state(&self.look.params.command, self.gathered, &cwd) {
            return Ok(Err(("guard", error.report)));
        }
        seen.explained.layers.push(Layer::of(
            "guard",
            Verdict::Allow,
            "guard",
            "none of the commands that exec never runs",
        ));
        let env = match host_call(&self.look.params.env()) {
            Ok(env) => env,
            Err(error) => return Ok(Err(("environment", error.report()))),
        };
        if self.look.side.guessed {
            let note = "the login shell did not answer in time: PATH is that of this process";
            seen.explained.notes.push(note.to_owned());
        }
        Ok(Ok(Fixed { cwd, held, env }))
    }

    /// The directory, opened as for a start. The workspace that creel makes by itself may not be there yet.
    fn directory(&self, seen: &mut Seen) -> Result<Result<(PathBuf, Option<HeldSource>), Report>, Failure> {
        let gathered = self.gathered;
        let session = gathered.config.agent_workspace(&gathered.subject.agent, &gathered.places)?;
        let process = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let asked = self.look.params.workdir();
        if session.starts_with(gathered.state.root()) && !session.exists() {
            let note =
                format!("the workspace {} is not there yet; the first command makes it", session.display());
            seen.explained.notes.push(note);
            if asked.is_none() {
                return Ok(absent(&session, &process));
            }
        }
        Ok(match host_dir(asked, Some(&session), &process) {
            Ok(held) => Ok((held.path().to_owned(), Some(held))),
            Err(error) => Err(error.report()),
        })
    }

    /// Grants of the agent that hold.
    fn grants(&self) -> Result<Vec<Grant>, Failure> {
        if self.look.elsewhere {
            return Ok(Vec::new());
        }
        Ok(desk::standing(&self.gathered.state, self.gathered.subject.agent.as_str())?)
    }

    /// What every rule says.
    fn layers(&self, seen: &mut Seen, look: &seen_by_exec::Look, analysis: &Analysis, next: &Next) {
        let layers = &mut seen.explained.layers;
        if self.decided.denies {
            layers.push(match &look.assessed.denied {
                Some(by) => {
                    let local = &self.gathered.document;
                    let all = entries::denied(local, &self.gathered.subject.agent);
                    let named = by.entry.and_then(|entry| all.get(entry));
                    let rule = named.map(|named| named.rule(local, self.look.document));
                    let command = crate::process::shorten::middle(&crate::shown::one_line(&by.command), 80);
                    let why = match by.entry {
                        Some(_) => format!("{command:?} is denied"),
                        None => "it exceeds the limits of the analysis, and entries deny".to_owned(),
                    };
                    Layer::of("denylist", Verdict::Deny, "denylist", why).by(rule)
                }
                None => Layer::of("denylist", Verdict::Allow, "denylist", "no entry denies it"),
            });
        }
        if matches!(next, Next::Run(cleared) if *cleared.ground() == Ground::ElevatedFull) {
            let why = "elevated full, and neither the configuration nor the document would ask";
            layers.push(Layer::of("policy", Verdict::Allow, "elevated-full", why));
            return;
        }
        let looked = look.looked();
        let judged = judge(self.decided.policy, &look.assessed.facts(looked.enforced.is_err()));
        for say in judged.says {
            let (mut why, rule) = self.told(say.reason, analysis, look);
            if let (Reason::Unpinned, Err(unpinned)) = (say.reason, looked.enforced) {
                why = format!("{why}: {}", words::unpinned(unpinned));
            }
            layers.push(Layer::of(words::layer(say.reason), say.verdict, say.reason.code(), why).by(rule));
        }
    }

    /// Why a reason holds for this command, and where it is written.
    fn told(&self, reason: Reason, analysis: &Analysis, look: &seen_by_exec::Look) -> (String, Option<Rule>) {
        let (decided, config) = (self.decided, &self.look.files.config);
        let (security, ask) = (&decided.effective.security, &decided.effective.ask);
        let of = |source: &policy::Source, what: &str| {
            Some(Rule::of_source(source, what, config, self.look.document))
        };
        let by_security = || {
            let same = security.effective == security.requested.value;
            of(if same { &security.requested.source } else { &security.host.source }, "security")
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
            Reason::AskAlways => {
                let same = ask.effective == ask.requested.value;
                (
                    words::reason(reason),
                    of(if same { &ask.requested.source } else { &ask.host.source }, "ask"),
                )
            }
            Reason::InlineEval => {
                let code = look.assessed.inline.clone().unwrap_or_default();
                let rule = Rule::in_config(config, &decided.scene.inline_key);
                (format!("{}: {code}", words::reason(reason)), Some(rule))
            }
            Reason::Unpinned => {
                let rule = "built-in: what is listed runs as it was matched";
                (words::reason(reason), Some(Rule::built_in(rule)))
            }
            Reason::Suppresses => {
                let rule = "built-in: a change of security.audit.suppressions needs a person";
                (words::reason(reason), Some(Rule::built_in(rule)))
            }
            Reason::Environment => {
                let names = look.assessed.sets.join(", ");
                let rule = Rule::built_in("built-in: variables of a call to a listed command");
                (format!("{}: {names}", words::reason(reason)), Some(rule))
            }
            Reason::Unseen => (
                words::reason(reason),
                Some(Rule::built_in("built-in: what is on the deny list never runs unseen")),
            ),
            Reason::Full | Reason::SecurityDeny => (words::reason(reason), by_security()),
        }
    }

    /// What follows: bound and started, asked about, or refused.
    fn end(&self, seen: &mut Seen, fixed: &Fixed, look: &seen_by_exec::Look, next: &Next) -> Option<Refusal> {
        let bound = match next {
            Next::Deny(denied) => {
                let report = denied.report();
                // Told once: by the layer that has decided, where one has.
                let told = seen.explained.layers.iter().any(|layer| layer.verdict == Some(Verdict::Deny));
                if !told {
                    return Some(("plan", report));
                }
                seen.explained.report = Some(report);
                return None;
            }
            Next::Run(cleared) if cleared.launch() == Launch::AsWritten => None,
            Next::Run(_) => fixed.held.as_ref().and_then(|held| look.pin(held, &fixed.env)),
            Next::Ask(_) => fixed.held.as_ref().map(|held| look.bind(held, &fixed.env)),
        };
        let binding = match bound.transpose() {
            Ok(binding) => binding,
            Err(error) => return Some(("binding", unbound(&error))),
        };
        let open = (self.decided.policy.security, self.decided.policy.ask) == (Security::Full, Ask::Off);
        if !open && let Err(error) = guards::preflight(&self.look.params.command, &fixed.cwd, None) {
            return Some(("preflight", error.report));
        }
        if let Next::Ask(asking) = next {
            asked(seen, look, asking, binding.as_ref());
        }
        self.started(seen, fixed, binding.as_ref(), next);
        None
    }

    /// What would be started.
    fn started(&self, seen: &mut Seen, fixed: &Fixed, binding: Option<&Binding>, next: &Next) {
        let text = Command::Shell(self.look.params.command.clone());
        let command = binding.map_or(&text, Binding::command);
        let cwd = fixed.cwd.display().to_string();
        let planned = self.look.side.plan(command, &cwd, &fixed.env);
        let (how, text) = match command {
            Command::Argv(_) => ("argv", None),
            Command::Shell(text) => ("text", Some(text.clone())),
        };
        let (argv, env): (Vec<String>, Vec<String>) = match (planned, command) {
            (Some(planned), _) => (planned.argv, planned.env.into_iter().map(|(name, _)| name).collect()),
            (None, command) => {
                let argv = if let Command::Argv(argv) = command { argv.clone() } else { Vec::new() };
                (argv, fixed.env.iter().map(|(name, _)| name.clone()).collect())
            }
        };
        let exact = !matches!(next, Next::Run(cleared) if cleared.launch() == Launch::AsWritten);
        seen.explained.run = Some(Run {
            how,
            exact,
            text,
            argv,
            cwd: Some(cwd),
            path: Some(self.look.side.path.clone()),
            env,
            binds: binding.map(Binding::describe),
        });
    }
}

/// A directory that the first command makes: what is looked at is held by the nearest one that is there, so that everything
/// is decided as it will be in the empty one.
fn absent(dir: &Path, process: &Path) -> Result<(PathBuf, Option<HeldSource>), Report> {
    let there = dir.ancestors().find(|one| one.is_dir()).unwrap_or(dir);
    let held = host_dir(None, Some(there), process).map_err(|error| error.report())?;
    let rest = dir.strip_prefix(there).unwrap_or(Path::new(""));
    Ok((held.path().join(rest), Some(held)))
}

fn unbound(error: &BindError) -> Report {
    let report = error.report();
    let rule = report.rule.or_else(|| Some("built-in: what is approved is what runs".to_owned()));
    Report { rule, ..report }
}

/// The question, and what "always" would write.
fn asked(seen: &mut Seen, look: &seen_by_exec::Look, asking: &host::Asking, binding: Option<&Binding>) {
    let mut always = Always::of(&look.remembered);
    let mut offered = asking.offered().to_vec();
    if let (Remembered::Entries(entries), Some(binding)) = (&look.remembered, binding) {
        if let Some(sealed) = binding.seal(entries) {
            always = Always::of(&Remembered::Entries(sealed));
        } else {
            offered.retain(|one| *one != policy::Decision::AllowAlways);
            let why = "something that it runs can be changed by whoever runs commands here";
            always = Always { entries: Vec::new(), one_shot: vec![why] };
        }
    }
    seen.explained.always = Some(always);
    seen.explained.asks = Some(Asks {
        reason: asking.reason().code(),
        offered,
        warnings: asking.warnings().to_vec(),
        reviewer: match asking.review() {
            host::Review::Off => None,
            host::Review::Eligible => Some(host::FIRST.to_owned()),
            host::Review::Skipped(why) => Some((*why).to_owned()),
        },
    });
}

/// The first thing that keeps a text from being covered.
fn missing(analysis: &Analysis) -> String {
    if let Some(obstacle) = &analysis.obstacle {
        return format!("it cannot be analysed: {}", obstacle.what);
    }
    let commands = analysis.commands();
    let open = commands.iter().find(|command| !command.covered());
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
