//! `list`: the sessions of the agent, newest start first (spec `exec.md` §7.2, §7.3).

use serde_json::Value;

use super::Reply;
use super::desk::{self, Desk};
use super::reply;
use crate::process::duration::compact;
use crate::process::ending::Ending;
use crate::process::record::View;
use crate::process::said::{self, IdleThreshold};
use crate::process::shorten;
use crate::runner::Death;
use crate::shown;

/// Characters of a session's end of output.
const TAIL: usize = 2000;

/// Characters of a name in a line.
const MAX_NAME: usize = 80;

/// Characters of a command that has no name.
const MAX_COMMAND: usize = 120;

pub(super) fn run(desk: &Desk<'_>) -> Reply {
    let (now, views) = (desk::now_ms(), desk.listed());
    desk.polls.prune(|id| desk.sessions.view(id).is_some());
    let threshold = desk.polls.threshold();
    let lines: Vec<String> = views.iter().map(|view| line(view, now, threshold)).collect();
    let entries: Vec<Value> = views.iter().map(|view| entry(desk, view, now)).collect();
    let text = if lines.is_empty() { "No running or recent sessions.".to_owned() } else { lines.join("\n") };
    Reply::new(text, "completed").with("sessions", entries)
}

fn entry(desk: &Desk<'_>, view: &View, now_ms: u64) -> Value {
    let ending = view.end.as_ref().map(Ending::of);
    let common = Reply::new("", status(ending.as_ref()))
        .about(view)
        .with("startedAt", view.started_at_ms)
        .with("runtimeMs", runtime_ms(view, now_ms))
        .with("cwd", view.begin.cwd.clone())
        .with("command", view.begin.command.clone())
        .maybe("title", view.begin.title.clone())
        .with("host", reply::json(&view.begin.host))
        .with("tail", desk.sessions.tail(&view.id, TAIL).unwrap_or_default())
        .with("truncated", view.lost_output || view.lost_pending);
    let whole = match &ending {
        None => common.maybe("pid", view.pid).input(view, now_ms, desk.polls.threshold()),
        Some(ending) => common.maybe("endedAt", view.end.as_ref().map(|end| end.at_ms)).exit(ending),
    };
    whole.into_fields()
}

/// One line of the list.
fn line(view: &View, now_ms: u64, threshold: IdleThreshold) -> String {
    let ending = view.end.as_ref().map(Ending::of);
    let limit = match ending.as_ref().map(|ending| ending.death) {
        Some(Death::Timeout) => " [overall-timeout]",
        Some(Death::NoOutputTimeout) => " [no-output-timeout]",
        _ => "",
    };
    let waits = if said::waits_for_input(view, now_ms, threshold) { " [input-wait]" } else { "" };
    let name = match desk::label(view) {
        Some(name) => shorten::middle(&name, MAX_NAME),
        None => shorten::middle(&shown::one_line(&view.begin.command), MAX_COMMAND),
    };
    let runtime = compact(runtime_ms(view, now_ms));
    format!("{} {:<9} {runtime}{limit}{waits} :: {name}", view.id, status(ending.as_ref()))
}

fn status(ending: Option<&Ending>) -> &'static str {
    ending.map_or("running", |ending| ending.status.as_str())
}

fn runtime_ms(view: &View, now_ms: u64) -> u64 {
    view.end.as_ref().map_or(now_ms, |end| end.at_ms).saturating_sub(view.started_at_ms)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::process::fixture;

    #[test]
    fn lines() {
        let at = |mut view: View, command: &str| {
            command.clone_into(&mut view.begin.command);
            line(&view, 46_000, IdleThreshold::default())
        };
        assert_eq!(at(fixture::running(1000), "npm run build"), "keen-otter running   45s :: npm run");
        let waiting = View { stdin_writable: true, ..fixture::running(1000) };
        assert_eq!(at(waiting, "sh"), "keen-otter running   45s [input-wait] :: sh");
        let done = fixture::finished(Death::Exit, Some(3), None);
        assert_eq!(at(done, "make -j 4"), "keen-otter completed 2s :: make 4");
        let late = fixture::finished(Death::Timeout, None, Some(15));
        assert_eq!(at(late, "sleep 100"), "keen-otter failed    2s [overall-timeout] :: sleep 100");
        let long = format!("/{}/tool", "d".repeat(200));
        assert!(at(fixture::running(1000), &long).chars().count() <= 24 + 4 + MAX_NAME);
        assert_eq!(at(fixture::running(1000), " \n"), r"keen-otter running   45s ::  \n");
    }
}
