//! What a call may change about its own supervision (spec `approvals.md` §3).

use super::mode::ModePolicy;
use crate::config::exec::{Ask, Security};

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A run that a message in a channel started.
    Channel,
    /// A run without a channel.
    Local,
    /// A caller inside the agent host, or over the API, that sets ask itself.
    Trusted,
}

/// The parameters of a call that touch policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its `security`: accepted for compatibility, never followed. A model does not choose its own level (3.01).
    pub security: Option<Security>,
    /// Its `ask`.
    pub ask: Option<Ask>,
    /// Who makes it.
    pub origin: Origin,
}

impl Call {
    /// The policy for this call: never less strict than `policy`.
    ///
    /// A participant of a chat cannot make a machine ask that is set never to ask (3.03). Hardening past what the
    /// reviewer was set up for leaves the person alone with the question (3.05).
    pub fn tighten(self, policy: ModePolicy) -> ModePolicy {
        let heard = self.origin != Origin::Channel || policy.ask != Ask::Off;
        let ask = self.ask.filter(|_| heard).map_or(policy.ask, |ask| ask.max(policy.ask));
        ModePolicy { ask, ..policy }
    }
}
