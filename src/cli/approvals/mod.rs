//! `creel approvals`: the approvals document of this machine, and what waits for a person. One file per subcommand.

mod allowlist;
mod get;
mod set;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::Failure;

/// What may run on this machine, and what waits for a person.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    shared: Shared,
}

/// Flags of every subcommand.
#[derive(Debug, clap::Args)]
struct Shared {
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON, on one line.
    #[arg(long, global = true)]
    json: bool,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the approvals document, and the policy that comes of it and the configuration.
    Get,
    /// Put a document in the place of the one that is there.
    Set(set::Args),
    /// Show and change what may run without a question.
    Allowlist(allowlist::Args),
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let Args { action, shared } = args;
    let done: Result<ExitCode, Failure> = match action {
        Action::Get => get::run(&shared),
        Action::Set(args) => set::run(&args, &shared),
        Action::Allowlist(args) => allowlist::run(args, &shared),
    };
    done.unwrap_or_else(|failure| super::status(Err(failure), shared.json))
}
