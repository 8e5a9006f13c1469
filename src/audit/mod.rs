//! `creel security audit`: what the configuration opens (spec `sandbox.md` §23). Pure, but for `gather`.
//!
//! | file | concern |
//! |---|---|
//! | `finding` | the shape of a finding, upstream's |
//! | `raw` | values as written |
//! | `sandbox` | binds, network, profiles, variables, users |
//! | `exec` | where commands run, and what they may do |
//! | `elevated`, `exposure` | who may leave the sandbox, and who can reach an agent |
//! | `flags` | switches that say themselves that they are dangerous |
//! | `tools` | what the tool policy removed: entries of `agents/tool-policy` |
//! | `safe_bins` | programs that count as filters, and where they lie |
//! | `approvals` | what the machine's approvals document opens |
//! | `reviewer` | who is asked before a person, and how |
//! | `suppress` | findings that an operator has accepted |
//! | `browser` | live containers of the sandbox browser |
//! | `gather` | judges binds on this machine, asks the engine |
//!
//! A file that creel refuses is audited all the same, from its values; what needs the merged configuration is then
//! missing, and the audit says so.

mod approvals;
mod browser;
mod elevated;
mod exec;
mod exposure;
mod finding;
mod flags;
mod gather;
mod raw;
mod reviewer;
mod safe_bins;
mod sandbox;
mod suppress;
mod tools;

use std::path::PathBuf;

use crate::approvals::store::Local;
use crate::config::{Config, ConfigError, Document, Places};
use crate::error::Diagnose as _;
use crate::paths::BindError;

pub use browser::{BrowserContainer, BrowserLook};
pub use finding::{Finding, Severity, Summary};
pub use gather::{BROWSER_TIME, ask_browsers, judge_binds, writable_dirs};
pub use suppress::Suppressed;
pub use tools::{LOGGER, Removed};

/// What is audited.
#[derive(Debug)]
pub struct Input<'a> {
    /// The file, where it parses.
    pub document: Option<&'a Document>,
    /// The typed values, where they are sound.
    pub config: Result<&'a Config, &'a ConfigError>,
    /// What relative paths are relative to.
    pub places: &'a Places,
    /// Every bind that is refused on this machine, by [`judge_binds`].
    pub binds: &'a [BindError],
    /// Trusted directories that others may write to, by [`writable_dirs`].
    pub writable: &'a [PathBuf],
    /// The machine's approvals document, read without writing; `None` where it is none of the audit's business.
    pub approvals: Option<&'a Local>,
    /// The browser's containers, by [`ask_browsers`].
    pub browsers: &'a BrowserLook,
}

/// The result: findings, worst first, and what the tool policy removed.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How many of each.
    pub summary: Summary,
    /// The findings.
    pub findings: Vec<Finding>,
    /// Those that an operator has accepted; not counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressed_findings: Vec<Suppressed>,
    /// The entries of the log `agents/tool-policy`, for each agent.
    pub tool_policy: Vec<Removed>,
}

/// Audits.
pub fn audit(input: &Input<'_>) -> Report {
    let mut findings = Vec::new();
    if let Err(error) = input.config {
        let told = error.report();
        // A problem's own fix may open what this audit is about.
        let fix = match error {
            ConfigError::Invalid { .. } => "mend what `creel config validate` names".to_owned(),
            _ => told.fix,
        };
        let detail = format!("checks that need the merged configuration were left out: {}", told.message);
        // With nothing that can be read, nothing was audited: no silence that passes for a clean bill.
        let severity = if input.document.is_some() { Severity::Warn } else { Severity::Critical };
        findings.push(Finding::new(
            "config.invalid",
            severity,
            "The configuration cannot be used",
            detail,
            fix,
        ));
    }
    if let Some(document) = input.document {
        findings.extend(sandbox::checks(document, input.binds));
        findings.extend(exec::written(document));
        findings.extend(elevated::checks(document));
        findings.extend(flags::checks(document));
        findings.extend(safe_bins::checks(document, input.places.home.as_deref(), input.writable));
        findings.extend(reviewer::checks(document));
    }
    if let Some(local) = input.approvals {
        findings.extend(approvals::checks(local, input.config.ok(), input.document));
    }
    let mut tool_policy = Vec::new();
    if let (Ok(config), Some(document)) = (input.config, input.document) {
        findings.extend(exec::merged(config, document, input.places, exposure::is_open(document)));
        findings.extend(exposure::checks(config, document, input.places));
        tool_policy = tools::removed(config, input.places);
        findings.extend(tools::findings(&tool_policy, document));
        findings.extend(tools::minimal_overridden(document));
    }
    findings.extend(browser::checks(input.browsers));
    let (mut findings, suppressed_findings) = match input.document {
        Some(document) => suppress::part(document, findings),
        None => (findings, Vec::new()),
    };
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Report { summary: Summary::of(&findings), findings, suppressed_findings, tool_policy }
}

#[cfg(test)]
mod exec_tests;
#[cfg(test)]
mod tests;
