//! Everything that a call's decision needs, read from files: configuration, choices of the session, the machine's
//! approvals document. What cannot be read decides nothing, and the call fails.

use super::decide::Known;
use super::error::ExecError;
use crate::approvals::store::{self, Local};
use crate::client::SandboxOptions;
use crate::config::exec::ExecEnv;
use crate::config::{Config, Places, ResolvedExec, ResolvedSandbox, Subject};
use crate::error::{Diagnose as _, Failure, Report};
use crate::policy::{Caller, Level, Policy, Sender, Subagent, Tool};
use crate::session::{Change, Overrides, Stamp, chosen};
use crate::state::StateDir;
use crate::tools::Context;

/// What was read.
#[derive(Debug)]
pub(super) struct Gathered {
    /// The state directory.
    pub(super) state: StateDir,
    /// The configuration.
    pub(super) config: Config,
    /// What its paths are relative to.
    pub(super) places: Places,
    /// Agent and session.
    pub(super) subject: Subject,
    /// `tools.exec` of the agent, with what the environment adds.
    pub(super) exec: ResolvedExec,
    /// Settings that only the environment has.
    pub(super) env: ExecEnv,
    /// The sandbox's settings.
    pub(super) sandbox: ResolvedSandbox,
    /// The session has one.
    pub(super) sandboxed: bool,
    /// The run has the `process` tool.
    pub(super) process: bool,
    chosen: Overrides,
    inline: Option<Level>,
    pub(super) document: Local,
    sender: Option<Sender>,
}

/// The files that decide.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// The state directory.
    pub(super) state: StateDir,
    /// The configuration.
    pub(super) config: Config,
    /// What its paths are relative to.
    pub(super) places: Places,
    /// The machine's approvals document.
    pub(super) document: Local,
}

impl Files {
    /// Reads them.
    pub(super) fn read(base: &SandboxOptions) -> Result<Self, Failure> {
        let (state, config, places) = base.configuration()?;
        let document = store::read(&state);
        Ok(Self { state, config, places, document })
    }
}

impl Gathered {
    /// Reads what a call of `tool` needs.
    pub(super) fn read(
        base: &SandboxOptions,
        context: &Context,
        tool: &'static str,
    ) -> Result<Self, Failure> {
        Self::of(Files::read(base)?, &|name| base.variable(name), context, tool)
    }

    /// The same of files that were read. `var`: the gateway's environment.
    pub(super) fn of(
        files: Files,
        var: &dyn Fn(&str) -> Option<String>,
        context: &Context,
        tool: &'static str,
    ) -> Result<Self, Failure> {
        let Files { state, config, places, document } = files;
        let stamp =
            Stamp::new(context.sandbox_required, context.creator.as_deref(), context.sandbox_opted_out);
        let subject = config.subject(context.agent.as_deref(), context.session.as_deref())?.stamped(stamp);
        let sandbox = config.sandbox_of(&subject, &places)?;
        let sandboxed = sandbox.mode.decide(subject.is_main, &subject.stamp);
        let env = ExecEnv::read(var);
        let exec = config.exec_in(&subject.agent, &env);
        let sender = sender(context);
        let tools = policy(&config, &subject, sandboxed, sender.as_ref(), context);
        callable(&tools, context, tool)?;
        let chosen = chosen::of(&state, &subject.session)?.changed(&in_message(context)?);
        for problem in document.problems() {
            tracing::warn!(target: "approvals", %problem, "the approvals document is not current");
        }
        Ok(Self {
            process: has(&tools, context, "process"),
            inline: level(context)?,
            state,
            config,
            places,
            subject,
            exec,
            env,
            sandbox,
            sandboxed,
            chosen,
            document,
            sender,
        })
    }

    /// As the decision takes it.
    pub(super) fn known<'a>(&'a self, context: &'a Context) -> Known<'a> {
        Known {
            config: &self.config,
            subject: &self.subject,
            chosen: &self.chosen,
            inline: self.inline,
            sandboxed: self.sandboxed,
            local: &self.document,
            sender: self.sender.as_ref(),
            context,
        }
    }
}

/// The sender as lists compare one.
fn sender(context: &Context) -> Option<Sender> {
    let sender = context.sender.as_ref()?;
    Some(Sender {
        channel: context.channel.clone(),
        id: sender.id.clone(),
        direct_from: sender.from.clone(),
        e164: sender.e164.clone(),
        username: sender.username.clone(),
        name: sender.name.clone(),
        tag: sender.tag.clone(),
    })
}

fn policy(
    config: &Config,
    subject: &Subject,
    sandboxed: bool,
    sender: Option<&Sender>,
    context: &Context,
) -> Policy {
    let subagent = context.subagent.then_some(Subagent::Leaf);
    config.tool_policy(&subject.agent, &Caller { sandboxed, subagent, sender, ..Caller::default() })
}

/// Whether the run has a tool: its own list and the policy must both leave it.
fn has(policy: &Policy, context: &Context, tool: &str) -> bool {
    without(context, tool).is_none() && policy.judge(&Tool::new(tool)).removal.is_none()
}

/// The run's own word against a tool, in any spelling of its name.
fn without<'c>(context: &'c Context, tool: &str) -> Option<&'c str> {
    let tool = Tool::new(tool);
    context.without.iter().map(String::as_str).find(|name| Tool::new(name).name() == tool.name())
}

/// The hard stop in front of everything: neither `/exec` nor elevated brings a denied tool back.
fn callable(policy: &Policy, context: &Context, tool: &'static str) -> Result<(), Failure> {
    if without(context, tool).is_some() {
        return Err(ExecError::Without(tool).into());
    }
    match policy.judge(&Tool::new(tool)).removal {
        Some(removal) => Err(ExecError::NoTool(tool, Box::new(removal)).into()),
        None => Ok(()),
    }
}

/// What the message itself sets, where its sender may command.
fn in_message(context: &Context) -> Result<Change, Failure> {
    let commands = match &context.sender {
        Some(sender) => sender.authorized || sender.owner,
        // Nobody's message, so the caller's own words; a run that no person began has none.
        None => context.channel.is_none() && !context.cron && !context.subagent,
    };
    let Some(text) = context.exec.as_deref().filter(|_| commands) else { return Ok(Change::default()) };
    Ok(Change::parse(text.split_whitespace())?.in_passing())
}

fn level(context: &Context) -> Result<Option<Level>, Failure> {
    let Some(word) = context.elevated.as_deref() else { return Ok(None) };
    let unknown = || {
        ExecError::Inline(Report {
            code: "CRL-TOOL-019",
            message: format!("{:?} is no level of elevated", crate::shown::one_line(word)),
            rule: Some("context.elevated".to_owned()),
            fix: "send off, on, ask or full".to_owned(),
        })
    };
    Level::parse(word).map(Some).ok_or_else(|| Failure(unknown().report()))
}
