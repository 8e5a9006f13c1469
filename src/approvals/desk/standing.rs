//! Grants as they stand, read without a desk: for whoever only tells what would be decided.

use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::DeskError;
use super::grant::Grant;
use super::grants::of_agent;
use crate::process::store::StoreError;
use crate::process::store::now_ms;
use crate::state::StateDir;

/// How long a writer is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

/// The grants of an agent that still hold, the oldest first. Nothing is made, migrated or ended by looking; where no
/// database is, or one from before there were grants, there are none.
///
/// # Errors
///
/// When the database is there and cannot be read.
pub fn standing(state: &StateDir, agent: &str) -> Result<Vec<Grant>, DeskError> {
    let path = state.root().join("creel/creel.db");
    if path.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let failed = |source| StoreError::Sql { path: path.clone(), action: "read grants of", source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || {
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        let known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'grants'";
        let known: i64 = connection.query_row(known, [], |row| row.get(0))?;
        if known == 0 { Ok(Vec::new()) } else { of_agent(&connection, agent, now_ms()) }
    };
    Ok(read().map_err(failed)?)
}
