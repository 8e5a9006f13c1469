//! The one shape of every refusal: code, what, rule, fix.

use std::fmt;

/// Exit status of `creel` when creel itself failed; a command's own status is passed on unchanged.
pub const EXIT_CREEL: u8 = 125;
/// Exit status of a command that was ended by a limit of its call.
pub const EXIT_TIMEOUT: u8 = 124;
/// Exit status of a command that exists but cannot be executed.
pub const EXIT_NOT_EXECUTABLE: u8 = 126;
/// Exit status of a command that was not found.
pub const EXIT_NOT_FOUND: u8 = 127;

/// A refusal or failure as people and programs see it (design §6).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Stable code such as `CRL-BIND-003`; never reused for another meaning.
    pub code: &'static str,
    /// What was refused or failed, naming the thing.
    pub message: String,
    /// The rule that decided: file and key of the configuration, or the name of a built-in rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The smallest safe change that helps.
    pub fix: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A list under the message is no place for the code.
        match self.message.split_once('\n') {
            Some((first, rest)) => write!(f, "{first} [{}]\n{rest}", self.code)?,
            None => write!(f, "{} [{}]", self.message, self.code)?,
        }
        if let Some(rule) = &self.rule {
            write!(f, "\n  rule: {rule}")?;
        }
        if !self.fix.is_empty() {
            write!(f, "\n  fix:  {}", self.fix)?;
        }
        Ok(())
    }
}

/// Implemented by each module's error enum: how the error is told.
pub trait Diagnose: std::error::Error {
    /// The error in the one shape of every refusal.
    fn report(&self) -> Report;
}

/// Any failure of creel, for callers that only want to show it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub Report);

impl<E: Diagnose> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.report())
    }
}
