//! `creel policy`: the policy under test.

mod test;

use std::process::ExitCode;

use clap::Subcommand;

/// The policy that holds.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Action {
    /// Decide about every command of a file of expectations, and show what is not as expected. Nothing is run.
    ///
    /// The exit status is 0 where all is as expected, 1 where something is not, 2 where the file cannot be used, 125 when
    /// creel failed.
    Test(test::Args),
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let Action::Test(args) = args.action;
    test::run(&args).await
}
