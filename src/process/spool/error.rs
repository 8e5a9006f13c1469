//! Why output could not be kept or read back.

use std::path::PathBuf;

use crate::error::{Diagnose, Report};
use crate::process::store::full;

/// A failure of the files that keep a command's output.
#[derive(Debug, thiserror::Error)]
#[error("output file {path}: {action}: {source}")]
pub struct SpoolError {
    /// File or directory.
    pub path: PathBuf,
    /// What was tried.
    pub action: &'static str,
    /// The operating system's reason.
    pub source: std::io::Error,
}

impl SpoolError {
    pub(super) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self { path, action, source }
    }

    /// The disk is full, or a quota is used up.
    pub fn is_full(&self) -> bool {
        full(&self.source)
    }
}

impl Diagnose for SpoolError {
    fn report(&self) -> Report {
        let (code, fix) = if self.is_full() {
            (
                "CRL-SPOOL-001",
                "make room on the file system of the state directory; the command waits meanwhile and nothing of its \
                 output is lost",
            )
        } else {
            ("CRL-SPOOL-002", "make the state directory writable for this user; the command waits meanwhile")
        };
        let rule = Some("CREEL_STATE_DIR".to_owned());
        Report { code, message: self.to_string(), rule, fix: fix.to_owned() }
    }
}
