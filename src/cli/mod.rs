//! The command line. One file per subcommand; the only module that prints.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::engine::{Discovery, Engine};
use crate::error::{EXIT_CREEL, Failure};
use crate::state::StateDir;

pub mod images;

#[derive(Debug, clap::Parser)]
#[command(name = "creel", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Images(images::Args),
}

/// Parses the process's arguments, runs, and returns the exit code.
pub fn main() -> ExitCode {
    crate::observe::install();
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

async fn run(cli: Cli) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let engine = Engine::discover(&Discovery::from_process(None)).await?;
    match cli.command {
        Command::Images(args) => images::run(args, &engine, &state).await,
    }
}

fn fail(failure: &dyn std::fmt::Display) -> ExitCode {
    // A closed standard error must not change the exit code.
    let _ = writeln!(std::io::stderr(), "creel: {failure}");
    ExitCode::from(EXIT_CREEL)
}
