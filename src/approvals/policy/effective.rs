//! The requested policy under the documents of the machine (spec `approvals.md` 2.09, 2.10).

use super::mode::ModePolicy;
use super::requested::{Requested, Source, Sourced};
use crate::approvals::document::AgentRules;
use crate::config::exec::{Ask, ExecHost, ExecMode, Security};
use crate::config::reader::Set;

/// What one document says for an agent.
#[derive(Debug, Clone)]
pub struct Host<'a> {
    /// The document, as it is named to people.
    pub locator: &'a str,
    /// What it says.
    pub rules: AgentRules<'a>,
}

/// One value on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way<T> {
    /// What was asked for.
    pub requested: Sourced<T>,
    /// What the strictest document says, or the requested value where none says anything.
    pub host: Sourced<T>,
    /// What holds.
    pub effective: T,
}

/// What holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// Where commands are to run.
    pub host: Sourced<ExecHost>,
    /// The requested mode.
    pub mode: Sourced<ExecMode>,
    /// How far commands are trusted.
    pub security: Way<Security>,
    /// When a person is asked.
    pub ask: Way<Ask>,
    /// What holds where nobody can be asked; the source is that of the document's value, also where security caps it.
    pub ask_fallback: Sourced<Security>,
    /// Programs of skills count as listed: every document must say so.
    pub auto_allow_skills: bool,
    reviewed: bool,
}

impl Effective {
    /// The pair that holds, and the reviewer.
    pub fn policy(&self) -> ModePolicy {
        ModePolicy { security: self.security.effective, ask: self.ask.effective, reviewed: self.reviewed }
    }

    /// Nobody is ever asked: requested and allowed is `full` and `off`. Only then elevated `full` skips approvals
    /// (spec `approvals.md` 2.15).
    pub fn never_asks(&self) -> bool {
        (self.security.effective, self.ask.effective) == (Security::Full, Ask::Off)
    }
}

/// The strictest of all: `min` of security and fallback, `max` of ask. A value that no document writes is the requested
/// one; a fallback that is not written is `deny`.
pub fn effective(requested: &Requested, hosts: &[Host<'_>]) -> Effective {
    let security = way(&requested.security, hosts, |rules| rules.security.as_ref(), Ord::min);
    let ask = way(&requested.ask, hosts, |rules| rules.ask.as_ref(), Ord::max);
    let deny = || Sourced { value: Security::Deny, source: Source::BuiltIn };
    let fallback =
        |host: &Host<'_>| host.rules.ask_fallback.as_ref().map_or_else(deny, |set| written(host, set));
    let fallback =
        hosts.iter().map(fallback).reduce(|one, other| if other.value < one.value { other } else { one });
    let fallback = fallback.unwrap_or_else(deny);
    let skills = |host: &Host<'_>| host.rules.auto_allow_skills.as_ref().is_some_and(|set| set.value);
    Effective {
        host: requested.host.clone(),
        mode: requested.mode.clone(),
        ask_fallback: Sourced { value: fallback.value.min(security.effective), source: fallback.source },
        auto_allow_skills: !hosts.is_empty() && hosts.iter().all(skills),
        security,
        ask,
        reviewed: requested.reviewed,
    }
}

fn way<T: Copy + Ord>(
    requested: &Sourced<T>,
    hosts: &[Host<'_>],
    get: impl for<'a> Fn(&'a AgentRules<'a>) -> Option<&'a Set<T>>,
    stricter: fn(T, T) -> T,
) -> Way<T> {
    let said = hosts.iter().filter_map(|host| get(&host.rules).map(|set| written(host, set)));
    let strictest = |one: Sourced<T>, other: Sourced<T>| {
        if stricter(one.value, other.value) == one.value { one } else { other }
    };
    let host = said.reduce(strictest);
    let host = host.unwrap_or(Sourced { value: requested.value, source: Source::Inherited });
    let effective = stricter(requested.value, host.value);
    Way { requested: requested.clone(), host, effective }
}

fn written<T: Copy>(host: &Host<'_>, set: &Set<T>) -> Sourced<T> {
    let source = Source::Document { locator: host.locator.to_owned(), key: set.key.clone() };
    Sourced { value: set.value, source }
}
