//! `creel approvals allowlist adopt`: approvals of former versions become a person's own entries.

use std::process::ExitCode;

use super::{Shared, snapshot};
use crate::approvals::store::{self, lists};
use crate::cli::print;
use crate::error::Failure;
use crate::shown::one_line;
use crate::state::StateDir;

pub(super) fn run(
    state: &StateDir,
    agent: Option<&str>,
    patterns: &[String],
    shared: &Shared,
) -> Result<ExitCode, Failure> {
    let done = lists::adopt(state, agent, patterns)?;
    let local = store::read(state);
    if shared.json {
        print::compact(&snapshot(&local));
        return Ok(ExitCode::SUCCESS);
    }
    for one in &done {
        let arguments = match &one.arg_pattern {
            Some(text) => format!("arguments that match {}", one_line(text)),
            None => "any arguments".to_owned(),
        };
        print::line(&format!(
            "{}: {} may run with {arguments}",
            one_line(&one.agent),
            one_line(&one.pattern)
        ));
    }
    let left = lists::waiting(&local.held.document, agent).len();
    if done.is_empty() {
        print::line("nothing to adopt");
    }
    if left > 0 {
        print::line(&format!(
            "{left} wait still: they keep only a digest, or were not named; approve them again"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
