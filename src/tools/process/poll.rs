//! `poll`: what is new, and how the session stands (spec `exec.md` §7.5).

use std::time::Duration;

use tokio::time::Instant;

use super::desk::{self, Desk};
use super::params::{self, Params};
use super::polls::Taken;
use super::{Reply, notes};
use crate::process::ending::Ending;
use crate::process::record::{SessionId, View};
use crate::process::said;
use crate::shown;

/// The longest that a poll waits.
const LONGEST: Duration = Duration::from_secs(30);

/// How often a waiting poll looks, should no news reach it.
const LOOK: Duration = Duration::from_millis(250);

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId, params: &Params) -> Result<Reply, Reply> {
    desk.any(id)?;
    let taken = if let Some(taken) = desk.polls.again(id, desk.call) {
        taken
    } else {
        await_news(desk, id, params.timeout).await;
        // Nothing is taken for somebody who is gone.
        tokio::select! {
            () = desk.presence.here() => {}
            () = desk.cancel.cancelled() => {}
        }
        if desk.cancel.is_cancelled() {
            return Err(Reply::failed("The call was cancelled; no output was taken."));
        }
        take(desk, id)?
    };
    // Its end is recorded after its last output: seen in this order, nothing printed is missing from the answer that
    // tells the end.
    let view = desk.any(id)?;
    let rest = if desk::over(&view) { take_rest(desk, id)? } else { Taken::default() };
    let taken = taken.and(rest);
    desk.polls.keep(id, desk.call, &taken);
    Ok(answer(desk, &view, &taken).taking(taken.receipts))
}

fn take(desk: &Desk<'_>, id: &SessionId) -> Result<Taken, Reply> {
    let (drained, receipt) = desk.sessions.take(id).map_err(|error| desk::trouble("read", id, &error))?;
    Ok(Taken { text: drained.text, dropped: drained.dropped, receipts: vec![receipt] })
}

fn take_rest(desk: &Desk<'_>, id: &SessionId) -> Result<Taken, Reply> {
    if desk.sessions.pending(id) { take(desk, id) } else { Ok(Taken::default()) }
}

/// Waits for output, for the end, for the caller's patience, or for its cancellation.
async fn await_news(desk: &Desk<'_>, id: &SessionId, timeout: Option<f64>) {
    let patience = Duration::from_millis(params::whole(timeout.unwrap_or_default())).min(LONGEST);
    let deadline = Instant::now() + patience;
    loop {
        let news = desk.sessions.pending(id) || desk.sessions.view(id).is_none_or(|view| desk::over(&view));
        let left = deadline.saturating_duration_since(Instant::now());
        if news || left.is_zero() {
            return;
        }
        tokio::select! {
            () = desk.sessions.changed(id, left.min(LOOK)) => {}
            () = desk.cancel.cancelled() => return,
        }
    }
}

fn answer(desk: &Desk<'_>, view: &View, taken: &Taken) -> Reply {
    let new = taken.text.trim();
    let body = if new.is_empty() { said::NO_NEW_OUTPUT } else { new };
    let aggregated = desk.sessions.aggregate(&view.id);
    let left_out =
        taken.dropped.then(|| if aggregated.is_ok() { said::LEFT_OUT } else { said::LEFT_OUT_GONE });
    let begun = notes::before(body, [view.lost_output.then_some(said::LOST), left_out]);
    let aggregated = aggregated.map(|kept| kept.text).unwrap_or_default();
    match &view.end {
        None => running(desk, view, &begun, !new.is_empty() || taken.dropped),
        Some(end) => {
            desk.polls.reset(&view.id);
            let ending = Ending::of(end);
            let unsure = end.lost.as_deref().map(|reason| {
                format!("[How it ended could not be learned from its init: {}.]", shown::one_line(reason))
            });
            let text = notes::after(format!("{begun}\n\n{}", said::exit_line(&ending)), [unsure]);
            Reply::new(text, ending.polled().as_str()).about(view).account(view, &ending)
        }
    }
    .with("aggregated", aggregated)
}

fn running(desk: &Desk<'_>, view: &View, begun: &str, brought: bool) -> Reply {
    let (now, threshold) = (desk::now_ms(), desk.polls.threshold());
    let hint = notes::input_hint(view, now, threshold);
    let text = notes::after(format!("{begun}\n\n{}", said::STILL_RUNNING), [hint]);
    Reply::new(text, "running")
        .about(view)
        .input(view, now, threshold)
        .with("retryInMs", desk.polls.retry_in(&view.id, brought))
}
