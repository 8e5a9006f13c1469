//! The list of sessions.

use serde_json::{Value, json};

use super::{Desk, read};
use crate::cli::paint::Paint;
use crate::cli::print;
use crate::error::Failure;
use crate::keeper::Row;
use crate::shown;

/// Characters of a command that a line shows.
const COMMAND: usize = 80;

pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    let told = desk.ask("process.list", json!({ "agent": desk.agent })).await?;
    if desk.json {
        print::json(&told);
        return Ok(());
    }
    let rows: Vec<Row> = read(told.get("sessions").cloned().unwrap_or(Value::Null))?;
    if rows.is_empty() {
        print::line("no running or recent sessions");
        return Ok(());
    }
    let paint = Paint::of_stdout();
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (ids, agents) = (width(|row| row.session_id.len()), width(|row| row.agent.len()));
    for row in &rows {
        let status = format!("{:9}", row.status);
        let status = match row.status.as_str() {
            "running" => paint.good(&status),
            "failed" => paint.bad(&status),
            _ => paint.faint(&status),
        };
        let place = if row.foreground { "foreground" } else { row.host.as_str() };
        print::painted(&format!(
            "{:ids$} {:agents$} {status} {:10} {:>7} {}",
            shown::one_line(&row.session_id),
            shown::one_line(&row.agent),
            shown::one_line(place),
            duration(row.runtime_ms),
            short(row.title.as_deref().unwrap_or(&row.command)),
        ));
    }
    Ok(())
}

/// One line of a text that somebody else wrote.
fn short(text: &str) -> String {
    let line = shown::one_line(text);
    match line.char_indices().nth(COMMAND) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or(&line)),
        None => line,
    }
}

/// Two units at most.
fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_of_limited_length() {
        assert_eq!(short("a\nb\u{1b}[2J"), r"a\nb\u{1b}[2J");
        assert_eq!(short(&"x".repeat(500)).chars().count(), COMMAND + 1);
        assert_eq!(
            ["446ms", "45s", "2m5s", "1h30m"].map(str::to_owned),
            [446, 45_000, 125_000, 5_400_000].map(duration)
        );
    }
}
