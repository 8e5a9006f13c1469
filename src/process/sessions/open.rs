//! Takes over what another creel left: rows, output, commands.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::entry::{Entry, Order};
use super::sweep::sweep;
use super::{ProcessError, Reach, Unreached};
use crate::process::record::{Phase, Place};
use crate::process::spool::{Budget, Spool};
use crate::process::store::{Store, now_ms};
use crate::runner::{Progress, RunError, Running};
use crate::state::StateDir;

/// How long the caller of a foreground command may take to come back after a restart (design §10).
const CALLER_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// Pause before an init is told again.
const SETTLE_AGAIN: Duration = Duration::from_millis(200);
/// How long an init may take to hear that a result is safe.
const SETTLE_WITHIN: Duration = Duration::from_secs(30);

/// The table as it was left.
pub(super) struct Opened {
    pub(super) core: Arc<Core>,
    pub(super) unfinished: Vec<Arc<Entry>>,
    /// Ended, and their init may not know that the result is safe.
    pub(super) unsettled: Vec<Arc<Entry>>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn open(state: &StateDir, reach: Arc<dyn Reach>) -> Result<Opened, ProcessError> {
    let mut warnings = Vec::new();
    let (store, aside) = Store::open(state)?;
    let spools = state.own("spool")?;
    if let Some(aside) = aside {
        let kept = spools.with_file_name(format!("spool.damaged-{}", now_ms()));
        let moved = std::fs::rename(&spools, &kept).and_then(|()| std::fs::create_dir(&spools));
        let output = match moved {
            Ok(()) => format!("their output is in {}", kept.display()),
            Err(error) => format!("their output could not be moved aside: {error}"),
        };
        warnings.push(format!(
            "the database of process sessions was damaged and is now {}: its sessions are not listed any more; {output}",
            aside.display()
        ));
    }
    let rows = store.load()?;
    let known: HashSet<String> = store.commands()?.iter().map(ToString::to_string).collect();
    sweep_output(&spools, &known);
    let core = Arc::new(Core::new(store, reach, spools, Budget::default()));
    let (mut unfinished, mut unsettled) = (Vec::new(), Vec::new());
    for row in rows {
        let settled = row.end.as_ref().map(|end| end.settled);
        let spool = Spool::reopen(core.spool_dir(row.command), &core.budget)?;
        let entry = Arc::new(Entry::found(row, spool));
        core.entries().insert(entry.id.clone(), Arc::clone(&entry));
        match settled {
            None => unfinished.push(entry),
            Some(false) => unsettled.push(entry),
            Some(true) => {}
        }
    }
    Ok(Opened { core, unfinished, unsettled, warnings })
}

/// Removes output that belongs to no session: its row was removed before it.
fn sweep_output(spools: &Path, known: &HashSet<String>) {
    let Ok(entries) = std::fs::read_dir(spools) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let command = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if command
            && !known.contains(&*name)
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, path = %entry.path().display(), "output of nobody cannot be removed");
        }
    }
}

/// Tells the init of a session that ended that its result is safe here; creel died before it could.
pub(super) async fn settle(core: Arc<Core>, entry: Arc<Entry>) {
    let hidden = entry.lock().hidden;
    if hidden && let Err(error) = core.delete(std::slice::from_ref(&entry)) {
        tracing::warn!(session = %entry.id, %error, "a removed session cannot be forgotten");
    }
    let told = async {
        while !told(&core, &entry).await {
            tokio::time::sleep(SETTLE_AGAIN).await;
        }
    };
    // An init that is not there forgets by itself after a while.
    let _ = tokio::time::timeout(SETTLE_WITHIN, told).await;
    core.store.note_settled(&entry.id);
}

/// Whether its init knows, or will never.
async fn told(core: &Core, entry: &Entry) -> bool {
    if matches!(entry.begin.place, Place::Engine { .. }) {
        return true;
    }
    let link = match core.reach.reach(&entry.begin.place).await {
        Ok(link) => link,
        Err(Unreached::Gone(_)) => return true,
        Err(Unreached::Later(_)) => return false,
    };
    let end = entry.lock().spool.end();
    let adopted = Running::adopt(&link, entry.command, end, entry.begin.shell, Duration::ZERO);
    let Ok(mut running) = adopted else { return false };
    // What it says is known; it only has to be at its end before it may forget.
    loop {
        match running.next().await {
            Ok(Progress::Done(_)) => return running.settle().is_ok(),
            Ok(_) => {}
            Err(error) => return matches!(error, RunError::Unknown { .. }),
        }
    }
}

/// Ends foreground commands whose caller did not come back, and lets finished sessions go when their time has come.
pub(super) async fn housekeeping(core: Arc<Core>) {
    let left: Vec<Arc<Entry>> = core.all().into_iter().filter(|entry| !entry.is_finished()).collect();
    sweep(&core);
    tokio::time::sleep(CALLER_WITHIN).await;
    for entry in left {
        let deserted = {
            let mut state = entry.lock();
            let deserted = !state.claimed && !state.backgrounded && state.phase != Phase::Finished;
            state.deserted |= deserted;
            deserted
        };
        if deserted {
            tracing::info!(session = %entry.id, "its caller did not come back");
            let _ = entry.orders.send(Order::Kill);
        }
    }
    loop {
        sweep(&core);
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}
