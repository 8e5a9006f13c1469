//! What an approval binds (spec `approvals.md` §11): directory, programs and script by identity, content where somebody who
//! runs here could change it; looked at again after the decision and at the spawn.

use super::assess::Assessed;
use super::enforce::Enforced;
use super::programs::Lookup;
use crate::paths::hold::HeldSource;

/// What was bound. Kept in memory only: whoever restarts has bound nothing.
#[derive(Debug)]
pub struct Binding {}

/// Why a command cannot be bound (11.4), or is not any more what was bound (drift).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// Placeholder of the skeleton.
    #[error("SYSTEM_RUN_DENIED: approval cannot safely bind this command")]
    Unread,
}

/// Binds a command that is about to be asked about or run.
pub fn bind(
    assessed: &Assessed,
    enforced: Option<&Enforced>,
    cwd: &HeldSource,
    env: &[(String, String)],
    lookup: &dyn Lookup,
) -> Result<Binding, BindError> {
    let _ = (assessed, enforced, cwd, env, lookup);
    todo!()
}

impl Binding {
    /// Whether everything still is what was bound.
    pub fn verify(&self, lookup: &dyn Lookup) -> Result<(), BindError> {
        let _ = lookup;
        todo!()
    }

    /// Something that was bound can be changed by whoever runs here: no approval for good (11.10).
    pub fn mutable(&self) -> bool {
        todo!()
    }
}
