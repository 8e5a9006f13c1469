//! An approved command that still runs is told of once (spec `exec.md` §12.4).

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::entry::Entry;
use crate::process::notice::running_notice;
use crate::process::record::Phase;
use crate::process::store::events::{EventContext, EventKind, NewEvent};
use crate::process::store::now_ms;

/// How long until it is told of a session, at once where its start took longer than that; `None` where it is not, or where
/// the creel had to that it was `found` after.
pub(super) fn due(entry: &Entry, found: bool) -> Option<Duration> {
    let notice = entry.begin.running_notice_ms;
    if notice == 0 || entry.begin.approval.is_none() {
        return None;
    }
    let (due, now) = (entry.started_ms.saturating_add(notice), now_ms());
    if found && due <= now {
        return None;
    }
    Some(Duration::from_millis(due.saturating_sub(now)))
}

/// Waits until then, or until the end.
pub(super) async fn tell(core: Arc<Core>, entry: Arc<Entry>, due: Duration) {
    let mut changes = entry.watch();
    let over = async {
        loop {
            changes.mark_unchanged();
            if entry.is_finished() || changes.changed().await.is_err() {
                return;
            }
        }
    };
    if tokio::time::timeout(due, over).await.is_ok() {
        return;
    }
    if let Err(error) = still(&core, &entry) {
        tracing::warn!(session = %entry.id, %error, "it could not be told that a command still runs");
    }
}

/// Under the session's lock, so that its end is told after it.
fn still(core: &Core, entry: &Entry) -> Result<(), crate::process::store::StoreError> {
    let mut state = entry.lock();
    let over = state.finalizing || state.hidden || state.phase == Phase::Finished;
    let view = state.view(entry);
    let (Some(text), Some(session_key), Some(key), false) =
        (running_notice(&view), view.begin.session_key.clone(), view.begin.approval.clone(), over)
    else {
        return Ok(());
    };
    let context = EventContext { key, delivery: view.begin.delivery.clone(), wake: !view.begin.subagent };
    core.events.insert(NewEvent { session_key, kind: EventKind::ExecRunning, text, context })?;
    drop(state);
    Ok(())
}
