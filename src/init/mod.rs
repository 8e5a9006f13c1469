//! PID 1 of a sandbox, and the supervisor of each command. No async runtime, one thread.

use std::process::ExitCode;

/// Entry point of `creel-init`.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
