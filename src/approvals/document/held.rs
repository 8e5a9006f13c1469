//! Which document holds: a broken or missing file never opens what it had closed.

use std::path::Path;

use super::error::DocumentError;
use super::types::Document;

/// What was found where the document should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'a> {
    /// Nothing.
    Missing,
    /// A file with this text.
    Text(&'a str),
    /// Something that cannot be read, and why.
    Unreadable(String),
}

/// Why a document holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is what the file says.
    Current,
    /// There is no file and there was none: nothing is imposed.
    Absent,
    /// The file cannot be used; the last that could holds.
    LastGood(DocumentError),
    /// The file cannot be used, and none is known that could: nothing runs.
    Closed(DocumentError),
}

impl Standing {
    /// What is wrong with the file, for warnings.
    pub fn problem(&self) -> Option<&DocumentError> {
        match self {
            Self::Current | Self::Absent => None,
            Self::LastGood(error) | Self::Closed(error) => Some(error),
        }
    }
}

/// The document that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The document.
    pub document: Document,
    /// Why it holds.
    pub standing: Standing,
}

/// Decides which document holds. Whoever calls keeps the document of [`Standing::Current`] as the next last good one,
/// and writes nothing over a file that is not [`Standing::Current`].
pub fn hold(found: &Found<'_>, file: &Path, last_good: Option<Document>) -> Held {
    let error = match found {
        Found::Text(text) => match Document::parse(text, file) {
            Ok(document) => return Held { document, standing: Standing::Current },
            Err(error) => error,
        },
        Found::Missing if last_good.is_none() => {
            return Held { document: Document::default(), standing: Standing::Absent };
        }
        Found::Missing => DocumentError::Missing { file: file.to_owned() },
        Found::Unreadable(reason) => {
            DocumentError::Unreadable { file: file.to_owned(), reason: reason.clone() }
        }
    };
    match last_good {
        Some(document) => Held { document, standing: Standing::LastGood(error) },
        None => Held { document: Document::closed(), standing: Standing::Closed(error) },
    }
}
