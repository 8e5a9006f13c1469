//! The command line. One file per subcommand; the only module that prints.

pub mod engine;

use std::process::ExitCode;

use clap::Parser;

/// Runs an agent's commands in hardened containers.
#[derive(Debug, Parser)]
#[command(name = "creel", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// The container engine: status, up, down.
    Engine(engine::Args),
}

/// Parses the process's arguments, runs, and returns the exit code.
pub fn main() -> ExitCode {
    crate::observe::install();
    let cli = Cli::parse();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::from(crate::error::EXIT_CREEL);
    };
    runtime.block_on(async {
        match cli.command {
            Command::Engine(args) => engine::run(args).await,
        }
    })
}
