//! Questions as rows of creel's database. A row says how a question stands; whoever changes it from `pending` has ended it.

use rusqlite::{OptionalExtension as _, Transaction};

use super::grant::DAY_MS;
use super::{Record, Status};
use crate::process::store::events::{EventContext, EventKind, NewEvent, insert};

/// How long ended questions are kept (9.21).
const HISTORY_MS: u64 = 30 * DAY_MS;
/// Events about questions of one conversation that wait at most: they must not push out what else it should hear.
const EVENTS: i64 = 8;

/// How a question ended, with the events about it.
pub(super) fn end(tx: &Transaction<'_>, record: &Record, event: Option<&NewEvent>) -> rusqlite::Result<bool> {
    let now = record.resolved_at_ms.unwrap_or_default();
    let changed = tx.execute(
        "UPDATE approvals SET status = ?2, record_json = ?3, resolved_ms = ?4 WHERE id = ?1 AND status = 'pending'",
        (&record.id, record.status.word(), json(record), signed(now)),
    )?;
    if changed == 0 {
        return Ok(false);
    }
    tx.execute(
        "DELETE FROM events WHERE context_key = ?1 AND kind = ?2 AND delivered_ms IS NULL",
        (key(&record.id), EventKind::ApprovalRequested.name()),
    )?;
    tell(tx, event, now)?;
    Ok(true)
}

/// Stores a question. What has been over for long goes.
pub(super) fn begin(
    tx: &Transaction<'_>,
    record: &Record,
    event: Option<&NewEvent>,
) -> rusqlite::Result<bool> {
    let now = record.created_at_ms;
    tx.execute(
        "DELETE FROM approvals WHERE status <> 'pending' AND resolved_ms < ?1",
        [signed(now.saturating_sub(HISTORY_MS))],
    )?;
    let added = tx.execute(
        "INSERT OR IGNORE INTO approvals (id, status, record_json, created_ms, expires_ms, resolved_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (
            &record.id,
            record.status.word(),
            json(record),
            signed(now),
            signed(record.expires_at_ms),
            record.resolved_at_ms.map(signed),
        ),
    )?;
    if added == 1 {
        tell(tx, event, now)?;
    }
    Ok(added == 1)
}

fn tell(tx: &Transaction<'_>, event: Option<&NewEvent>, now: u64) -> rusqlite::Result<()> {
    let Some(event) = event else { return Ok(()) };
    insert(tx, event, now)?;
    tx.execute(
        "DELETE FROM events WHERE session_key = ?1 AND kind IN (?2, ?3) AND delivered_ms IS NULL AND seq NOT IN \
         (SELECT seq FROM events WHERE session_key = ?1 AND kind IN (?2, ?3) AND delivered_ms IS NULL \
         ORDER BY seq DESC LIMIT ?4)",
        (
            &event.session_key,
            EventKind::ApprovalRequested.name(),
            EventKind::ApprovalResolved.name(),
            EVENTS,
        ),
    )?;
    Ok(())
}

/// Takes an approval for its one run. False when it was taken before.
pub(super) fn consume(tx: &Transaction<'_>, id: &str, by: &str, now: u64) -> rusqlite::Result<bool> {
    let changed = tx.execute(
        "UPDATE approvals SET consumed_ms = ?2, consumed_by = ?3 WHERE id = ?1 AND consumed_ms IS NULL",
        (id, signed(now), by),
    )?;
    Ok(changed == 1)
}

/// Ends what waited when another creel ended (9.20). How many there were.
pub(super) fn cancel_old(tx: &Transaction<'_>, now: u64) -> rusqlite::Result<usize> {
    let old: Vec<Record> = {
        let mut query =
            tx.prepare("SELECT record_json, consumed_ms FROM approvals WHERE status = 'pending'")?;
        let rows = query.query_map([], read)?;
        rows.filter_map(Result::transpose).collect::<rusqlite::Result<_>>()?
    };
    for record in &old {
        let ended = Record {
            status: Status::Cancelled,
            reason: Some(super::RESTART.to_owned()),
            resolved_at_ms: Some(now),
            resolver: Some(super::Resolver::system()),
            ..record.clone()
        };
        end(tx, &ended, None)?;
    }
    // What cannot be read is over too.
    tx.execute(
        "UPDATE approvals SET status = 'cancelled', resolved_ms = ?1 WHERE status = 'pending'",
        [signed(now)],
    )?;
    Ok(old.len())
}

/// One question by its exact id.
pub(super) fn find(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<Record>> {
    let mut query = tx.prepare_cached("SELECT record_json, consumed_ms FROM approvals WHERE id = ?1")?;
    Ok(query.query_row([id], read).optional()?.flatten())
}

/// The newest that have ended.
pub(super) fn history(tx: &Transaction<'_>, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let mut query = tx.prepare_cached(
        "SELECT record_json, consumed_ms FROM approvals WHERE status <> 'pending' ORDER BY resolved_ms DESC, rowid DESC LIMIT ?1",
    )?;
    let rows = query.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], read)?;
    rows.filter_map(Result::transpose).collect()
}

/// A record that cannot be read is none: nothing is allowed by it.
fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Record>> {
    let text: String = row.get(0)?;
    let consumed: Option<i64> = row.get(1)?;
    let record = serde_json::from_str::<Record>(&text).ok();
    Ok(record.map(|record| Record { consumed_at_ms: consumed.map(unsigned), ..record }))
}

fn json(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// What the events about a question carry: apart from those about its run, which carry the id alone.
fn key(id: &str) -> String {
    format!("approval:{id}")
}

/// An event about a question. Never wakes: a surface looks, a conversation is told of the run.
pub(super) fn event(
    record: &Record,
    kind: EventKind,
    delivery: &crate::process::record::Delivery,
    text: String,
) -> NewEvent {
    let session_key = record.session_key.clone().unwrap_or_else(|| format!("agent:{}:main", record.agent_id));
    let context = EventContext { key: key(&record.id), delivery: delivery.clone(), wake: false };
    NewEvent { session_key, kind, text, context }
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
