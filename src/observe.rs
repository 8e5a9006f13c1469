//! Installs logging. The only module that sets globals.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Sends `tracing` events to standard error, filtered by `CREEL_LOG` (for example `creel=debug`); warnings by default.
pub fn install() {
    let filter = EnvFilter::try_from_env("CREEL_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    // A second installation (tests, embedding programs) keeps the first: not an error.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .without_time()
        .try_init();
}
