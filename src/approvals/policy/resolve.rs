//! From everything that is known of a session to what holds for its commands.

use super::effective::{Effective, Host, effective};
use super::requested::{Layers, Requested};
use super::route::{RouteError, Routing, Target};

/// What is known of a session.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// Who asks for a policy.
    pub layers: Layers<'a>,
    /// It has a sandbox that can be used.
    pub sandbox: bool,
    /// The role of its creator demands one.
    pub required: bool,
    /// It wants an elevated run, and every gate is open.
    pub elevated: bool,
}

/// What holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Where commands go that name no host.
    pub target: Target,
    /// What decides where a call may go.
    pub routing: Routing,
    /// What is asked for.
    pub requested: Requested,
    /// What holds at the target.
    pub effective: Effective,
}

impl Resolved {
    /// Whether a command in the sandbox is refused too. The built-in `deny` of a sandbox refuses nothing there: the
    /// container is the boundary. A `deny` that somebody wrote does (spec `approvals.md` 2.04).
    pub fn refuses_sandbox(&self) -> bool {
        self.requested.explicit && self.requested.security.value == crate::config::exec::Security::Deny
    }
}

/// What holds for a session. Documents have no say in a sandbox (spec `approvals.md` 0.05).
pub fn resolve(session: &Session<'_>, hosts: &[Host<'_>]) -> Result<Resolved, RouteError> {
    let routing = Routing {
        configured: Requested::of(&session.layers, false).host.value,
        sandbox: session.sandbox,
        required: session.required,
        elevated: session.elevated,
    };
    let target = routing.target()?;
    let sandboxed = target == Target::Sandbox;
    let requested = Requested::of(&session.layers, sandboxed);
    let effective = effective(&requested, if sandboxed { &[] } else { hosts });
    Ok(Resolved { target, routing, requested, effective })
}
