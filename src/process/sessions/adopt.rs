//! Finds a command again: after a restart, or after a connection that broke.

use std::time::Duration;

use super::Unreached;
use super::core::Core;
use super::entry::Entry;
use super::finish::lost_outcome;
use crate::process::record::{Phase, Place};
use crate::runner::{Death, LinkError, Outcome, Progress, RunError, Running};
use crate::wire::Refusal;

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
    Running(Box<Running>),
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
            Attempt::Known(running) => return Found::Running(running),
            Attempt::Unknown => {
                unknown += 1;
                if let Some(found) = without(entry, unknown) {
                    return found;
                }
            }
            Attempt::Gone(reason) => {
                let host = matches!(entry.begin.place, Place::Host { .. });
                let death = if host { Death::SupervisorLost } else { Death::SandboxStopped };
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

/// Its init does not know it, as it said so often.
fn without(entry: &Entry, times: u32) -> Option<Found> {
    let new = entry.lock().phase == Phase::Starting;
    match (new, times >= ASKED_FOR_NEW) {
        (true, false) => None,
        (true, true) => Some(Found::NeverRan),
        (false, _) => {
            let reason = "its init does not know it (any more)".to_owned();
            Some(Found::Lost(lost_outcome(entry, Death::EngineLost), reason))
        }
    }
}

enum Attempt {
    Known(Box<Running>),
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
            known(core, entry, pid);
            Attempt::Known(Box::new(running))
        }
        Ok(Ok(_)) => Attempt::Later("its init speaks out of turn".to_owned()),
        Ok(Err(RunError::Link(LinkError::Refused { reason: Refusal::Unknown, .. }))) => Attempt::Unknown,
        Ok(Err(error)) => Attempt::Later(error.to_string()),
        Err(_) => Attempt::Later("its init does not answer".to_owned()),
    }
}

fn known(core: &Core, entry: &Entry, pid: i32) {
    let mut state = entry.lock();
    if pid > 0 {
        state.pid = Some(pid);
    }
    state.trouble = None;
    if state.phase == Phase::Starting {
        state.phase = Phase::Foreground;
        core.store.note_phase(&entry.id, Phase::Foreground);
    }
    drop(state);
    entry.touch();
}
