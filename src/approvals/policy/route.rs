//! Where a command runs (spec `approvals.md` §2.7, `exec.md` §2).

use crate::config::exec::ExecHost;
use crate::error::{Diagnose, Report};

/// Where a command runs, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// In the session's sandbox.
    Sandbox,
    /// Beside the gateway.
    Gateway,
    /// On a paired machine.
    Node,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routing {
    /// What configuration and session say.
    pub configured: ExecHost,
    /// The session has a sandbox that can be used.
    pub sandbox: bool,
    /// The role of the session's creator demands a sandbox: nothing leaves it (2.24).
    pub required: bool,
    /// An elevated run that has passed its gates.
    pub elevated: bool,
}

/// Why a command runs nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A sandbox is demanded, and there is none or another host was named. Nothing runs on the host instead.
    #[error("this session runs in a sandbox or not at all")]
    Required,
    /// A sandbox is demanded and an elevated run asked for.
    #[error("elevated is not available: this session runs in a sandbox or not at all")]
    ElevatedRequired,
    /// The sandbox that is configured is not there.
    #[error("exec host=sandbox requires a sandbox runtime for this session")]
    NoSandbox,
    /// A call names another host than it may.
    #[error("exec host not allowed (requested {}; configured host is {})", word(*requested), word(*configured))]
    NotAllowed {
        /// What it named.
        requested: ExecHost,
        /// What is configured.
        configured: ExecHost,
    },
}

/// The settings under which a call may name the host. From `auto` it may name any, except a host that would leave an
/// active sandbox: that one has to be configured.
fn allowing(requested: ExecHost, configured: ExecHost) -> String {
    let own = format!("tools.exec.host={}", word(requested));
    if configured == ExecHost::Auto { own } else { format!("{own} or tools.exec.host=auto") }
}

const fn word(host: ExecHost) -> &'static str {
    match host {
        ExecHost::Auto => "auto",
        ExecHost::Sandbox => "sandbox",
        ExecHost::Gateway => "gateway",
        ExecHost::Node => "node",
    }
}

impl Diagnose for RouteError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Required => (
                "CRL-ROUTE-001",
                "sandbox=required",
                "switch sandbox.mode on for the agent, and leave host out of the call",
            ),
            Self::ElevatedRequired => ("CRL-ROUTE-004", "sandbox=required", "leave elevated out of the call"),
            Self::NoSandbox => (
                "CRL-ROUTE-002",
                "tools.exec.host",
                "set agents.defaults.sandbox.mode to \"non-main\" or \"all\", or use host auto, gateway or node",
            ),
            Self::NotAllowed { requested, configured } => {
                let fix = format!("leave host out of the call, or set {}", allowing(*requested, *configured));
                return Report {
                    code: "CRL-ROUTE-003",
                    message: self.to_string(),
                    rule: Some("tools.exec.host".to_owned()),
                    fix,
                };
            }
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix: fix.to_owned() }
    }
}

impl Routing {
    /// The configured host; a demanded sandbox replaces it.
    const fn configured(self) -> ExecHost {
        if self.required { ExecHost::Auto } else { self.configured }
    }

    const fn resolved(self, host: ExecHost) -> Target {
        match host {
            ExecHost::Sandbox => Target::Sandbox,
            ExecHost::Auto if self.sandbox => Target::Sandbox,
            ExecHost::Auto | ExecHost::Gateway => Target::Gateway,
            ExecHost::Node => Target::Node,
        }
    }

    /// Elevated leaves the sandbox for the gateway; a node stays a node.
    fn raised(self, target: Target) -> Target {
        if self.elevated && target != Target::Node { Target::Gateway } else { target }
    }

    /// Which host the policy is that of. [`Target::Sandbox`] says where, not that there is one: [`Routing::call`] does.
    pub fn target(self) -> Result<Target, RouteError> {
        match (self.required, self.sandbox) {
            (true, false) => Err(RouteError::Required),
            (true, true) => Ok(Target::Sandbox),
            (false, _) => Ok(self.raised(self.resolved(self.configured))),
        }
    }

    /// Whether a call may name a node: one is configured, or the choice is left open. The node's own approvals decide
    /// there, so that naming it gives a sandboxed model nothing that the node's owner has not.
    pub fn may_name_node(self) -> bool {
        !self.required && matches!(self.configured, ExecHost::Auto | ExecHost::Node)
    }

    /// Where a command goes that names `host`. A call may name what is configured; from `auto` it may name a sandbox,
    /// a node, and the gateway only where no sandbox would be left (spec `exec.md` §2.2).
    pub fn call(self, host: Option<ExecHost>) -> Result<Target, RouteError> {
        if self.required && !self.sandbox {
            return Err(RouteError::Required);
        }
        if self.required && self.elevated {
            return Err(RouteError::ElevatedRequired);
        }
        let configured = self.configured();
        let selected = match host.filter(|host| *host != ExecHost::Auto) {
            None => self.resolved(configured),
            Some(host) if host == configured => self.resolved(host),
            Some(ExecHost::Sandbox) if configured == ExecHost::Auto => Target::Sandbox,
            Some(_) if self.required => return Err(RouteError::Required),
            Some(ExecHost::Node) if self.may_name_node() => Target::Node,
            Some(ExecHost::Gateway) if configured == ExecHost::Auto && !self.sandbox => Target::Gateway,
            Some(requested) => return Err(RouteError::NotAllowed { requested, configured }),
        };
        match self.raised(selected) {
            Target::Sandbox if !self.sandbox => Err(RouteError::NoSandbox),
            target => Ok(target),
        }
    }
}
