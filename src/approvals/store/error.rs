//! Why the document was not changed. It is as it was then.

use std::path::PathBuf;

use crate::approvals::document::DocumentError;
use crate::error::{Diagnose, Report};
use crate::state::StateError;

/// Why the document was not changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// What stands in its place cannot be used, and is its owner's to mend.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The file system refuses.
    #[error("{path} cannot be written: {reason}; what it says still holds")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// Its owner took away the leave to write it.
    #[error("{path} is read-only (mode {mode:o}), so the change was not saved; what it says still holds")]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Another change is under way.
    #[error("another program is changing the approvals document")]
    Busy,
    /// It is not any more what the change was made for.
    #[error("Exec approvals changed; reload and retry.")]
    Changed(PathBuf),
    /// Whoever changes it says no.
    #[error("{}", .0.message)]
    Refused(Report),
}

impl From<std::convert::Infallible> for StoreError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl From<Report> for StoreError {
    fn from(report: Report) -> Self {
        Self::Refused(report)
    }
}

impl Diagnose for StoreError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Document(error) => return error.report(),
            Self::State(error) => return error.report(),
            Self::Refused(report) => return report.clone(),
            Self::Io { path, .. } => (
                "CRL-APPROVALS-010",
                path.display().to_string(),
                "make the file and its directory writable for this user".to_owned(),
            ),
            Self::ReadOnly { path, .. } => (
                "CRL-APPROVALS-011",
                path.display().to_string(),
                format!("chmod u+w {} where creel may change it", path.display()),
            ),
            Self::Busy => (
                "CRL-APPROVALS-012",
                "lock of the approvals document".to_owned(),
                "try again; if it stays so, see who holds creel/approvals/lock in the state directory"
                    .to_owned(),
            ),
            Self::Changed(path) => (
                "CRL-APPROVALS-013",
                path.display().to_string(),
                "look at the document with `creel approvals get`, then try again".to_owned(),
            ),
        };
        Report { code, message: self.to_string(), rule: Some(rule), fix }
    }
}
