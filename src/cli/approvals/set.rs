//! `creel approvals set`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Shared;
use crate::error::Failure;

/// Where the document comes from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Args {
    /// A file with the document, in JSON5.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Read the document from standard input.
    #[arg(long)]
    stdin: bool,
}

pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Failure> {
    let _ = (args, shared);
    Ok(ExitCode::SUCCESS)
}
