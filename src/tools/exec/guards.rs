//! Guards and preflight in front of a command (spec `exec.md` §13): mistakes that are caught before anything runs.

use std::path::Path;

use super::error::thrown;
use super::gather::Gathered;
use crate::shell::guard::{GuardFacts, LiveState, check, follow};
use crate::shell::preflight::{self, Place};
use crate::tools::ToolError;

/// Commands that an agent must not run anywhere: approvals of its own, logins that hang.
pub(super) fn control(command: &str) -> Result<(), ToolError> {
    check(command, &GuardFacts::default()).map_err(|error| thrown(&error))
}

/// Databases that hold the rules of this host.
pub(super) fn live_state(command: &str, gathered: &Gathered, workdir: &Path) -> Result<(), ToolError> {
    let directory = gathered.state.root();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let home = gathered.places.home.as_deref().map(|home| ("HOME".to_owned(), text(home)));
    let state = ["OPENCLAW_STATE_DIR", "CREEL_STATE_DIR"].map(|name| (name.to_owned(), text(directory)));
    let environment: Vec<(String, String)> = home.into_iter().chain(state).collect();
    let live_state = LiveState { directory, workdir, environment: &environment, resolve: follow };
    check(command, &GuardFacts { live_state: Some(live_state) }).map_err(|error| thrown(&error))
}

/// Scripts that would fail half-way, because they use a shell's variables. `guest` is the directory as the command sees
/// it, where that is another path.
pub(super) fn preflight(command: &str, host: &Path, guest: Option<&Path>) -> Result<(), ToolError> {
    preflight::check(command, &Place { host, guest }).map_err(|error| thrown(&error))
}
