//! The end of a session: stored with its notice in one transaction, then told to its init, then to everybody.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::entry::Entry;
use crate::process::notice::{APPROVED_SOURCE, exit_notice, finished_notice};
use crate::process::record::{End, Phase};
use crate::process::store::events::{EventContext, EventKind, NewEvent};
use crate::process::store::now_ms;
use crate::process::store::rows::EndRow;
use crate::runner::{Certainty, Death, Outcome, Running, StartFailure, Transport};
use crate::wire::Stream;

/// Characters of the output that the notice is made of (spec `exec.md` §6.2).
const SNIPPET_SOURCE: usize = 400;
/// Pauses before an end that could not be stored is tried again.
const PAUSES: std::ops::Range<Duration> = Duration::from_millis(100)..Duration::from_secs(5);

/// Stores the end, whatever it takes: until then init keeps the result, and the session is not over for anybody.
pub(super) async fn finish(
    core: &Core,
    entry: &Arc<Entry>,
    outcome: Outcome,
    lost: Option<String>,
    running: Option<&mut Running>,
) {
    let (row, overflowed, notice) = conclude(entry, outcome, lost);
    entry.touch();
    let mut pause = PAUSES.start;
    let told = notice.is_some();
    while let Err(error) = core.store.end(&entry.id, row.clone(), overflowed, notice.clone()).await {
        tracing::error!(session = %entry.id, %error, "the end of a session cannot be stored; trying again");
        entry.lock().trouble = Some(error.to_string());
        entry.touch();
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.end);
    }
    if let Some(running) = running
        && running.settle().is_ok()
    {
        core.store.note_settled(&entry.id);
    }
    let hidden = {
        let mut state = entry.lock();
        state.phase = Phase::Finished;
        state.stored_ms = now_ms();
        state.finalizing = false;
        state.trouble = None;
        state.known = Some((row.chars, row.lost_output));
        state.end = Some(row.end);
        state.held.0.clear();
        state.spool.rest();
        state.hidden
    };
    if told {
        core.events.announce();
    }
    if hidden && let Err(error) = core.delete(std::slice::from_ref(entry)) {
        tracing::warn!(session = %entry.id, %error, "a removed session cannot be forgotten");
    }
    entry.touch();
}

/// What is stored of the end. From here on the session takes no requests.
fn conclude(entry: &Entry, mut outcome: Outcome, lost: Option<String>) -> (EndRow, bool, Option<NewEvent>) {
    let mut state = entry.lock();
    state.finalizing = true;
    if state.deserted && !state.requested && outcome.death == Death::Cancelled {
        outcome.death = Death::OwnerLost;
    }
    if lost.is_some() {
        // What was seen over the last connection is not all that came.
        let wall = now_ms().saturating_sub(entry.started_ms);
        outcome.wall = outcome.wall.max(Duration::from_millis(wall));
        let [out, err] = stored_bytes(&state.spool);
        (outcome.stdout_bytes, outcome.stderr_bytes) =
            (outcome.stdout_bytes.max(out), outcome.stderr_bytes.max(err));
    }
    let (chars, lost_output) = state.printed(&entry.begin);
    let at_ms = ended_at(entry.started_ms, state.met && lost.is_none(), outcome.wall, now_ms());
    let end = End { outcome, at_ms, requested: state.requested, lost };
    let mut view = state.view(entry);
    view.phase = Phase::Finished;
    view.end = Some(end.clone());
    let notice = if state.hidden { None } else { notice(&state, &view) };
    let row = EndRow { end, chars, lost_output, pid: state.pid, settled: false };
    (row, state.fold.overflowed(), notice)
}

/// When it ended: of a command that was found again by its init's clock, since its end may be long ago.
fn ended_at(started_ms: u64, found_again: bool, wall: Duration, now_ms: u64) -> u64 {
    if !found_again || wall.is_zero() {
        return now_ms;
    }
    started_ms.saturating_add(u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)).min(now_ms)
}

fn notice(state: &super::entry::State, view: &crate::process::record::View) -> Option<NewEvent> {
    let session_key = view.begin.session_key.clone()?;
    if let Some(approval) = &view.begin.approval {
        let output = state.fold.tail(&state.spool, APPROVED_SOURCE, true).unwrap_or_default();
        let text = finished_notice(view, &output.text, output.truncated)?;
        let context = EventContext {
            key: approval.clone(),
            delivery: view.begin.delivery.clone(),
            wake: !view.begin.subagent,
        };
        return Some(NewEvent { session_key, kind: EventKind::ExecFinished, text, context });
    }
    let source = state.fold.tail(&state.spool, SNIPPET_SOURCE, true).unwrap_or_default();
    let text = exit_notice(view, &source.text)?;
    let context = EventContext {
        key: format!("exec:{}", view.id),
        delivery: view.begin.delivery.clone(),
        wake: !view.begin.subagent,
    };
    Some(NewEvent { session_key, kind: EventKind::ExecExit, text, context })
}

/// Bytes of both streams, as far as they were kept apart.
fn stored_bytes(spool: &crate::process::spool::Spool) -> [u64; 2] {
    let mut bytes = [spool.first(), 0];
    let [out, err] = &mut bytes;
    let read = spool.read(0, |piece| {
        let length = u64::try_from(piece.data.len()).unwrap_or(0);
        *if piece.stream == Stream::Stderr { &mut *err } else { &mut *out } += length;
        ControlFlow::Continue(())
    });
    if let Err(error) = read {
        tracing::warn!(%error, "output cannot be read back");
    }
    bytes
}

/// A session whose command never ran, as its init says: nobody was told of it, so nothing is kept.
pub(super) fn never_ran(core: &Core, entry: &Arc<Entry>) {
    tracing::debug!(session = %entry.id, "its command was never started");
    // Whoever waits for it learns that before it is gone.
    entry.lock().never_ran = true;
    if let Err(error) = core.delete(std::slice::from_ref(entry)) {
        tracing::warn!(session = %entry.id, %error, "a session that never ran cannot be forgotten");
    }
}

/// The end of a command of which nothing more is to be had.
pub(super) fn lost_outcome(entry: &Entry, death: Death) -> Outcome {
    let transport = match entry.begin.place {
        crate::process::record::Place::Engine { .. } => Transport::Engine,
        _ => Transport::Init,
    };
    Outcome { death, ..unknown(transport) }
}

/// The end of a command that its init would not start.
pub(super) fn not_started(transport: Transport, errno: i32) -> Outcome {
    let start_failure = Some(StartFailure::Process);
    Outcome { death: Death::NotStarted, start_failure, errno, ..unknown(transport) }
}

fn unknown(transport: Transport) -> Outcome {
    Outcome {
        death: Death::EngineLost,
        certainty: Certainty::Certain,
        code: None,
        signal: None,
        start_failure: None,
        errno: 0,
        wall: Duration::ZERO,
        usage: None,
        processes: None,
        stdout_bytes: 0,
        stderr_bytes: 0,
        full: Vec::new(),
        limits: None,
        transport,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_was_found_again_ended_when_its_init_says() {
        let wall = Duration::from_secs(3);
        assert_eq!(ended_at(1_000, true, wall, 90_000), 4_000);
        assert_eq!(ended_at(1_000, false, wall, 90_000), 90_000);
        assert_eq!(ended_at(1_000, true, Duration::ZERO, 90_000), 90_000);
        assert_eq!(ended_at(1_000, true, wall, 2_000), 2_000, "never in the future");
    }
}
