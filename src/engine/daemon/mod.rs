//! An engine of creel's own making, for machines that have none: installed, started, stopped.
//!
//! What somebody else started is never stopped, and an engine that somebody named is never replaced.

mod down;
mod error;
mod install;
mod plan;
mod record;
mod up;

pub use down::{Down, down};
pub use error::DaemonError;
pub use plan::{Machine, Step, plan};
pub use record::Started;
pub use up::{Up, prepare, up};

use std::path::PathBuf;

/// The program of this name on `PATH`, or where only root looks.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// The last lines of a log, for an error.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}
