//! Changes of the document: read again under the lock, changed, replaced.

use std::path::Path;

use super::file::replace;
use super::local::{Local, hash};
use super::look::{self, Raw, look};
use super::read::{keep_locked, next_revision};
use super::{StoreError, lock};
use crate::approvals::document::{Document, DocumentError, Found, Standing, Token, hold};
use crate::state::{StateDir, random_uuid};

/// How often a change is tried anew because somebody without the lock (an editor) wrote in between.
const TRIES: usize = 5;

/// Changes the document. `change` sees it as it is now, others' changes included, and touches only what it means to; it
/// may be called again. Where it changes nothing, nothing is written.
///
/// # Errors
///
/// Whatever `change` says; a file that cannot be used (its owner mends it, see [`set`] for the other way); a file
/// system that refuses. The file is as it was then.
pub fn edit<T, E: Into<StoreError>>(
    state: &StateDir,
    mut change: impl FnMut(&mut Document) -> Result<T, E>,
) -> Result<T, StoreError> {
    let _lock = lock::take(state)?;
    let mut path = None;
    for _ in 0..TRIES {
        let raw = look(state);
        let before = usable(&raw)?;
        let mut after = before.clone();
        let value = change(&mut after).map_err(Into::into)?;
        if after == before || write(state, &raw, after)? {
            return Ok(value);
        }
        path = Some(raw.path);
    }
    Err(StoreError::Changed(path.unwrap_or_else(|| look::shared(state))))
}

/// Writes the document as creel writes it, with forms of former versions replaced.
///
/// # Errors
///
/// As [`edit`].
pub fn rewrite(state: &StateDir) -> Result<(), StoreError> {
    let _lock = lock::take(state)?;
    let raw = look(state);
    let document = usable(&raw)?;
    written(write(state, &raw, document)?, &raw.path)
}

/// The document that a change begins with.
fn usable(raw: &Raw) -> Result<Document, DocumentError> {
    let found = match &raw.text {
        Ok(Some(text)) => Found::Text(text),
        Ok(None) => Found::Missing,
        Err(reason) => Found::Unreadable(reason.clone()),
    };
    let held = hold(&found, &raw.path, raw.last_good());
    match held.standing {
        Standing::Current | Standing::Absent => Ok(held.document),
        Standing::LastGood(error) | Standing::Closed(error) => Err(error),
    }
}

/// Puts `document` in the place of what is there, and returns what then holds. `base` is the hash that [`Local::hash`]
/// gave: what is not that any more is left alone. The socket's secret stays where `document` names none.
///
/// This also mends: a file that cannot be used is kept beside as `….broken-<digits>`, and replaced.
///
/// # Errors
///
/// [`StoreError::Changed`] where `base` is another; else as [`edit`].
pub fn set(state: &StateDir, document: &Document, base: Option<&str>) -> Result<Local, StoreError> {
    let _lock = lock::take(state)?;
    let raw = look(state);
    if base.is_some_and(|base| base != hash(&raw.text)) {
        return Err(StoreError::Changed(raw.path));
    }
    let before = usable(&raw);
    let mut after = document.clone();
    if let Ok(before) = &before {
        after.socket.path = after.socket.path.or_else(|| before.socket.path.clone());
        after.socket.token = after.socket.token.or_else(|| before.socket.token.clone());
    }
    match &before {
        Ok(before) if *before == after && matches!(raw.text, Ok(Some(_))) => {}
        Ok(_) | Err(DocumentError::Missing { .. }) => written(write(state, &raw, after)?, &raw.path)?,
        Err(_) => {
            aside(&raw)?;
            written(write(state, &raw, after)?, &raw.path)?;
        }
    }
    Ok(Local::of(&look(state), next_revision()))
}

fn written(done: bool, path: &Path) -> Result<(), StoreError> {
    if done { Ok(()) } else { Err(StoreError::Changed(path.to_owned())) }
}

/// Gives a file that cannot be used a second name, so that its bytes stay.
fn aside(raw: &Raw) -> Result<(), StoreError> {
    let digits = hash(&raw.text);
    let digits: String = digits.rsplit(':').next().unwrap_or_default().chars().take(8).collect();
    let name = raw.path.file_name().unwrap_or_default().to_string_lossy();
    let aside = raw.path.with_file_name(format!("{name}.broken-{digits}"));
    let io = |error: std::io::Error| StoreError::Io { path: raw.path.clone(), reason: error.to_string() };
    match std::fs::hard_link(&raw.path, &aside) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(io(error)),
        _ => Ok(()),
    }
}

/// Writes a document in the place of what was looked at; false where that is not there any more.
fn write(state: &StateDir, raw: &Raw, mut document: Document) -> Result<bool, StoreError> {
    let mut failed = None;
    document.name_entries(|| {
        random_uuid().unwrap_or_else(|error| {
            failed = Some(no_random(&error));
            String::new()
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    // Whoever saves leaves a socket that can be used (spec `approvals.md` 1.15).
    if document.socket.token.is_none() {
        document.socket.token = Some(fresh_token()?);
    }
    let text = document.to_file(&raw.path)?;
    // What cannot be read again is never written.
    Document::parse(&text, &raw.path)?;
    if !replace(&raw.path, &raw.text, &text)? {
        return Ok(false);
    }
    keep_locked(state, &text)?;
    Ok(true)
}

fn no_random(error: &std::io::Error) -> StoreError {
    StoreError::Io {
        path: Path::new(super::FILE_NAME).to_owned(),
        reason: format!("no random numbers: {error}"),
    }
}

/// A secret for the socket: 24 random bytes.
fn fresh_token() -> Result<Token, StoreError> {
    use base64::Engine as _;
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| no_random(&std::io::Error::other(error.to_string())))?;
    Ok(Token(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
}
