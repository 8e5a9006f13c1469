//! `creel approvals get`.

use std::process::ExitCode;

use super::Shared;
use crate::error::Failure;

pub(super) fn run(shared: &Shared) -> Result<ExitCode, Failure> {
    let _ = shared;
    Ok(ExitCode::SUCCESS)
}
