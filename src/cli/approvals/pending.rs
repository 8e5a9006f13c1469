//! `creel approvals pending` and `show`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::desk::Desk;
use super::question::{block, span};
use crate::approvals::desk::{Record, id::terminal_form};
use crate::cli::print;
use crate::error::Failure;
use crate::process::store::now_ms;
use crate::shown::one_line;

/// Characters of a command in the table; the whole text is below it.
const SUMMARY: usize = 60;

/// Lists what waits, the newest first.
pub(super) async fn run(desk: &Desk, json: bool) -> Result<ExitCode, Failure> {
    let told = desk.ask("approvals.pending", json!({})).await?;
    let records: Vec<Record> = super::desk::read(told.get("approvals").cloned().unwrap_or(Value::Null))?;
    if json {
        let rows: Vec<Value> = records.iter().map(row).collect();
        print::compact(&json!({ "approvals": rows }));
        return Ok(ExitCode::SUCCESS);
    }
    if records.is_empty() {
        print::line("Nothing waits for a person.");
        return Ok(ExitCode::SUCCESS);
    }
    let now = now_ms();
    for record in &records {
        let command = crate::process::shorten::middle(&one_line(&record.command_text), SUMMARY);
        let left = span(record.expires_at_ms.saturating_sub(now));
        print::line(&format!(
            "{}  {left:>7}  {}  {command}",
            terminal_form(&record.id),
            one_line(&record.agent_id)
        ));
    }
    for record in &records {
        print::line(&format!("\n{}", block(record, now)));
    }
    print::line(
        "\ncreel approvals approve ID | creel approvals approve ID --always | creel approvals deny ID",
    );
    Ok(ExitCode::SUCCESS)
}

/// The shape of the specification (16.1).
fn row(record: &Record) -> Value {
    json!({
        "id": record.id,
        "kind": record.kind,
        "agentId": record.agent_id,
        "sessionKey": record.session_key,
        "createdAtMs": record.created_at_ms,
        "expiresAtMs": record.expires_at_ms,
        "summary": record.command_text,
    })
}

/// Shows one question, or how it ended.
pub(super) async fn show(desk: &Desk, id: &str, json: bool) -> Result<ExitCode, Failure> {
    let record = desk.record(id).await?;
    if json {
        print::compact(&json!({ "approval": record }));
    } else {
        print::line(&block(&record, now_ms()));
    }
    Ok(ExitCode::SUCCESS)
}
