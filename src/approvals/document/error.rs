//! Why a text is no approvals document. Messages name places, never values or agents: they are pasted into tickets
//! (spec `approvals.md` 1.23).

use std::path::{Path, PathBuf};

use super::MAX_BYTES;
use crate::config::index::Position;
use crate::error::{Diagnose, Report};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place in the document, as in `agents entry #2.allowlist[1].lastUsedAt`; agents count from 1 in the order
    /// of the text.
    pub place: String,
    /// Line and column, where known.
    pub at: Option<Position>,
    /// What is wrong.
    pub message: &'static str,
    /// The smallest change that helps.
    pub fix: String,
}

impl Problem {
    /// Place and message, without line and column.
    pub fn diagnostic(&self) -> String {
        format!("{}: {}", self.place, self.message)
    }
}

/// Why a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is gone, and there was one before.
    #[error("{file} is missing, and its rules are still known")]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// It cannot be read.
    #[error("{file} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// It is too large to be a policy.
    #[error("{file} is larger than {MAX_BYTES} bytes")]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// It is no JSON.
    #[error("{file}:{}:{}: invalid JSON syntax", at.line, at.column)]
    Syntax {
        /// The file.
        file: PathBuf,
        /// Where the text stops being JSON.
        at: Position,
    },
    /// It is JSON and no document.
    #[error("{}", told(file, problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// All problems, in the order of the schema; never empty.
        problems: Vec<Problem>,
    },
}

fn told(file: &Path, problems: &[Problem]) -> String {
    let line = |problem: &Problem| match problem.at {
        Some(at) => format!("{}:{}:{}: {}", file.display(), at.line, at.column, problem.diagnostic()),
        None => format!("{}: {}", file.display(), problem.diagnostic()),
    };
    match problems {
        [only] => line(only),
        all => {
            let lines: Vec<String> = all.iter().map(line).collect();
            format!("{} has {} problems:\n  {}", file.display(), all.len(), lines.join("\n  "))
        }
    }
}

impl DocumentError {
    /// The first problem without file, line and column.
    pub fn diagnostic(&self) -> String {
        match self {
            Self::Missing { .. } => "document: missing".to_owned(),
            Self::Unreadable { .. } => "document: unreadable".to_owned(),
            Self::TooLarge { .. } => "document: too large".to_owned(),
            Self::Syntax { .. } => "invalid JSON syntax".to_owned(),
            Self::Invalid { problems, .. } => {
                problems.first().map_or_else(|| "document: invalid value".to_owned(), Problem::diagnostic)
            }
        }
    }

    fn place(&self) -> String {
        let (file, at) = match self {
            Self::Missing { file } | Self::Unreadable { file, .. } | Self::TooLarge { file } => (file, None),
            Self::Syntax { file, at } => (file, Some(*at)),
            Self::Invalid { file, problems } => (file, problems.first().and_then(|problem| problem.at)),
        };
        match at {
            Some(at) => format!("{}:{}:{}", file.display(), at.line, at.column),
            None => file.display().to_string(),
        }
    }
}

impl Diagnose for DocumentError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Missing { .. } => (
                "CRL-APPROVALS-001",
                "restore the file; to lift its rules, write {\"version\": 1} into it".to_owned(),
            ),
            Self::Unreadable { .. } => ("CRL-APPROVALS-002", "make it readable for this user".to_owned()),
            Self::TooLarge { .. } => {
                ("CRL-APPROVALS-003", "remove entries that are not used any more".to_owned())
            }
            Self::Syntax { .. } => {
                ("CRL-APPROVALS-004", "correct the JSON at this place; comments are none".to_owned())
            }
            Self::Invalid { problems, .. } => {
                ("CRL-APPROVALS-005", problems.first().map(|problem| problem.fix.clone()).unwrap_or_default())
            }
        };
        Report { code, message: self.to_string(), rule: Some(self.place()), fix }
    }
}
