//! What `exec` throws: nothing ran, or the call was aborted (spec `exec.md` §1.3). Where the spec fixes a text, that text.

use crate::approvals::host::HostDenied;
use crate::approvals::policy::RouteError;
use crate::config::exec::ExecHost;
use crate::error::{Diagnose, Report};
use crate::policy::elevated::fix_it;
use crate::policy::{Failing, Gate, Removal};
use crate::tools::ToolError;

/// Why a call fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecError {
    /// Two limits on time that contradict each other.
    Timeouts {
        /// `timeoutSeconds`, as text.
        new: String,
        /// `timeout`, as text.
        old: String,
    },
    /// There is no command.
    NoCommand,
    /// The host is none of the four (E-HOST-VALUE).
    HostValue(String),
    /// The session's tool policy does not have the tool.
    NoTool(&'static str, Box<Removal>),
    /// The run was started without the tool.
    Without(&'static str),
    /// The command may not run where it is to.
    Route {
        /// Why.
        error: RouteError,
        /// The host that the call names.
        requested: Option<ExecHost>,
        /// The session has a sandbox.
        sandbox: bool,
    },
    /// A gate of elevated is closed (E-ELEVATED).
    Elevated(Box<Closed>),
    /// The level of elevated or the options of the message are not understood.
    Inline(Report),
    /// No paired machine can be had (E-NODE).
    NoNode(Option<String>),
    /// A host was not opened to the command.
    Host(HostDenied),
    /// The run cannot wait for a person.
    CannotWait(HostDenied),
    /// The caller gave up; the command was ended.
    Aborted,
    /// Anything else, in its own words.
    Other(Report),
}

/// The gates that were closed, and around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The session runs in a sandbox.
    pub sandboxed: bool,
    /// The gates, with their keys.
    pub failing: Vec<Failing>,
    /// The provider of the message.
    pub provider: Option<String>,
    /// The session.
    pub session: String,
}

impl Closed {
    /// Exactly upstream's first line; below it what is closed, for whom, and the keys that may help.
    fn text(&self) -> String {
        let runtime = if self.sandboxed { "sandboxed" } else { "direct" };
        let mut lines = vec![
            format!("elevated is not available right now (runtime={runtime})."),
            "Failing gates:".to_owned(),
        ];
        for failing in &self.failing {
            let gate = match failing.gate {
                Gate::Enabled => "enabled",
                Gate::AllowFrom => "allowFrom",
                Gate::Provider => "provider",
                Gate::Sandbox => "sandbox",
            };
            let key = crate::shown::one_line(&failing.key);
            lines.push(format!("- {gate} ({key})"));
        }
        let provider = self.provider.as_deref().unwrap_or("unknown");
        lines.push(format!(
            "Context: provider={} session={}\nFix-it keys:",
            crate::shown::one_line(provider),
            crate::shown::one_line(&self.session)
        ));
        for key in fix_it(self.provider.as_deref()) {
            lines.push(format!("- {}", crate::shown::one_line(&key)));
        }
        lines.join("\n")
    }
}

/// What a call named, as told.
const fn named(host: Option<ExecHost>) -> &'static str {
    match host {
        None | Some(ExecHost::Auto) => "auto",
        Some(ExecHost::Sandbox) => "sandbox",
        Some(ExecHost::Gateway) => "gateway",
        Some(ExecHost::Node) => "node",
    }
}

impl std::fmt::Display for ExecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Timeouts { new, old } => {
                write!(
                    f,
                    "timeoutSeconds {new} and timeout {old} contradict each other: both are the limit in seconds"
                )
            }
            Self::NoCommand => f.write_str("exec needs a command: the text is empty"),
            Self::HostValue(value) => {
                write!(
                    f,
                    "host {value:?} is not one of auto, sandbox, gateway, node; it is not the name of a machine"
                )
            }
            Self::NoTool(tool, removal) => {
                write!(f, "{tool} is not available to this session: {} removes it", removal.rule())
            }
            Self::Without(tool) => write!(f, "{tool} is not available to this run"),
            Self::Route { error: RouteError::Required, requested, sandbox } => {
                if *sandbox {
                    write!(f, "this session must run in a sandbox; host={} is refused", named(*requested))
                } else {
                    f.write_str("this session must run in a sandbox, and its sandbox runtime is unavailable")
                }
            }
            Self::Route { error, .. } => error.fmt(f),
            Self::Elevated(closed) => f.write_str(&closed.text()),
            Self::Inline(report) | Self::Other(report) => f.write_str(&report.message),
            Self::NoNode(None) => {
                f.write_str("exec host=node: there is no paired node; nothing was executed")
            }
            Self::NoNode(Some(node)) => {
                write!(
                    f,
                    "exec host=node: there is no paired node, so node {node:?} was not found; nothing was executed"
                )
            }
            Self::Host(denied) => denied.fmt(f),
            Self::CannotWait(denied) => {
                write!(f, "exec denied: approval required ({denied}); this run cannot wait for a person")
            }
            Self::Aborted => f.write_str("exec was aborted: the caller gave up and the command was ended"),
        }
    }
}

impl std::error::Error for ExecError {}

impl Diagnose for ExecError {
    fn report(&self) -> Report {
        let (code, rule, fix): (_, String, String) = match self {
            Self::Timeouts { .. } => {
                ("CRL-TOOL-010", "parameters of exec".to_owned(), "send timeoutSeconds alone".to_owned())
            }
            Self::NoCommand => (
                "CRL-TOOL-011",
                "parameters of exec".to_owned(),
                "send the shell command as command".to_owned(),
            ),
            Self::HostValue(_) => (
                "CRL-TOOL-012",
                "parameters of exec".to_owned(),
                "leave host out, or send one of the four".to_owned(),
            ),
            Self::NoTool(_, removal) => ("CRL-TOOL-013", removal.key.clone(), removal.fix.clone()),
            Self::Without(tool) => (
                "CRL-TOOL-014",
                "the run's own list of tools".to_owned(),
                format!("use another tool, or start the run with {tool}"),
            ),
            Self::Elevated(closed) => (
                "CRL-TOOL-016",
                closed.failing.first().map_or_else(|| "elevated".to_owned(), |failing| failing.key.clone()),
                "leave elevated out of the call, or have the operator open the named gates".to_owned(),
            ),
            Self::NoNode(_) => (
                "CRL-TOOL-017",
                "tools.exec.node".to_owned(),
                "leave host=node out of the call, or pair a machine first".to_owned(),
            ),
            Self::Aborted => (
                "CRL-TOOL-018",
                "built-in: a foreground command ends with its call".to_owned(),
                "check what it has done before running it again; background: true outlives the call"
                    .to_owned(),
            ),
            Self::Route { error, .. } => {
                return Report { message: self.to_string(), ..error.report() };
            }
            Self::Host(denied) | Self::CannotWait(denied) => {
                return Report { message: self.to_string(), ..denied.report() };
            }
            Self::Inline(report) | Self::Other(report) => return report.clone(),
        };
        Report { code, message: self.to_string(), rule: Some(rule), fix }
    }
}

impl ExecError {
    /// The text is machine-read as it is: nothing is added.
    fn exact(&self) -> bool {
        matches!(self, Self::Elevated(_))
    }
}

impl From<ExecError> for ToolError {
    fn from(error: ExecError) -> Self {
        if error.exact() {
            return Self { text: error.to_string(), report: error.report() };
        }
        Self::of(error.report())
    }
}

/// Whatever has a report, as what `exec` throws.
pub(super) fn thrown(error: &impl Diagnose) -> ToolError {
    ToolError::of(error.report())
}
