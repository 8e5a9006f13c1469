//! Where a call runs and under which policy: the checks of spec `exec.md` §1.3 up to the command itself, in their order.
//! Pure: everything that it needs was gathered before.

use super::error::{Closed, ExecError};
use super::params::Params;
use crate::approvals::denied::{Scene, Why};
use crate::approvals::host::{self, HostDenied, Standing};
use crate::approvals::policy::{
    Call, Effective, Layers, ModePolicy, Origin, Requested, RouteError, Routing, Target, effective,
};
use crate::approvals::store::Local;
use crate::config::exec::ExecHost;
use crate::config::{Config, Subject};
use crate::policy::elevated::{Levels, Requester, failing};
use crate::policy::{Gate, Level, Sender};
use crate::session::Overrides;
use crate::tools::Context;

/// What is known of whoever calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The configuration.
    pub(super) config: &'a Config,
    /// Agent and session.
    pub(super) subject: &'a Subject,
    /// What the session has chosen, with what the message adds.
    pub(super) chosen: &'a Overrides,
    /// The level of elevated in the message.
    pub(super) inline: Option<Level>,
    /// The session has a sandbox.
    pub(super) sandboxed: bool,
    /// The machine's approvals documents.
    pub(super) local: &'a Local,
    /// The sender.
    pub(super) sender: Option<&'a Sender>,
    /// The surroundings of the call.
    pub(super) context: &'a Context,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// Where it runs.
    pub(super) target: Target,
    /// How far elevated goes; `Off` where it is not.
    pub(super) level: Level,
    /// What was asked for.
    pub(super) requested: Requested,
    /// What holds.
    pub(super) effective: Effective,
    /// What holds for this call.
    pub(super) policy: ModePolicy,
    /// The node that is meant.
    pub(super) node: Option<String>,
    /// Code in an argument needs a person.
    pub(super) strict_inline: bool,
    /// The document has entries that deny.
    pub(super) denies: bool,
    /// What a refusal needs to be told.
    pub(super) scene: Scene,
}

impl Decided {
    /// As a host's decision takes it.
    pub(super) fn standing(&self) -> Standing<'_> {
        Standing {
            requested: &self.requested,
            effective: &self.effective,
            policy: self.policy,
            elevated: self.level,
            strict_inline: self.strict_inline,
            denies: self.denies,
            scene: &self.scene,
        }
    }
}

/// Steps 2 to 7 of §1.3.
pub(super) fn decide(known: &Known<'_>, params: &Params) -> Result<Decided, ExecError> {
    let (decided, missing) = weigh(known, params)?;
    denied(&decided)?;
    if let Some(error) = missing {
        return Err(ExecError::Route { error, requested: params.host()?, sandbox: false });
    }
    if params.command.trim().is_empty() {
        return Err(ExecError::NoCommand);
    }
    Ok(decided)
}

/// Where it goes and what holds there, before that refuses anything; and what is missing there.
pub(super) fn weigh(known: &Known<'_>, params: &Params) -> Result<(Decided, Option<RouteError>), ExecError> {
    let level = elevated(known, params.elevated)?;
    let named = params.host()?;
    let layer = known.chosen.layer();
    let (global, agent) = known.config.exec_layers(&known.subject.agent);
    let layers = Layers { global: Some(global), agent, permission: None, session: Some(&layer) };
    let routing = Routing {
        configured: Requested::of(&layers, false).host.value,
        sandbox: known.sandboxed,
        required: known.subject.stamp.is_required(),
        elevated: level != Level::Off,
    };
    let named = if pinned(known.context, routing.configured) { None } else { named };
    let (target, missing) = match routing.call(named) {
        Ok(target) => (target, None),
        Err(error @ RouteError::NoSandbox) => (Target::Sandbox, Some(error)),
        Err(error) => return Err(ExecError::Route { error, requested: named, sandbox: routing.sandbox }),
    };
    Ok((hold(known, params, &layers, target, level, routing.configured), missing))
}

/// A scheduled run that an operator sent to a host stays there: its call names none (§2.1).
fn pinned(context: &Context, configured: ExecHost) -> bool {
    context.cron && matches!(configured, ExecHost::Gateway | ExecHost::Node)
}

/// The policy at the target.
fn hold(
    known: &Known<'_>,
    params: &Params,
    layers: &Layers<'_>,
    target: Target,
    level: Level,
    configured: ExecHost,
) -> Decided {
    let sandboxed = target == Target::Sandbox;
    let requested = Requested::of(layers, sandboxed);
    let hosts = known.local.hosts(Some(&known.subject.agent));
    let effective = effective(&requested, if sandboxed { &[] } else { &hosts });
    let origin = if known.context.channel.is_some() { Origin::Channel } else { Origin::Local };
    let ask = params.ask().filter(|_| !pinned(known.context, configured));
    let policy = Call { security: None, ask, origin }.tighten(effective.policy());
    let exec = known.config.exec(&known.subject.agent);
    let node = params.node.clone().map(|node| node.trim().to_owned()).filter(|node| !node.is_empty());
    let node = node.or_else(|| known.chosen.node.clone()).or(exec.node);
    Decided {
        target,
        level,
        requested,
        effective,
        policy,
        node,
        strict_inline: exec.strict_inline_eval,
        denies: hosts.iter().any(|host| !host.rules.denylist.is_empty()),
        scene: scene(known),
    }
}

fn scene(known: &Known<'_>) -> Scene {
    let (global, agent) = known.config.exec_layers(&known.subject.agent);
    let inline = agent.and_then(|layer| layer.strict_inline_eval.as_ref());
    let inline = inline.or(global.strict_inline_eval.as_ref());
    Scene {
        session: known.subject.session.as_str().to_owned(),
        agent: known.subject.agent.to_string(),
        message: known.context.exec.clone(),
        sandboxed: known.sandboxed,
        document: known.local.held.standing.clone(),
        inline_key: inline.map_or_else(|| "tools.exec.strictInlineEval".to_owned(), |set| set.key.clone()),
    }
}

/// Step 5. In a sandbox only a denial that somebody wrote counts: there the built-in one refuses nothing.
fn denied(decided: &Decided) -> Result<(), ExecError> {
    if decided.target != Target::Sandbox {
        return host::open(decided.target, &decided.standing()).map_err(ExecError::Host);
    }
    let written = decided.requested.explicit;
    if written && decided.policy.security == crate::config::exec::Security::Deny {
        let why = Why::inside(&decided.scene, &decided.requested.security.source);
        return Err(ExecError::Host(HostDenied::Security { host: Target::Sandbox, why }));
    }
    Ok(())
}

/// Step 2: the level for the call. Who asks for it in the call and may not have it is told so; a level that the session
/// merely has is then without effect (§9.3).
fn elevated(known: &Known<'_>, asked: Option<bool>) -> Result<Level, ExecError> {
    let levels = Levels {
        inline: known.inline,
        session: known.chosen.elevated,
        configured: known.config.elevated_default(),
    };
    let level = levels.for_call(asked);
    if level == Level::Off && asked != Some(true) {
        return Ok(Level::Off);
    }
    let who = Requester {
        provider: known.context.channel.as_deref(),
        sender: known.sender,
        fallback: None,
        required: known.subject.stamp.is_required(),
    };
    let agent = known.config.agent_tools(&known.subject.agent).map(|tools| &tools.elevated);
    let failing = failing(&known.config.tools().elevated, agent, &who);
    match (failing.is_empty(), asked) {
        (true, _) => Ok(level),
        // A session that must be sandboxed is told so by the route, in one way for both.
        (false, Some(true)) if failing.iter().all(|one| one.gate == Gate::Sandbox) => {
            Ok(level.max(Level::Ask))
        }
        (false, Some(true)) => Err(ExecError::Elevated(Box::new(Closed {
            sandboxed: known.sandboxed,
            failing,
            provider: known.context.channel.clone(),
            session: known.subject.session.as_str().to_owned(),
        }))),
        (false, _) => Ok(Level::Off),
    }
}
