//! Why what must be remembered cannot be.

use std::path::PathBuf;

use crate::error::{Diagnose, Report};
use crate::state::StateError;

/// Failures of the database of process sessions.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// `SQLite` refused.
    #[error("{path}: {action}: {source}")]
    Sql {
        /// The database.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// `SQLite`'s reason.
        source: rusqlite::Error,
    },
    /// The file itself could not be made, moved or read.
    #[error("{path}: {action}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A later creel made it.
    #[error("{path} has the layout {found} of a later creel; this one knows up to {known}")]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The latest known here.
        known: i64,
    },
    /// The thread that writes is gone.
    #[error("{path}: the writer has ended")]
    Gone {
        /// The database.
        path: PathBuf,
    },
}

impl StoreError {
    /// The disk is full, or a quota is used up.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sql { source, .. } => source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Io { source, .. } => full(source),
            _ => false,
        }
    }
}

/// No room: the file system's, or the user's.
pub(crate) fn full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

impl Diagnose for StoreError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::State(error) => return error.report(),
            Self::Sql { path, .. } | Self::Io { path, .. } if self.is_full() => {
                ("CRL-STORE-001", format!("make room on the file system of {}", path.display()))
            }
            Self::Sql { path, .. } => (
                "CRL-STORE-002",
                format!("check that {} is writable and its disk is sound, then call again", path.display()),
            ),
            Self::Io { path, .. } => {
                ("CRL-STORE-003", format!("make {} readable and writable for this user", path.display()))
            }
            Self::Newer { path, .. } => (
                "CRL-STORE-004",
                format!(
                    "use the creel that made {}, or give this one another CREEL_STATE_DIR",
                    path.display()
                ),
            ),
            Self::Gone { .. } => ("CRL-STORE-005", "start creel again; what was stored is kept".to_owned()),
        };
        Report { code, message: self.to_string(), rule: Some("CREEL_STATE_DIR".to_owned()), fix }
    }
}
