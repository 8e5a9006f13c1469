//! Whether a command may run on a host, and the only maker of a [`HostPermit`] (spec `approvals.md` §20; design
//! invariant 2). Pure.
//!
//! A decision goes in steps. [`ahead`] says what holds whatever the command is; [`decide`] what holds once it was looked
//! at: it runs, a person is asked ([`Asking`]), or it is denied. Whoever asks comes back with the answer
//! ([`Asking::answered`]). Only a [`Cleared`] makes a permit, and only these steps make one.
//!
//! | file | concern |
//! |---|---|
//! | [`asking`] | a question, and what follows from its answer |
//! | [`error`] | why a command does not run |
//! | `eligible` | whether the reviewer may be asked |

pub mod asking;
mod eligible;
pub mod error;

use super::assess::{Assessed, By};
use super::binding::Binding;
use super::denied::{Scene, Why};
use super::document::Entry;
use super::enforce::{Enforced, Unpinnable};
use super::host_permit::{Ground, HostCommand, HostPermit};
use super::policy::{Effective, ModePolicy, Reason, Requested, Source, Target, judge};
use super::remember::Remembered;
use crate::config::exec::{Ask, Security};
use crate::policy::{Level, Verdict};
pub use asking::{Asking, Review};
pub use error::HostDenied;

/// What is told of a reviewer that looks before a person does.
pub const FIRST: &str = "asked first";

/// What is known when a command is decided about.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// What configuration and session ask for.
    pub requested: &'a Requested,
    /// What holds under the machine's document.
    pub effective: &'a Effective,
    /// The same for this call, which may have asked to be stricter.
    pub policy: ModePolicy,
    /// How far elevated goes for this call, all its gates passed.
    pub elevated: Level,
    /// Code in an argument needs a person (`strictInlineEval`).
    pub strict_inline: bool,
    /// The machine's document has entries that deny.
    pub denies: bool,
    /// What a refusal needs to be told.
    pub scene: &'a Scene,
}

/// What is known of the command.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    /// What covers it.
    pub assessed: &'a Assessed,
    /// As it is run without a question: every program pinned, nothing left to the shell's expansion.
    pub enforced: Result<&'a Enforced, Unpinnable>,
    /// What "always" would write.
    pub remembered: &'a Remembered,
    /// The entries that it was compared with.
    pub allow: &'a [Entry],
    /// File and key of the entry that denies, where one does, and the command that takes it out, where there is one.
    pub denied_by: Option<(&'a str, Option<&'a str>)>,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// It runs.
    Run(Cleared),
    /// Somebody is asked first.
    Ask(Box<Asking>),
    /// It does not run.
    Deny(HostDenied),
}

/// How a command is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Launch {
    /// As it was written, in the user's shell.
    AsWritten,
    /// As it was matched: programs pinned, nothing expanded.
    Pinned,
    /// As a person saw it: programs pinned where that can be done, words expanded by the shell (spec `approvals.md` 5.35).
    Seen,
}

/// A command that may run. Only this module makes one, and it is used once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    ground: Ground,
    launch: Launch,
}

impl Cleared {
    fn new(ground: Ground, launch: Launch) -> Self {
        Self { ground, launch }
    }

    /// Why it may.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// How it is started.
    pub fn launch(&self) -> Launch {
        self.launch
    }

    /// Leave to run the command that was decided about. What was bound is what runs, whatever `command` says by now;
    /// without a binding runs only what nobody had to look at: `None` for anything else.
    pub fn permit(self, command: HostCommand, binding: Option<&Binding>) -> Option<HostPermit> {
        match (binding, self.launch) {
            (Some(binding), _) => Some(HostPermit::bound(command, self.ground, binding, None)),
            (None, Launch::AsWritten) => Some(HostPermit::new(command, self.ground)),
            (None, Launch::Pinned | Launch::Seen) => None,
        }
    }
}

/// Whether nothing of a host is open to the call, whatever the command is.
///
/// # Errors
///
/// [`HostDenied::Security`] where security is `deny`.
pub fn open(host: Target, standing: &Standing<'_>) -> Result<(), HostDenied> {
    if standing.policy.security == Security::Deny {
        return Err(HostDenied::Security { host, why: Why::security(host, standing) });
    }
    Ok(())
}

/// What follows whatever the command is; `None` where it has to be looked at.
///
/// Where nobody is ever asked and nothing denies, a command is not even parsed: an open host costs nothing, and no
/// construct that is not understood stands in its way.
pub fn ahead(host: Target, standing: &Standing<'_>) -> Option<Next> {
    if let Err(denied) = open(host, standing) {
        return Some(Next::Deny(denied));
    }
    if standing.denies {
        return None;
    }
    if skips(standing) {
        return Some(run(Ground::ElevatedFull));
    }
    let never = (standing.policy.security, standing.policy.ask) == (Security::Full, Ask::Off);
    (never && !standing.strict_inline).then(|| run(trusted(standing)))
}

/// What follows for a command that was looked at.
pub fn decide(host: Target, standing: &Standing<'_>, looked: &Looked<'_>) -> Next {
    if let Err(denied) = open(host, standing) {
        return Next::Deny(denied);
    }
    if let Some(by) = &looked.assessed.denied {
        return Next::Deny(HostDenied::listed(by, looked.denied_by));
    }
    // An open host is closed to it too.
    if looked.assessed.unseen && standing.policy.ask == Ask::Off {
        return Next::Deny(HostDenied::unseen());
    }
    if skips(standing) {
        return run(Ground::ElevatedFull);
    }
    let facts = looked.assessed.facts(looked.enforced.is_err());
    let judged = judge(standing.policy, &facts);
    let reason = judged.decider().map_or(Reason::Miss, |say| say.reason);
    match judged.verdict {
        Verdict::Allow if standing.policy.security == Security::Full => run(trusted(standing)),
        Verdict::Allow if looked.enforced.is_ok() => Next::Run(Cleared::new(listed(looked), Launch::Pinned)),
        // A verdict that says yes to what cannot be run as it was matched is none.
        Verdict::Allow | Verdict::Deny => Next::Deny(HostDenied::missed(reason, standing, host, looked)),
        Verdict::Ask => Next::Ask(Box::new(Asking::about(&judged, reason, standing, looked))),
    }
}

/// Elevated `full` skips approvals, where there are none (spec `approvals.md` 2.15).
fn skips(standing: &Standing<'_>) -> bool {
    standing.elevated == Level::Full && standing.effective.never_asks() && standing.policy.ask == Ask::Off
}

fn run(ground: Ground) -> Next {
    Next::Run(Cleared::new(ground, Launch::AsWritten))
}

/// Who wrote that everything runs.
fn trusted(standing: &Standing<'_>) -> Ground {
    match &standing.requested.security.source {
        Source::Key(key) | Source::Derived(key) => Ground::Written(key.clone()),
        Source::BuiltIn | Source::Inherited | Source::Document { .. } => Ground::BuiltIn,
    }
}

/// The entries that cover it; what only filters, builtins and skills have none.
fn listed(looked: &Looked<'_>) -> Ground {
    let places = looked.assessed.parts.iter().filter_map(|part| match part.by {
        By::Entry(place) => looked.allow.get(place),
        _ => None,
    });
    let mut entries: Vec<String> =
        places.map(|entry| entry.id.clone().unwrap_or_else(|| entry.pattern.clone())).collect();
    entries.dedup();
    Ground::Listed { entries }
}

#[cfg(test)]
mod tests;
