//! Grants as rows, and what is done with them: made with the answer that they come from, used at the start of a run.

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::grant::{Grant, Operation};
use super::rows::{signed, unsigned};
use super::{Desk, DeskError};
use crate::process::store::now_ms;

/// Grants that are listed where nothing else is said.
pub const LISTED: usize = 200;

const COLUMNS: &str = "grant_json, used, last_used_ms, revoked_ms, revoked_by";

/// What became of an attempt to take a grant back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Revoked {
    /// It held, and does no more.
    Revoked,
    /// It did not hold any more.
    AlreadyRevoked,
}

impl Desk {
    /// The grants of an agent that still hold, the oldest first. Their entries are compiled behind the document's.
    pub fn grants(&self, agent: &str) -> Result<Vec<Grant>, DeskError> {
        let (agent, now) = (agent.to_owned(), now_ms());
        Ok(self.store().run("read grants of", move |tx| of_agent(tx, &agent, now))?)
    }

    /// The grant for a scheduled run of exactly this, where one holds (9.42). It is used with [`Self::use_grant`].
    pub fn operation(&self, agent: &str, operation: &Operation) -> Result<Option<Grant>, DeskError> {
        let (key, now, asked) = (operation.key(agent), now_ms(), operation.clone());
        let found = self.store().run("read a grant of", move |tx| {
            let mut query = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM grants WHERE operation = ?1 AND revoked_ms IS NULL ORDER BY created_ms DESC LIMIT 1"
            ))?;
            Ok(query.query_row([key], read).optional()?.flatten())
        })?;
        Ok(found.filter(|grant| grant.over(now).is_none() && grant.operation.as_ref() == Some(&asked)))
    }

    /// Takes one run of a grant, immediately before the program is started. Of two that want the last one, one gets it.
    ///
    /// # Errors
    ///
    /// [`DeskError::Over`] where it does not hold any more, [`DeskError::Store`] where the use cannot be recorded: nothing may
    /// run then.
    pub fn use_grant(&self, id: &str) -> Result<(), DeskError> {
        let (asked, now) = (id.to_owned(), now_ms());
        let taken = self.store().run("use a grant of", move |tx| take(tx, &asked, now))?;
        match taken {
            Ok(()) => Ok(()),
            Err(None) => Err(DeskError::NoGrant(super::shortened(id))),
            Err(Some(why)) => Err(DeskError::Over { id: id.to_owned(), why }),
        }
    }

    /// The newest grants, those that are over too.
    pub fn list_grants(&self, limit: usize) -> Result<Vec<Grant>, DeskError> {
        Ok(self.store().run("list grants of", move |tx| {
            let mut query = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM grants ORDER BY created_ms DESC, rowid DESC LIMIT ?1"
            ))?;
            let rows = query.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], read)?;
            rows.filter_map(Result::transpose).collect::<rusqlite::Result<Vec<Grant>>>()
        })?)
    }

    /// Takes a grant back. It holds for no run that is not started yet.
    ///
    /// # Errors
    ///
    /// [`DeskError::NoGrant`] where there never was one of this id.
    pub fn revoke_grant(&self, id: &str, by: &str) -> Result<Revoked, DeskError> {
        let (asked, by, now) = (id.trim().to_owned(), by.to_owned(), now_ms());
        let done = self.store().run("revoke a grant of", move |tx| {
            let changed = tx.execute(
                "UPDATE grants SET revoked_ms = ?2, revoked_by = ?3 WHERE id = ?1 AND revoked_ms IS NULL",
                (&asked, signed(now), by),
            )?;
            let known: i64 =
                tx.query_row("SELECT count(*) FROM grants WHERE id = ?1", [asked], |row| row.get(0))?;
            Ok((changed, known))
        })?;
        match done {
            (1.., _) => Ok(Revoked::Revoked),
            (0, 1..) => Ok(Revoked::AlreadyRevoked),
            _ => Err(DeskError::NoGrant(super::shortened(id))),
        }
    }
}

/// Stores a grant; one for the same operation is replaced by it (9.43).
pub(super) fn add(tx: &Transaction<'_>, grant: &Grant) -> rusqlite::Result<()> {
    let operation = grant.operation.as_ref().map(|operation| operation.key(&grant.agent_id));
    if let Some(operation) = &operation {
        tx.execute(
            "UPDATE grants SET revoked_ms = ?2, revoked_by = 'replaced' WHERE operation = ?1 AND revoked_ms IS NULL",
            (operation, signed(grant.created_at_ms)),
        )?;
    }
    tx.execute(
        "INSERT INTO grants (id, agent, operation, grant_json, uses, created_ms, expires_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            &grant.grant_id,
            &grant.agent_id,
            operation,
            serde_json::to_string(grant).unwrap_or_default(),
            grant.terms.uses,
            signed(grant.created_at_ms),
            grant.terms.expires_at_ms.map(signed),
        ),
    )?;
    Ok(())
}

/// Takes one run; `Err(None)` where there is no such grant.
fn take(tx: &Transaction<'_>, id: &str, now: u64) -> rusqlite::Result<Result<(), Option<&'static str>>> {
    let changed = tx.execute(
        "UPDATE grants SET used = used + 1, last_used_ms = ?2 WHERE id = ?1 AND revoked_ms IS NULL \
         AND (uses IS NULL OR used < uses) AND (expires_ms IS NULL OR expires_ms > ?2)",
        (id, signed(now)),
    )?;
    if changed == 1 {
        return Ok(Ok(()));
    }
    let mut query = tx.prepare_cached(&format!("SELECT {COLUMNS} FROM grants WHERE id = ?1"))?;
    let found = query.query_row([id], read).optional()?;
    Ok(Err(found.map(|grant| grant.and_then(|grant| grant.over(now)).unwrap_or("unreadable"))))
}

/// The grants of an agent that hold at `now`, the oldest first.
pub(super) fn of_agent(connection: &Connection, agent: &str, now: u64) -> rusqlite::Result<Vec<Grant>> {
    let mut query = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM grants WHERE agent = ?1 AND operation IS NULL AND revoked_ms IS NULL \
         ORDER BY created_ms, rowid"
    ))?;
    let rows = query.query_map([agent], read)?;
    let grants = rows.filter_map(Result::transpose).collect::<rusqlite::Result<Vec<Grant>>>()?;
    Ok(grants.into_iter().filter(|grant| grant.over(now).is_none()).collect())
}

/// A grant that cannot be read grants nothing.
fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Grant>> {
    let text: String = row.get(0)?;
    let Ok(grant) = serde_json::from_str::<Grant>(&text) else { return Ok(None) };
    Ok(Some(Grant {
        use_count: row.get(1)?,
        last_used_at_ms: row.get::<_, Option<i64>>(2)?.map(unsigned),
        revoked_at_ms: row.get::<_, Option<i64>>(3)?.map(unsigned),
        revoked_by: row.get(4)?,
        ..grant
    }))
}
