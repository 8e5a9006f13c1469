//! Guards and preflight in front of a command (spec `exec.md` §13): mistakes that are caught before anything runs.

use std::path::Path;

use crate::tools::ToolError;

/// Commands that an agent must not run anywhere: approvals of its own, logins that hang.
pub(super) fn control(_command: &str) -> Result<(), ToolError> {
    Ok(())
}

/// Databases that hold the rules of this host.
pub(super) fn live_state(_command: &str, _state: &Path, _workdir: &Path) -> Result<(), ToolError> {
    Ok(())
}

/// Scripts that are in another language than their interpreter's.
pub(super) fn preflight(_command: &str, _workdir: &Path) -> Result<(), ToolError> {
    Ok(())
}
