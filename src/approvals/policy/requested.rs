//! Layers of configuration and session into the requested policy (spec `approvals.md` 2.06).

use std::fmt;

use super::mode::{ModePolicy, PermissionMode};
use crate::config::exec::{Ask, ExecHost, ExecLayer, ExecMode, Security};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// Nothing is written; creel's own value.
    BuiltIn,
    /// A key of the configuration, or a word of the session.
    Key(String),
    /// What a mode stands for; the mode's key.
    Derived(String),
    /// A key of an approvals document.
    Document {
        /// The document, as shown.
        locator: String,
        /// The key.
        key: String,
    },
    /// The document says nothing; the requested value holds.
    Inherited,
}

impl Source {
    /// Nobody wrote the value.
    pub const fn is_built_in(&self) -> bool {
        matches!(self, Self::BuiltIn)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("creel default"),
            Self::Key(key) => f.write_str(key),
            Self::Derived(key) => write!(f, "derived from {key}"),
            Self::Document { locator, key } => write!(f, "{locator} {key}"),
            Self::Inherited => f.write_str("inherits requested tool policy"),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub source: Source,
}

/// Everything that requests a policy, the weakest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layers<'a> {
    /// `tools.exec`.
    pub global: Option<&'a ExecLayer>,
    /// `tools.exec` of the agent.
    pub agent: Option<&'a ExecLayer>,
    /// What an operator has set for the session. It replaces what is configured, and what follows can only tighten it.
    pub permission: Option<PermissionMode>,
    /// `/exec` of an authorised sender; defaults of the session (spec `approvals.md` 3.06).
    pub session: Option<&'a ExecLayer>,
}

/// The policy that configuration and session ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// Where commands are to run.
    pub host: Sourced<ExecHost>,
    /// How far they are trusted.
    pub security: Sourced<Security>,
    /// When a person is asked.
    pub ask: Sourced<Ask>,
    /// Which mode this is, and who said so.
    pub mode: Sourced<ExecMode>,
    /// A reviewer is asked first.
    pub reviewed: bool,
    /// Something is written about security, so that it holds in a sandbox too (spec `approvals.md` 2.04).
    pub explicit: bool,
}

impl Requested {
    /// What holds without any layer: `full` on hosts; `deny` for a sandbox, where commands need no policy (2.03).
    fn base(sandbox: bool) -> Self {
        let security = if sandbox { Security::Deny } else { Security::Full };
        let built_in = || Source::BuiltIn;
        Self {
            host: Sourced { value: ExecHost::Auto, source: built_in() },
            security: Sourced { value: security, source: built_in() },
            ask: Sourced { value: Ask::Off, source: built_in() },
            mode: Sourced { value: ModePolicy::pair(security, Ask::Off).mode(), source: built_in() },
            reviewed: false,
            explicit: false,
        }
    }

    /// The requested policy. `sandbox`: the command would run in one.
    pub fn of(layers: &Layers<'_>, sandbox: bool) -> Self {
        let configured =
            [layers.global, layers.agent].into_iter().flatten().fold(Self::base(sandbox), Self::over);
        match (layers.permission, layers.session) {
            (None, None) => configured,
            (None, Some(session)) => configured.over(session),
            (Some(mode), session) => {
                let set =
                    configured.with_mode(mode.exec(), format!("session permission mode {}", mode.name()));
                session.map_or(set.clone(), |session| set.tightened(session))
            }
        }
    }

    /// The pair and the reviewer.
    pub fn policy(&self) -> ModePolicy {
        ModePolicy { security: self.security.value, ask: self.ask.value, reviewed: self.reviewed }
    }

    /// A layer with a mode says everything; one with half a pair takes back the inherited mode and changes that half.
    /// A layer that writes both means the mode: the configuration refuses that before.
    fn over(self, layer: &ExecLayer) -> Self {
        let host = host(self.host.clone(), layer);
        if let Some(mode) = &layer.mode {
            return Self { host, ..self.with_mode(mode.value, mode.key.clone()) };
        }
        let mut next = Self { host, ..self };
        if let Some(set) = &layer.security {
            next.security = Sourced { value: set.value, source: Source::Key(set.key.clone()) };
            next.explicit = true;
        }
        if let Some(set) = &layer.ask {
            next.ask = Sourced { value: set.value, source: Source::Key(set.key.clone()) };
        }
        if layer.security.is_some() || layer.ask.is_some() {
            next.reviewed = false;
            next.named()
        } else {
            next
        }
    }

    fn with_mode(self, mode: ExecMode, key: String) -> Self {
        let policy = ModePolicy::of(mode);
        Self {
            security: Sourced { value: policy.security, source: Source::Derived(key.clone()) },
            ask: Sourced { value: policy.ask, source: Source::Derived(key.clone()) },
            mode: Sourced { value: mode, source: Source::Key(key) },
            reviewed: policy.reviewed,
            explicit: true,
            ..self
        }
    }

    /// Only what is stricter is taken.
    fn tightened(self, layer: &ExecLayer) -> Self {
        let host = host(self.host.clone(), layer);
        let mut next = Self { host, ..self };
        let pair = layer.mode.as_ref().map(|mode| (mode.value.pair(), Source::Derived(mode.key.clone())));
        let own = |key: &str| Source::Key(key.to_owned());
        let security = layer.security.as_ref().map(|set| (set.value, own(&set.key)));
        let ask = layer.ask.as_ref().map(|set| (set.value, own(&set.key)));
        let security = pair.clone().map(|((security, _), source)| (security, source)).or(security);
        let ask = pair.map(|((_, ask), source)| (ask, source)).or(ask);
        let before = next.policy();
        if let Some((value, source)) = security.filter(|(value, _)| *value < next.security.value) {
            next.security = Sourced { value, source };
        }
        if let Some((value, source)) = ask.filter(|(value, _)| *value > next.ask.value) {
            next.ask = Sourced { value, source };
        }
        if next.policy() == before { next } else { next.named() }
    }

    /// The mode of the pair, where no mode names it.
    fn named(mut self) -> Self {
        let source = match (&self.security.source, &self.ask.source) {
            (Source::BuiltIn, ask) => ask.clone(),
            (security, _) => security.clone(),
        };
        let source = match source {
            Source::Key(key) => Source::Derived(key),
            other => other,
        };
        self.mode = Sourced { value: self.policy().mode(), source };
        self
    }
}

fn host(inherited: Sourced<ExecHost>, layer: &ExecLayer) -> Sourced<ExecHost> {
    let own = |set: &crate::config::reader::Set<ExecHost>| Sourced {
        value: set.value,
        source: Source::Key(set.key.clone()),
    };
    layer.host.as_ref().map_or(inherited, own)
}
