//! Why a command does not run on a host: what decided, by file and key, and what helps.

use crate::approvals::assess::DeniedBy;
use crate::approvals::denied::Why;
use crate::approvals::policy::{Reason, Target};
use crate::error::{Diagnose, Report};
use crate::shown;

use super::Standing;

/// Variables that are named.
const MOST_NAMED: usize = 16;

/// Why a command does not run on a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostDenied {
    /// Nothing runs there.
    #[error("exec denied: host={} security=deny", word(*.host))]
    Security {
        /// The host.
        host: Target,
        /// Who said so, and what helps.
        why: Why,
    },
    /// Only what is listed runs, nobody is asked, and it is not listed, or cannot be run as it was matched.
    #[error("exec denied: allowlist miss")]
    Miss {
        /// What kept it from running.
        reason: Reason,
        /// Who said so, and what helps.
        why: Why,
    },
    /// An entry denies it.
    #[error("exec denied: {command} is on the deny list ({pattern})")]
    Listed {
        /// The command, shown on one line.
        command: String,
        /// The entry's pattern.
        pattern: String,
        /// The entry, and what helps.
        why: Why,
    },
    /// Something is on the deny list, and what the command runs cannot be compared with it.
    #[error("exec denied: {UNSEEN}")]
    Unseen {
        /// The list, and what helps.
        why: Why,
    },
    /// A person has to decide, and none can be reached.
    #[error("a person has to decide about this command ({}), and nobody can be asked", .reason.code())]
    Person {
        /// Why.
        reason: Reason,
        /// Who said so, and what helps.
        why: Why,
    },
}

/// Why a command is stopped by a deny list that cannot be compared with it.
pub const UNSEEN: &str = "a deny list exists and what this runs cannot be seen";

const fn word(host: Target) -> &'static str {
    match host {
        Target::Sandbox => "sandbox",
        Target::Gateway => "gateway",
        Target::Node => "node",
    }
}

/// Names of variables, for people.
pub(super) fn names(sets: &[String]) -> String {
    let mut told = sets.iter().take(MOST_NAMED).map(|name| shown::one_line(name)).collect::<Vec<_>>();
    if sets.len() > MOST_NAMED {
        told.push(format!("{} more", sets.len() - MOST_NAMED));
    }
    told.join(", ")
}

impl HostDenied {
    /// Not listed where nobody is asked.
    pub(super) fn missed(reason: Reason, standing: &Standing<'_>, host: Target, sets: &[String]) -> Self {
        let why = match reason {
            Reason::InlineEval => Why::inline(host, standing),
            Reason::Environment => Why::environment(&names(sets)),
            _ => Why::missed(host, standing),
        };
        Self::Miss { reason, why }
    }

    /// An entry that denies; `key` is where it stands.
    pub(super) fn listed(by: &DeniedBy, key: Option<&str>) -> Self {
        let pattern = shown::one_line(&by.pattern);
        let rule = key.map_or_else(|| "exec-approvals.json denylist".to_owned(), str::to_owned);
        let fix = format!("use another command; or take {pattern:?} out of {rule}");
        let command = shown::one_line(&by.command);
        Self::Listed { command, pattern, why: Why { rule, fix } }
    }

    /// It cannot be compared with what is denied, and nobody is asked.
    pub(super) fn unseen() -> Self {
        let fix = "write out the program that is to run, without variables, patterns and substitutions in its place; or take \
                   the entries out of the list";
        let rule = "exec-approvals.json denylist".to_owned();
        Self::Unseen { why: Why { rule, fix: fix.to_owned() } }
    }

    /// Nobody can be asked.
    pub fn person(reason: Reason, standing: &Standing<'_>, host: Target) -> Self {
        let why = match reason {
            Reason::InlineEval => Why::inline(host, standing),
            Reason::AskAlways => Why::ask(host, standing),
            Reason::Environment => Why::environment("the variables that it sets"),
            _ => Why::unasked(host, standing),
        };
        Self::Person { reason, why }
    }

    fn why(&self) -> (&'static str, &Why) {
        match self {
            Self::Security { why, .. } => ("CRL-APPR-001", why),
            Self::Miss { why, .. } => ("CRL-APPR-002", why),
            Self::Person { why, .. } => ("CRL-APPR-004", why),
            Self::Listed { why, .. } => ("CRL-APPR-005", why),
            Self::Unseen { why } => ("CRL-APPR-009", why),
        }
    }
}

impl Diagnose for HostDenied {
    fn report(&self) -> Report {
        let (code, why) = self.why();
        Report { code, message: self.to_string(), rule: Some(why.rule.clone()), fix: why.fix.clone() }
    }
}
