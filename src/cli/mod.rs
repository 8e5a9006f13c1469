//! The command line. One file per subcommand; the only module that prints.

use std::process::ExitCode;

pub mod images;

/// Parses the process's arguments, runs, and returns the exit code.
pub fn main() -> ExitCode {
    crate::observe::install();
    ExitCode::SUCCESS
}
