//! `creel doctor`: what is wrong with this installation, and what helps.
//!
//! | file | concern |
//! |---|---|
//! | `finding` | the one shape of a finding |
//! | `facts` | what is known of this machine, as values |
//! | `gather` | reads them; writes nothing |
//! | `installation`, `engine`, `configuration`, `approvals`, `sandboxes` | facts in, findings out; pure |
//! | `repair` | what `--fix` does |
//! | [`prove`] | a fresh sandbox in which everything is tried that must not work |
//!
//! The checks ask the functions that decide elsewhere (bind validator, tool policy, image recipes), so that the doctor
//! has no second opinion. A configuration that cannot be used is a finding, not the end.

mod approvals;
mod configuration;
mod engine;
mod facts;
mod finding;
mod gather;
mod installation;
pub mod prove;
mod repair;
mod sandboxes;

pub use facts::{ApprovalsLook, ConfigLook, EngineLook, Facts, ImageLook, SafeBinLook, StateLook};
pub use finding::{Finding, Repair, Severity};
pub use gather::{Around, look};
pub use repair::{Done, repair_all};

/// Every finding, in the order of a report.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    let used = configuration::uses_sandboxes(&facts.config);
    let mut all = configuration::checks(&facts.config);
    all.extend(approvals::checks(&facts.approvals, &facts.config));
    all.extend(installation::checks(facts));
    all.extend(engine::checks(&facts.engine, used, &configuration::limited(&facts.config)));
    all.extend(engine::images(&facts.images, used));
    all.extend(sandboxes::checks(facts));
    all
}

/// The worst severity of all.
pub fn worst(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok)
}
