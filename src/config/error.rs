//! Why a configuration cannot be used.

use std::path::PathBuf;

use super::document::Origin;
use crate::error::{Diagnose, Report};

/// One thing that is wrong in a configuration that parses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key concerned.
    pub key: String,
    /// Where it stands.
    pub origin: Option<Origin>,
    /// What is wrong.
    pub message: String,
    /// The smallest change that helps.
    pub fix: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "{origin}: {}", self.message),
            None => write!(f, "{}: {}", self.key, self.message),
        }
    }
}

/// What named an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedBy {
    /// Its id was given.
    Id,
    /// A session key was given that belongs to it.
    Session,
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConfigError {
    /// A file that was named does not exist.
    #[error("configuration file {path} does not exist")]
    Missing {
        /// The file.
        path: PathBuf,
        /// Who named it.
        named_by: &'static str,
    },
    /// The file cannot be read.
    #[error("configuration file {path} cannot be read: {reason}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's words, or the bound that was passed.
        reason: String,
    },
    /// The text is no JSON5.
    #[error("{at}: {message}")]
    Syntax {
        /// File, line and column.
        at: Origin,
        /// What the parser says.
        message: String,
    },
    /// The text parses and holds values that do not hold.
    #[error("{}", list(problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// All of them, in the order of the text as far as known.
        problems: Vec<Problem>,
    },
    /// A change after which values would not hold that held before; the file is as it was.
    #[error("{what} is refused: {}", new(key, problems))]
    Change {
        /// The key that was to be changed.
        key: String,
        /// The change, as in `setting a.b to 1`.
        what: String,
        /// What would be wrong; without places, because the text was never written.
        problems: Vec<Problem>,
    },
    /// An agent that is not configured.
    #[error("agent {agent} is not configured")]
    UnknownAgent {
        /// Its id.
        agent: String,
        /// What named it.
        named_by: NamedBy,
        /// A configured one with a similar name.
        nearest: Option<String>,
    },
}

fn list(problems: &[Problem]) -> String {
    if let [only] = problems {
        return only.to_string();
    }
    let line = |problem: &Problem| format!("\n  {problem}\n    fix: {}", problem.fix);
    let lines: String = problems.iter().map(line).collect();
    format!("{} problems in the configuration:{lines}", problems.len())
}

/// The same after a change; the key that was changed is not repeated.
fn new(key: &str, problems: &[Problem]) -> String {
    match problems {
        [only] if only.key == key => only.message.clone(),
        _ => list(problems),
    }
}

/// That of the only problem; of several each stands beside its problem.
fn fix(problems: &[Problem]) -> String {
    match problems {
        [only] => only.fix.clone(),
        _ => "each problem has its own beside it; `creel config validate` looks again".to_owned(),
    }
}

impl Diagnose for ConfigError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Missing { named_by, .. } => {
                ("CRL-CONFIG-001", (*named_by).to_owned(), format!("make the file, or change {named_by}"))
            }
            Self::Io { path, .. } => (
                "CRL-CONFIG-002",
                path.display().to_string(),
                "make it a readable file of less than 8 MiB of UTF-8 text".to_owned(),
            ),
            Self::Syntax { at, .. } => {
                ("CRL-CONFIG-003", at.to_string(), "correct the JSON5 at this place".to_owned())
            }
            Self::Invalid { file, problems } => {
                // Of several each names its own place.
                let rule = match problems.as_slice() {
                    [only] => only.origin.as_ref().map_or_else(|| only.key.clone(), ToString::to_string),
                    _ => file.display().to_string(),
                };
                ("CRL-CONFIG-004", rule, fix(problems))
            }
            Self::Change { problems, .. } => {
                let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
                let fix = match problems.as_slice() {
                    [only] => only.fix.clone(),
                    _ => "write a value that holds; each problem has its fix beside it".to_owned(),
                };
                ("CRL-CONFIG-004", keys.join(", "), fix)
            }
            Self::UnknownAgent { nearest, named_by, .. } => {
                let fix = match (nearest, named_by) {
                    (Some(near), NamedBy::Id) => format!("did you mean {near}?"),
                    (Some(near), NamedBy::Session) => format!("did you mean agent:{near}:…?"),
                    (None, NamedBy::Id) => "add the agent, or leave out --agent".to_owned(),
                    (None, NamedBy::Session) => {
                        "add the agent, or name a session of a configured one: agent:<id>:<name>".to_owned()
                    }
                };
                ("CRL-CONFIG-005", "agents.entries".to_owned(), fix)
            }
        };
        Report { code, message: self.to_string(), rule: Some(rule), fix }
    }
}
