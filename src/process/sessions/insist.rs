//! Insists on the end of a host command whose supervisor does not act: one that was stopped from inside (design §3: it is
//! continued, then treated as lost). In a sandbox nothing can stop PID 1.

use std::sync::Arc;
use std::time::Duration;

use super::entry::Entry;
use crate::process::record::{Phase, Place};
use crate::runner::host;

/// What a supervisor gets beyond the grace to end its command by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sees to it that a host command ends `within` from now; nothing happens where it does by itself.
pub(super) fn insist(entry: &Arc<Entry>, within: Duration) {
    let Place::Host { dir } = entry.begin.place.clone() else { return };
    let entry = Arc::clone(entry);
    let grace = Duration::from_millis(entry.begin.grace_ms);
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends by itself soon after the command should have, and holds nothing"
    )]
    tokio::spawn(async move {
        tokio::time::sleep(within + grace + PATIENCE).await;
        for step in [host::Force::Continue, host::Force::Kill] {
            if entry.lock().phase == Phase::Finished {
                return;
            }
            tracing::warn!(session = %entry.id, ?step, "the supervisor of a host command does not end it");
            host::force(&dir, step);
            tokio::time::sleep(grace + PATIENCE).await;
        }
    });
}
