//! Installs logging. The only module that sets globals.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// What is logged where `CREEL_LOG` says nothing: warnings, and whatever runs outside a sandbox, for leaving one must leave
/// a trace (spec `exec.md` §9.3).
const DEFAULT: &str = "warn,exec/elevated=info,exec/host=info";

/// Standard error for which nothing is too full: who cannot be told must not fail by that. A keeper's log lies on the same
/// disk as its sessions.
struct Patient(std::io::Stderr);

impl std::io::Write for Patient {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.write_all(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// Sends `tracing` events to standard error, filtered by `CREEL_LOG` (for example `creel=debug`).
pub fn install() {
    let filter = EnvFilter::try_from_env("CREEL_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    // A second installation (tests, embedding programs) keeps the first: not an error.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Patient(std::io::stderr()))
        // It would say so on standard error, and panic where that fails too.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .without_time()
        .try_init();
}
