//! Why a command does not run on a host: what decided, by file and key, and what helps.

use crate::approvals::assess::{Assessed, DeniedBy};
use crate::approvals::denied::Why;
use crate::approvals::missed;
use crate::approvals::policy::{Reason, Target};
use crate::error::{Diagnose, Report};
use crate::shown;

use super::{Looked, Standing};

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
    #[error("exec denied: allowlist miss{}", behind(.missed.as_deref()))]
    Miss {
        /// What kept it from running.
        reason: Reason,
        /// The command that is not covered, and why, on one line.
        missed: Option<String>,
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
    #[error("a person has to decide about this command ({}), and nobody can be asked{}", .reason.code(), behind(.missed.as_deref()))]
    Person {
        /// Why.
        reason: Reason,
        /// The command that is not covered, and why, on one line.
        missed: Option<String>,
        /// Who said so, and what helps.
        why: Why,
    },
}

/// What is told behind the words of the rule.
fn behind(told: Option<&str>) -> String {
    told.map(|told| format!(": {told}")).unwrap_or_default()
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

/// What is not covered, where that is the reason.
fn missing(reason: Reason, assessed: &Assessed) -> Option<String> {
    if reason == Reason::Miss { missed::told(assessed) } else { None }
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
    pub(super) fn missed(reason: Reason, standing: &Standing<'_>, host: Target, looked: &Looked<'_>) -> Self {
        let why = match reason {
            Reason::InlineEval => Why::inline(host, standing),
            Reason::Environment => Why::environment(&names(&looked.assessed.sets)),
            _ => Why::missed(host, standing, looked.assessed),
        };
        let missed = missing(reason, looked.assessed);
        let unpinned = || {
            let why = looked.enforced.err().filter(|_| reason == Reason::Unpinned)?;
            Some(format!("it is listed, and cannot be run exactly as listed: {why}"))
        };
        Self::Miss { reason, missed: missed.or_else(unpinned), why }
    }

    /// An entry that denies; `place` is its key, and the command that takes it out.
    pub(super) fn listed(by: &DeniedBy, place: Option<(&str, Option<&str>)>) -> Self {
        let pattern = shown::one_line(&by.pattern);
        let rule = place.map_or("exec-approvals.json denylist", |(key, _)| key).to_owned();
        let fix = match (place.and_then(|(_, remove)| remove), by.entry) {
            (Some(remove), _) => format!("use another command; or take the entry out: `{remove}`"),
            (None, Some(_)) => format!("use another command; or take {pattern:?} out of {rule} by hand"),
            (None, None) => "split the text into several calls".to_owned(),
        };
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
    pub fn person(reason: Reason, standing: &Standing<'_>, host: Target, assessed: &Assessed) -> Self {
        let why = match reason {
            Reason::InlineEval => Why::inline(host, standing),
            Reason::AskAlways => Why::ask(host, standing),
            Reason::Environment => Why::environment(&names(&assessed.sets)),
            _ => Why::unasked(host, standing, assessed),
        };
        Self::Person { reason, missed: missing(reason, assessed), why }
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
