//! The layout of the database, and the steps from one to the next.

use rusqlite::{Connection, TransactionBehavior};

/// One step for each version; the number of steps that were taken is the database's `user_version`.
const STEPS: &[&str] = &[
    "
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    command BLOB NOT NULL UNIQUE,
    begin_json TEXT NOT NULL,
    phase TEXT NOT NULL,
    backgrounded INTEGER NOT NULL DEFAULT 0,
    confirmed INTEGER NOT NULL DEFAULT 0,
    started_ms INTEGER NOT NULL,
    call TEXT,
    requested INTEGER NOT NULL DEFAULT 0,
    hidden INTEGER NOT NULL DEFAULT 0,
    input_closed INTEGER NOT NULL DEFAULT 0,
    drained INTEGER NOT NULL DEFAULT 0,
    overflowed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE ends (
    id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
    end_json TEXT NOT NULL,
    chars INTEGER NOT NULL,
    lost_output INTEGER NOT NULL,
    pid INTEGER,
    settled INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    context_json TEXT NOT NULL,
    context_key TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    delivered_ms INTEGER
) STRICT;
CREATE INDEX events_of_session ON events (session_key, seq);
",
    "
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    record_json TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    resolved_ms INTEGER,
    consumed_ms INTEGER,
    consumed_by TEXT
) STRICT;
CREATE INDEX approvals_by_end ON approvals (status, resolved_ms);
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    operation TEXT,
    grant_json TEXT NOT NULL,
    uses INTEGER,
    used INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    last_used_ms INTEGER,
    revoked_ms INTEGER,
    revoked_by TEXT
) STRICT;
CREATE INDEX grants_of_agent ON grants (agent, revoked_ms);
",
];

/// The latest layout.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
pub(super) const LATEST: i64 = STEPS.len() as i64;

/// The layout of this database.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing, each of them whole or not at all.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let done = usize::try_from(version(connection)?).unwrap_or(0);
    for (step, version) in STEPS.iter().zip(1_i64..).skip(done) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}
