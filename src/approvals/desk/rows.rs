//! Questions as rows of creel's database. A row says how a question stands; whoever changes it from `pending` has ended it.

use rusqlite::{OptionalExtension as _, Transaction};

use super::grant::DAY_MS;
use super::{Record, Status};
use crate::process::record::Delivery;
use crate::process::store::events::{EventContext, EventKind, LIFE_MS, NewEvent, insert, insert_once};

/// How long ended questions are kept (9.21).
const HISTORY_MS: u64 = 30 * DAY_MS;
/// How the outcome of an approval begins after which nothing was started.
pub(super) const NOT_STARTED: &str = "not-started: ";
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
        let delivery = delivery(tx, &record.id)?;
        end(tx, &ended, None)?;
        restarted(tx, &ended, delivery, now)?;
    }
    lost(tx, now)?;
    // What cannot be read is over too.
    tx.execute(
        "UPDATE approvals SET status = 'cancelled', resolved_ms = ?1 WHERE status = 'pending'",
        [signed(now)],
    )?;
    Ok(old.len())
}

/// Tells that creel ended while a question waited: nothing of it runs, whoever answers.
pub(super) fn restarted(
    tx: &Transaction<'_>,
    record: &Record,
    delivery: Delivery,
    now: u64,
) -> rusqlite::Result<()> {
    let Record { host, id, command_text, .. } = record;
    follow_up(
        tx,
        record,
        delivery,
        format!("Exec denied ({host} id={id}, {}): {command_text}", super::RESTART),
        now,
    )
}

/// Tells of what was approved and taken, and of which no session began: creel was killed in between. It is told once, as long
/// as it is of interest.
fn lost(tx: &Transaction<'_>, now: u64) -> rusqlite::Result<()> {
    let since = signed(now.saturating_sub(LIFE_MS));
    let lost: Vec<Record> = {
        let mut query = tx.prepare(
            "SELECT record_json, consumed_ms FROM approvals WHERE status = 'allowed' AND consumed_by = 'exec' \
             AND consumed_ms > ?1 \
             AND NOT EXISTS (SELECT 1 FROM sessions WHERE instr(begin_json, '\"' || approvals.id || '\"') > 0)",
        )?;
        let rows = query.query_map([since], read)?;
        rows.filter_map(Result::transpose).collect::<rusqlite::Result<_>>()?
    };
    for record in lost {
        let delivery = delivery(tx, &record.id)?;
        let text = format!(
            "Approval {} was approved, and was not started: creel was restarted. {}",
            record.id, record.command_text
        );
        outcome(tx, &record.id, &format!("{NOT_STARTED}{}", super::RESTART))?;
        follow_up(tx, &record, delivery, text, now)?;
    }
    Ok(())
}

/// Notes what became of an approval that was taken for a run.
pub(super) fn outcome(tx: &Transaction<'_>, id: &str, outcome: &str) -> rusqlite::Result<()> {
    let Some(record) = find(tx, id)? else { return Ok(()) };
    let record = Record { outcome: Some(outcome.to_owned()), ..record };
    tx.execute(
        "UPDATE approvals SET record_json = ?2, consumed_by = CASE consumed_by WHEN 'exec' THEN 'exec:told' \
         ELSE consumed_by END WHERE id = ?1",
        (id, json(&record)),
    )?;
    Ok(())
}

/// Where messages about a question go: as the last event about it says.
fn delivery(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<Delivery> {
    let context: Option<String> = tx
        .query_row(
            "SELECT context_json FROM events WHERE context_key = ?1 ORDER BY seq DESC LIMIT 1",
            [key(id)],
            |row| row.get(0),
        )
        .optional()?;
    let context = context.and_then(|text| serde_json::from_str::<EventContext>(&text).ok());
    Ok(context.unwrap_or_default().delivery)
}

/// Ends the wait of the conversation that asked (9.53). Subagents, schedules and programs wait for nothing.
fn follow_up(
    tx: &Transaction<'_>,
    record: &Record,
    delivery: Delivery,
    text: String,
    now: u64,
) -> rusqlite::Result<()> {
    let Some(session) = &record.session_key else { return Ok(()) };
    let elsewhere = [":subagent:", ":cron:"].iter().any(|part| session.contains(part));
    if record.external || record.unattended || elsewhere {
        return Ok(());
    }
    let context = EventContext { key: record.id.clone(), delivery, wake: false };
    let event = NewEvent { session_key: session.clone(), kind: EventKind::FollowUp, text, context };
    insert_once(tx, &event, now)
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
pub(super) fn event(record: &Record, kind: EventKind, delivery: &Delivery, text: String) -> NewEvent {
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
