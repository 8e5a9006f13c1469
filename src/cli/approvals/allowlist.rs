//! `creel approvals allowlist`.

use std::process::ExitCode;

use super::Shared;
use crate::error::Failure;

/// The lists.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the entries.
    List,
}

pub(super) fn run(args: Args, shared: &Shared) -> Result<ExitCode, Failure> {
    let _ = (args.action, shared);
    Ok(ExitCode::SUCCESS)
}
