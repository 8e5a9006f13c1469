//! Grants with a budget (extension) and grants for scheduled runs (spec `approvals.md` 9.42). Values.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{DeskError, Question, Terms};
use crate::approvals::allowlist::{DIRECTORY, REAL_PATH};
use crate::approvals::document::{Entry, Source};
use crate::paths::lexical::{clean, inside};

/// Longest life of a grant that may be asked for, in days (9.27).
pub const MAX_DAYS: u32 = 3650;
/// Milliseconds of a day.
pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What a scheduled run does: the grant holds for exactly this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// The text of the command, trimmed.
    pub command: String,
    /// The directory.
    pub cwd: String,
    /// A digest of the environment that the call sets, byte for byte.
    pub env_digest: String,
}

impl Operation {
    /// The operation of a command.
    pub fn of(command: &str, cwd: &str, env: &[(String, String)]) -> Self {
        let mut hash = Sha256::new();
        for part in env.iter().flat_map(|(name, value)| [name, value]) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let env_digest = crate::state::hex(&hash.finalize());
        Self { command: command.trim().to_owned(), cwd: cwd.to_owned(), env_digest }
    }

    /// Its name in the table, for one agent.
    pub(super) fn key(&self, agent: &str) -> String {
        let mut hash = Sha256::new();
        for part in [agent, &self.command, &self.cwd, &self.env_digest] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        crate::state::hex(&hash.finalize())
    }
}

/// An entry as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Covers {
    /// The pattern.
    pub pattern: String,
    /// What the arguments must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// The file that the program was, where its name is a link of a multi-call binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    /// What the program or script held when it was approved, where it can be changed by whoever runs commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_sha256: Option<String>,
    /// It holds in and below this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// An approval wrote it.
    #[serde(default)]
    pub approved: bool,
}

impl Covers {
    fn of(entry: &Entry) -> Self {
        Self {
            pattern: entry.pattern.clone(),
            arg_pattern: entry.arg_pattern.clone(),
            real_path: entry.unknown.get(REAL_PATH).and_then(|path| path.as_str()).map(str::to_owned),
            content_sha256: entry.content_sha256.clone(),
            directory: None,
            approved: entry.source == Source::AllowAlways,
        }
    }

    /// As an entry of an allowlist.
    pub fn entry(&self) -> Entry {
        let source = if self.approved { Source::AllowAlways } else { Source::Manual };
        let keys = [(REAL_PATH, &self.real_path), (DIRECTORY, &self.directory)];
        let unknown =
            keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?.into())));
        Entry {
            pattern: self.pattern.clone(),
            arg_pattern: self.arg_pattern.clone(),
            content_sha256: self.content_sha256.clone(),
            source,
            unknown: unknown.collect(),
            ..Entry::default()
        }
    }
}

/// A grant. Its terms never change. Times in Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Its id.
    pub grant_id: String,
    /// The agent that it is for.
    pub agent_id: String,
    /// What it covers; empty for an operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<Covers>,
    /// The operation that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The command that was approved, as it was shown.
    pub command: String,
    /// Its limits.
    pub terms: Terms,
    /// How often it was used.
    pub use_count: u32,
    /// When it was made.
    pub created_at_ms: u64,
    /// Who made it.
    pub created_by: String,
    /// The question that it answered.
    pub approval_id: String,
    /// When it was last used.
    #[serde(default)]
    pub last_used_at_ms: Option<u64>,
    /// When it was taken back.
    #[serde(default)]
    pub revoked_at_ms: Option<u64>,
    /// Who took it back.
    #[serde(default)]
    pub revoked_by: Option<String>,
}

impl Grant {
    /// Why it does not hold at `now`; `None` where it does.
    pub fn over(&self, now: u64) -> Option<&'static str> {
        if self.revoked_at_ms.is_some() {
            return Some("revoked");
        }
        if self.terms.expires_at_ms.is_some_and(|at| at <= now) {
            return Some("expired");
        }
        self.terms.uses.is_some_and(|uses| self.use_count >= uses).then_some("used up")
    }

    /// Whether any command that begins in this directory, which is canonical, may be covered. Where a command goes after that
    /// is looked at entry by entry.
    pub fn holds_in(&self, dir: Option<&Path>) -> bool {
        match (&self.terms.directory, dir) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(directory), Some(dir)) => inside(Path::new(directory), &clean(dir)),
        }
    }

    /// Its entries, to be compiled behind those of the document.
    pub fn entries(&self) -> Vec<Entry> {
        self.covers.iter().map(Covers::entry).collect()
    }
}

/// The grant that "always" makes of a question, without its id; `None` where it writes into the document instead.
pub(super) fn minted(
    question: &Question,
    terms: Option<&Terms>,
    now: u64,
) -> Result<Option<(Vec<Covers>, Terms)>, DeskError> {
    let terms = terms.filter(|terms| !terms.is_empty());
    if let Some(terms) = terms {
        check(terms, now)?;
    }
    if question.operation.is_some() {
        let mut terms = terms.cloned().unwrap_or_default();
        if terms.directory.is_some() {
            return Err(DeskError::Terms("a scheduled run has one directory already".to_owned()));
        }
        let configured = question.expiry_days.map(|days| now.saturating_add(u64::from(days) * DAY_MS));
        terms.expires_at_ms = terms.expires_at_ms.or(configured);
        return Ok(Some((Vec::new(), terms)));
    }
    let Some(terms) = terms else { return Ok(None) };
    if question.entries.is_empty() {
        return Err(DeskError::Terms("nothing of this command can be remembered".to_owned()));
    }
    let covers = question.entries.iter().map(|entry| limited(entry, terms)).collect::<Result<_, _>>()?;
    Ok(Some((covers, terms.clone())))
}

/// Below a directory neither arguments nor content matter: files there are written all the time. Elsewhere both are those
/// that were approved.
fn limited(entry: &Entry, terms: &Terms) -> Result<Covers, DeskError> {
    let Some(directory) = &terms.directory else { return Ok(Covers::of(entry)) };
    if entry.pattern.starts_with('=') {
        let why = "a whole command text was approved, and no program that could be limited to a directory";
        return Err(DeskError::Terms(why.to_owned()));
    }
    let directory = Some(directory.clone());
    Ok(Covers { arg_pattern: None, content_sha256: None, directory, approved: false, ..Covers::of(entry) })
}

fn check(terms: &Terms, now: u64) -> Result<(), DeskError> {
    let last = now.saturating_add(u64::from(MAX_DAYS) * DAY_MS);
    let problem = match terms {
        Terms { expires_at_ms: Some(at), .. } if *at <= now => "it would have ended already",
        Terms { expires_at_ms: Some(at), .. } if *at > last => "it would last longer than 3650 days",
        Terms { uses: Some(0), .. } => "0 uses are none",
        Terms { directory: Some(dir), .. } if !plain(dir) => {
            "its directory is not an absolute path without . and .. and without / at its end"
        }
        _ => return Ok(()),
    };
    Err(DeskError::Terms(problem.to_owned()))
}

/// Absolute, and the same text whoever resolves it.
fn plain(dir: &str) -> bool {
    dir.starts_with('/') && !dir.contains('\0') && crate::paths::lexical::clean_text(dir) == dir
}
