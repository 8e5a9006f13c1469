//! The file of the database: private, of a known layout, and never silently emptied.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::schema::{LATEST, migrate, version};
use super::{StoreError, now_ms};

/// How long another process may hold the lock.
const BUSY: Duration = Duration::from_secs(5);
/// Files that `SQLite` keeps beside a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Opens the database, or moves a damaged one aside (the second value is where to) and makes another.
pub(super) fn open(path: &Path) -> Result<(Connection, Option<PathBuf>), StoreError> {
    match sound(path) {
        Ok(connection) => Ok((connection, None)),
        Err(StoreError::Sql { source, .. }) if damaged(&source) => {
            let aside = move_aside(path)?;
            tracing::error!(%source, aside = %aside.display(), "the database is damaged and was moved aside");
            Ok((sound(path)?, Some(aside)))
        }
        Err(error) => Err(error),
    }
}

fn sound(path: &Path) -> Result<Connection, StoreError> {
    let sql = |action| move |source| StoreError::Sql { path: path.to_owned(), action, source };
    // Made before SQLite sees it: its own files take the mode of this one.
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| StoreError::Io { path: path.to_owned(), action: "create", source })?;
    let mut connection = Connection::open(path).map_err(sql("open"))?;
    connection.busy_timeout(BUSY).map_err(sql("open"))?;
    let set = |name, value| connection.pragma_update(None, name, value).map_err(sql("set up"));
    set("journal_mode", "WAL")?;
    set("synchronous", "NORMAL")?;
    set("foreign_keys", "ON")?;
    // The whole database is small; pages are read when they are needed.
    set("cache_size", "-512")?;
    let check: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sql("check"))?;
    if check != "ok" {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        return Err(sql("check")(rusqlite::Error::SqliteFailure(code, Some(check))));
    }
    let found = version(&connection).map_err(sql("read the layout of"))?;
    if found > LATEST {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: LATEST });
    }
    migrate(&mut connection).map_err(sql("bring up to date"))?;
    Ok(connection)
}

/// Its contents are not what `SQLite` wrote.
fn damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Gives the database and what belongs to it another name beside it.
fn move_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let suffix = format!(".damaged-{}", now_ms());
    let with = |path: &Path, suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    for beside in BESIDE {
        let file = with(path, beside);
        // Not there is fine. Moved after the database it would be taken for the new one's.
        let _ = std::fs::rename(&file, with(&with(path, &suffix), beside));
    }
    let aside = with(path, &suffix);
    std::fs::rename(path, &aside).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        action: "move aside",
        source,
    })?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_database_is_kept_beside_the_new_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("creel.db");
        let (connection, aside) = open(&path).unwrap();
        assert!(aside.is_none() && version(&connection).unwrap() == LATEST);
        drop(connection);
        assert!(open(&path).unwrap().1.is_none());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let garbage = vec![b'x'; 8192];
        std::fs::write(&path, &garbage).unwrap();
        let (connection, aside) = open(&path).unwrap();
        assert_eq!(version(&connection).unwrap(), LATEST);
        assert_eq!(std::fs::read(aside.unwrap()).unwrap(), garbage);
    }

    #[test]
    fn a_later_layout_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("creel.db");
        open(&path).unwrap().0.pragma_update(None, "user_version", LATEST + 1).unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(open(&path), Err(StoreError::Newer { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
