//! `screen`: what the session's terminal shows (design §9; creel's own).

use super::Reply;
use super::desk::{self, Desk};
use super::eyes::Eyes;
use super::reply;
use crate::process::ending::Ending;
use crate::process::record::{SessionId, View};
use crate::process::screen as drawn;
use crate::shown;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId) -> Result<Reply, Reply> {
    let view = desk.any(id)?;
    let eyes = Eyes::open(desk, &view).await?;
    let seen = eyes.screen()?.view();
    let text = format!("{}\n\n{}", rows(&seen), legend(&view, &seen, eyes.partial()));
    let ending = view.end.as_ref().map(Ending::of);
    let status = ending.as_ref().map_or("running", |ending| ending.polled().as_str());
    let reply = Reply::new(text, status)
        .about(&view)
        .with("screen", reply::json(&seen))
        .with("partial", eyes.partial())
        .with("tty", view.begin.tty.is_some());
    Ok(match &ending {
        None => reply.input(&view, desk::now_ms(), desk.polls.threshold()),
        Some(ending) => reply.account(&view, ending),
    })
}

/// The rows down to the last that shows something.
pub(super) fn rows(seen: &drawn::View) -> String {
    let used = seen.rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    match used {
        0 => "(empty screen)".to_owned(),
        used => shown::lines(&seen.rows.iter().take(used).cloned().collect::<Vec<_>>().join("\n")),
    }
}

/// What the rows do not show.
fn legend(view: &View, seen: &drawn::View, partial: bool) -> String {
    let drawn::View { columns, cursor, title, .. } = seen;
    let kind = if view.begin.tty.is_some() { "Terminal" } else { "Output on pipes, drawn as a terminal" };
    let hidden = if cursor.visible { "" } else { " (hidden)" };
    let title = title.as_ref().map(|title| format!("; title {}", shown::one_line(title))).unwrap_or_default();
    let partial = if partial { "; drawn from the end of the output alone" } else { "" };
    format!(
        "[{kind} of {columns} columns and {} rows; cursor in row {}, column {}{hidden}, counted from \
         0{title}{partial}.]",
        seen.rows.len(),
        cursor.row,
        cursor.column,
    )
}
