//! The policy of a newer `OpenClaw`: one row of its database, read and never written (spec `approvals.md` 1.01, 1.05).

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::approvals::document::MAX_BYTES;
use crate::state::StateDir;

/// How long a writer of the database is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a database is read that changes meanwhile.
const TRIES: usize = 3;

/// What the database says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    /// There is no database, or none that keeps policies.
    NoStore,
    /// It keeps policies, and has none: nothing is imposed (1.21).
    NoPolicy,
    /// The policy's text.
    Policy(String),
    /// It cannot be read, and may hold a policy.
    Unreadable(String),
}

/// The database.
pub(super) fn database(state: &StateDir) -> PathBuf {
    state.root().join("state/openclaw.sqlite")
}

/// What of it is not in the file yet.
pub(super) fn journal(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-wal");
    database.with_file_name(name)
}

/// The row, as it is named to people (1.02).
pub(super) fn locator(state: &StateDir) -> PathBuf {
    let mut path = database(state).into_os_string();
    path.push("#exec_approvals_config");
    path.into()
}

/// Whether a program has the database open: it then has a journal.
pub(super) fn in_use(state: &StateDir) -> bool {
    journal(&database(state)).symlink_metadata().is_ok()
}

/// Reads the row.
pub(super) fn read(state: &StateDir) -> Row {
    let path = database(state);
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Row::NoStore,
        Err(error) => return Row::Unreadable(error.to_string()),
        Ok(_) => {}
    }
    match path.metadata() {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Row::Unreadable("it is not a file".to_owned()),
        Err(error) => return Row::Unreadable(error.to_string()),
    }
    let mut last = Row::Unreadable("it changes all the time".to_owned());
    for _ in 0..TRIES {
        let before = stamp(&path);
        let found = once(&path).unwrap_or_else(|error| Row::Unreadable(error.to_string()));
        if stamp(&path) == before {
            return found;
        }
        last = found;
    }
    // A database with a journal is read as it was at one moment, however busy it is.
    match last {
        Row::NoStore | Row::NoPolicy | Row::Policy(_) if journal(&path).exists() => last,
        Row::Unreadable(reason) => Row::Unreadable(reason),
        _ => Row::Unreadable("it changes all the time".to_owned()),
    }
}

fn stamp(path: &Path) -> Vec<Option<(u64, std::time::SystemTime)>> {
    let one = |path: &Path| {
        let meta = path.metadata().ok()?;
        Some((meta.len(), meta.modified().ok()?))
    };
    vec![one(path), one(&journal(path))]
}

/// Without a journal the file is whole, and is read without the helper files that the library would else make beside it.
fn once(path: &Path) -> rusqlite::Result<Row> {
    let whole = journal(path).metadata().map_or(true, |meta| meta.len() == 0);
    let mode = if whole { "immutable=1" } else { "mode=ro" };
    let uri = format!("file:{}?{mode}", encoded(path));
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(uri, flags)?;
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "trusted_schema", false)?;
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'exec_approvals_config'";
    if database.query_row(table, [], |_| Ok(())).optional()?.is_none() {
        return Ok(Row::NoStore);
    }
    // What is too large is not loaded.
    let policy = "SELECT typeof(raw_json), length(CAST(raw_json AS BLOB)), \
                  CASE WHEN typeof(raw_json) = 'text' AND length(CAST(raw_json AS BLOB)) <= ?1 THEN raw_json END \
                  FROM exec_approvals_config WHERE config_key = 'current'";
    let limit = i64::try_from(MAX_BYTES).unwrap_or(i64::MAX);
    let row = database.query_row(policy, [limit], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, Option<String>>(2)?))
    });
    Ok(match row.optional()? {
        None => Row::NoPolicy,
        Some((_, _, Some(text))) => Row::Policy(text),
        Some((kind, _, None)) if kind != "text" => Row::Unreadable("raw_json is no text".to_owned()),
        Some((_, length, None)) => {
            Row::Unreadable(format!("raw_json has {} bytes", length.unwrap_or_default()))
        }
    })
}

/// A path in a URI: what has a meaning there, or is no plain character, as hex.
fn encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~');
    let one = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_bytes().iter().map(one).collect()
}
