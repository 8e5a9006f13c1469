//! `log`: lines of the output that is kept; nothing is taken away (spec `exec.md` §7.6).

use super::desk::{self, Desk};
use super::params::{self, Params};
use super::{Reply, notes};
use crate::process::ending::Ending;
use crate::process::lines::{self, Selected};
use crate::process::record::{SessionId, View};
use crate::process::said;

pub(super) fn run(desk: &Desk<'_>, id: &SessionId, params: &Params) -> Result<Reply, Reply> {
    let view = desk.any(id)?;
    let kept = desk.sessions.aggregate(id).map_err(|error| desk::trouble("read", id, &error))?;
    let selected = lines::select(&kept.text, params.offset.map(count), params.limit.map(count));
    let lost = view.lost_output || kept.truncated;
    let (now, threshold) = (desk::now_ms(), desk.polls.threshold());
    let ending = view.end.as_ref().map(Ending::of);
    let retry = ending.as_ref().is_some_and(Ending::timed_out).then(|| said::RETRY.to_owned());
    let notes = [note(&selected), notes::input_hint(&view, now, threshold), retry];
    let text = notes::after(notes::before(&body(&view, &selected), [lost.then_some(said::LOST)]), notes);
    let status = ending.as_ref().map_or("running", |ending| ending.polled().as_str());
    let reply = Reply::new(text.clone(), status)
        .about(&view)
        .with("output", text)
        .with("total", selected.total)
        .with("totalLines", selected.total)
        .with("totalChars", kept.text.chars().count())
        .with("truncated", lost || view.lost_pending);
    Ok(match &ending {
        None => reply.input(&view, now, threshold),
        Some(ending) => reply.account(&view, ending),
    })
}

fn count(number: f64) -> usize {
    usize::try_from(params::whole(number)).unwrap_or(usize::MAX)
}

fn body(view: &View, selected: &Selected<'_>) -> String {
    match (selected.lines.is_empty(), desk::over(view)) {
        (false, _) => selected.lines.join("\n"),
        (true, false) => "(no output yet)".to_owned(),
        (true, true) => "(no output recorded)".to_owned(),
    }
}

/// What the caller should know of the choice.
fn note(selected: &Selected<'_>) -> Option<String> {
    let Selected { lines, total, shortened } = selected;
    if *shortened {
        Some(format!("[The last {} of {total} lines; read others with offset and limit.]", lines.len()))
    } else if lines.is_empty() && *total > 0 {
        Some(format!("[None of the {total} lines that are kept was asked for; they count from 0.]"))
    } else {
        None
    }
}
