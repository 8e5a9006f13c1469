//! One finding, in upstream's fields, and the place that it is about.

use std::path::PathBuf;

use serde::Serialize;

use crate::config::Document;

/// Upstream's severities; ordered, what matters least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Opens more than it should.
    Warn,
    /// Gives the host away, or nearly.
    Critical,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable id, upstream's where it has one (spec `sandbox.md` §23).
    pub check_id: String,
    /// How much it matters.
    pub severity: Severity,
    /// In a few words.
    pub title: String,
    /// What was found.
    pub detail: String,
    /// What helps.
    pub remediation: String,
    /// The file that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Line of the key, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl Finding {
    /// A finding that is about no key.
    pub(super) fn new(
        check_id: impl Into<String>,
        severity: Severity,
        title: impl Into<String>,
        detail: impl Into<String>,
        remediation: impl Into<String>,
    ) -> Self {
        Self {
            check_id: check_id.into(),
            severity,
            title: title.into(),
            detail: detail.into(),
            remediation: remediation.into(),
            file: None,
            key: None,
            line: None,
            column: None,
        }
    }

    /// About a key of another file, whose lines are not known.
    #[must_use]
    pub(super) fn of_file(mut self, file: &std::path::Path, key: &str) -> Self {
        self.file = Some(file.to_owned());
        self.key = Some(key.to_owned());
        self
    }

    /// About this key, wherever it stands; a key that is not written is told all the same.
    #[must_use]
    pub(super) fn at(mut self, document: &Document, key: &str) -> Self {
        let origin = document.origin(key);
        self.key = Some(key.to_owned());
        self.line = origin.as_ref().map(|origin| origin.line);
        self.column = origin.as_ref().map(|origin| origin.column);
        self.file = origin.map(|origin| origin.file);
        self
    }
}

/// How many of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Critical ones.
    pub critical: usize,
    /// Warnings.
    pub warn: usize,
    /// The rest.
    pub info: usize,
}

impl Summary {
    /// Counts.
    pub fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Self { critical: count(Severity::Critical), warn: count(Severity::Warn), info: count(Severity::Info) }
    }
}
