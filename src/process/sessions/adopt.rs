//! Finds a command again: after a restart, or after a connection that broke.

use std::time::Duration;

use super::Unreached;
use super::core::Core;
use super::entry::Entry;
use super::finish::{lost_outcome, not_started};
use crate::process::record::{Phase, Place};
use crate::runner::host::end_orphans;
use crate::runner::{Death, Outcome, Progress, RunError, Running, Transport};

/// Pauses between two attempts to reach an init.
const PAUSES: std::ops::Range<Duration> = Duration::from_millis(20)..Duration::from_secs(5);
/// How long the init may take to say that it knows the command.
const ANSWER: Duration = Duration::from_secs(10);
/// A command of which only a request is known may be on its way still, over the connection of the creel that died: so
/// often is asked before it counts as never started.
const ASKED_FOR_NEW: u32 = 4;

/// What became of a command.
pub(super) enum Found {
    /// It runs or waits to tell its end; output goes on where the spool ends.
    ///
    /// Its input goes on at this place; where none is told here, it is told next.
    Running(Box<Running>, Option<u64>),
    /// It was never started.
    NeverRan,
    /// Nothing more is to be had of it, and why.
    Lost(Outcome, String),
}

/// Looks for the command until its fate is known, however long that takes.
pub(super) async fn find(core: &Core, entry: &Entry) -> Found {
    if let Place::Engine { name } = &entry.begin.place {
        let reason =
            format!("it ran in {name} over the engine's exec API, which ends with the creel that started it");
        return Found::Lost(lost_outcome(entry, Death::EngineLost), reason);
    }
    let (mut pause, mut unknown) = (PAUSES.start, 0);
    loop {
        match attempt(core, entry).await {
            Attempt::Known(running, place) => return Found::Running(running, place),
            Attempt::Unknown => {
                unknown += 1;
                if let Some(found) = without(entry, unknown) {
                    return found;
                }
            }
            Attempt::Gone(reason) => {
                let host = matches!(entry.begin.place, Place::Host { .. });
                let death = if host { Death::SupervisorLost } else { Death::SandboxStopped };
                let reason = without_init(entry, reason).await;
                return Found::Lost(lost_outcome(entry, death), reason);
            }
            Attempt::Later(reason) => {
                tracing::debug!(session = %entry.id, %reason, "not reached");
                entry.lock().trouble = Some(reason);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.end);
    }
}

/// A host command whose supervisor is gone has nobody left that ends it: what is known as its own is ended here.
pub(super) async fn without_init(entry: &Entry, reason: String) -> String {
    if !matches!(entry.begin.place, Place::Host { .. }) {
        return reason;
    }
    let command = entry.command;
    let ended = tokio::task::spawn_blocking(move || end_orphans(command)).await;
    match ended {
        Ok((0, true)) | Err(_) => reason,
        Ok((count, true)) => format!("{reason}; {count} of its processes were left and have been killed"),
        Ok((count, false)) => format!("{reason}; {count} of its processes were killed, and there are more"),
    }
}

/// Its init does not know it, as it said so often.
fn without(entry: &Entry, times: u32) -> Option<Found> {
    let (confirmed, told) = {
        let state = entry.lock();
        (state.confirmed, state.backgrounded)
    };
    match (confirmed, times >= ASKED_FOR_NEW) {
        (false, false) => None,
        // Nobody was told of it.
        (false, true) if !told => Some(Found::NeverRan),
        (false, true) => {
            let reason = "the request to start it never reached its init: it did not run".to_owned();
            Some(Found::Lost(not_started(Transport::Init, 0), reason))
        }
        (true, _) => {
            let reason = "its init does not know it any more".to_owned();
            Some(Found::Lost(lost_outcome(entry, Death::EngineLost), reason))
        }
    }
}

enum Attempt {
    Known(Box<Running>, Option<u64>),
    Unknown,
    Gone(String),
    Later(String),
}

async fn attempt(core: &Core, entry: &Entry) -> Attempt {
    let link = match core.reach.reach(&entry.begin.place).await {
        Ok(link) => link,
        Err(Unreached::Gone(reason)) => return Attempt::Gone(reason),
        Err(Unreached::Later(reason)) => return Attempt::Later(reason),
    };
    let from = entry.lock().spool.end();
    let grace = Duration::from_millis(entry.begin.grace_ms);
    let mut running = match Running::adopt(&link, entry.command, from, entry.begin.shell, grace) {
        Ok(running) => running,
        Err(error) => return Attempt::Later(error.to_string()),
    };
    // The first word of init is whether it knows the command; what follows is for whoever follows it.
    match tokio::time::timeout(ANSWER, running.next()).await {
        Ok(Ok(Progress::Started(pid))) => {
            known(core, entry, Some(pid), false);
            Attempt::Known(Box::new(running), None)
        }
        Ok(Ok(Progress::Input { taken, closed })) => {
            known(core, entry, None, closed);
            Attempt::Known(Box::new(running), Some(taken))
        }
        Ok(Ok(_)) => Attempt::Later("its init speaks out of turn".to_owned()),
        Ok(Err(RunError::Unknown { .. })) => Attempt::Unknown,
        Ok(Err(error)) => Attempt::Later(error.to_string()),
        Err(_) => Attempt::Later("its init does not answer".to_owned()),
    }
}

fn known(core: &Core, entry: &Entry, pid: Option<i32>, input_closed: bool) {
    let mut state = entry.lock();
    state.pid = pid.or(state.pid);
    state.input_closed |= input_closed;
    state.trouble = None;
    state.met = true;
    if state.phase == Phase::Starting {
        state.phase = Phase::Foreground;
    }
    drop(state);
    core.confirm(entry);
    entry.touch();
}
