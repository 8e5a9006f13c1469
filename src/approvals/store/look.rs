//! Which files there are, and their texts; nothing is judged here.
//!
//! A current `OpenClaw` keeps its policy in its database and refuses to run while `exec-approvals.json` lies in the
//! state directory. Beside one, creel's own document is `creel/exec-approvals.json`, and the database's row a floor
//! under it (design §1).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::FILE_NAME;
use super::file::{Text, text_of};
use super::row::{self, Row};
use crate::approvals::document::types::Unknown;
use crate::approvals::document::{Agent, Document, Entry, Rules};
use crate::state::StateDir;

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    /// The document.
    pub(super) path: PathBuf,
    /// Its text; `None` where it is missing; else why it cannot be read.
    pub(super) text: Text,
    /// What counts besides, with its name and text.
    pub(super) floors: Vec<(PathBuf, Result<String, String>)>,
    /// The last text that could be used.
    pub(super) last_good: Option<String>,
}

impl Raw {
    /// The last document that could be used, where the file cannot.
    pub(super) fn last_good(&self) -> Option<Document> {
        let known = self.last_good.as_deref().and_then(|text| Document::parse(text, &self.path).ok())?;
        (!self.holds_elsewhere(&known)).then_some(known)
    }

    /// The file is gone because `OpenClaw` has taken it into its database, whose row says the same.
    pub(super) fn moved(&self) -> bool {
        let known = self.last_good.as_deref().and_then(|text| Document::parse(text, &self.path).ok());
        known.is_some_and(|known| self.holds_elsewhere(&known))
    }

    fn holds_elsewhere(&self, known: &Document) -> bool {
        let same = |(path, text): &(PathBuf, Result<String, String>)| {
            let other = text.as_ref().ok().and_then(|text| Document::parse(text, path).ok());
            other.is_some_and(|other| rules(other) == rules(known.clone()))
        };
        matches!(self.text, Ok(None)) && self.floors.iter().any(same)
    }
}

/// A document as far as it decides: importing gives ids, and drops what upstream does not know.
fn rules(mut document: Document) -> (Rules, Vec<Agent>) {
    for entry in document.entries_mut() {
        *entry = Entry {
            arg_pattern: entry.arg_pattern.take(),
            source: entry.source,
            content_sha256: entry.content_sha256.take(),
            ..Entry::of(std::mem::take(&mut entry.pattern))
        };
    }
    (Rules { unknown: Unknown::new(), ..document.defaults }, document.agents)
}

/// The document of creel and older `OpenClaw`.
pub(super) fn shared(state: &StateDir) -> PathBuf {
    state.root().join(FILE_NAME)
}

/// The document beside a current `OpenClaw`.
pub(super) fn own(state: &StateDir) -> PathBuf {
    state.root().join("creel").join(FILE_NAME)
}

/// The last good copy.
pub(super) fn kept(state: &StateDir) -> PathBuf {
    state.root().join("creel/approvals/last-good.json")
}

/// What an import by `OpenClaw` that was interrupted leaves (spec `approvals.md` 1.24).
fn importing(state: &StateDir) -> PathBuf {
    state.root().join(format!("{FILE_NAME}.doctor-importing"))
}

/// Looks.
pub(super) fn look(state: &StateDir) -> Raw {
    let last_good = text_of(&kept(state)).ok().flatten();
    let (path, own) = (shared(state), own(state));
    let text = text_of(&path);
    if !matches!(text, Ok(None)) {
        // A second document of creel's was meant to hold too.
        let floors = match text_of(&own) {
            Ok(None) => Vec::new(),
            Ok(Some(text)) => vec![(own, Ok(text))],
            Err(reason) => vec![(own, Err(reason))],
        };
        return Raw { path, text, floors, last_good };
    }
    let left = importing(state);
    if left.symlink_metadata().is_ok() {
        let reason = format!("there is none, and {} is left of an import", left.display());
        return Raw { path, text: Err(reason), floors: Vec::new(), last_good };
    }
    let locator = row::locator(state);
    let (beside, floors) = match row::read(state) {
        Row::NoStore => (false, Vec::new()),
        Row::NoPolicy => (true, Vec::new()),
        Row::Policy(text) => (true, vec![(locator, Ok(text))]),
        Row::Unreadable(reason) => (true, vec![(locator, Err(reason))]),
    };
    match text_of(&own) {
        Ok(None) if !beside => Raw { path, text: Ok(None), floors, last_good },
        text => Raw { path: own, text, floors, last_good },
    }
}

/// By what a change of any of the files shows, without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp(Vec<Option<One>>);

/// Device, inode, size, and when content and the rest were last changed.
type One = (u64, u64, u64, i64, i64, i64, i64);

/// Clocks of file systems tick slowly: a change within one tick does not show.
const TICK: Duration = Duration::from_millis(100);

impl Stamp {
    /// The stamp of this moment, and whether everything is old enough for a later change to show.
    pub(super) fn of(state: &StateDir) -> (Self, bool) {
        let database = row::database(state);
        let paths =
            [shared(state), own(state), kept(state), importing(state), row::journal(&database), database];
        let limit =
            SystemTime::now().checked_sub(TICK).and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let limit = limit.and_then(|at| i64::try_from(at.as_nanos()).ok()).unwrap_or(i64::MIN);
        let mut settled = true;
        let one = |path: &PathBuf| {
            let meta = stat(path)?;
            let changed = meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec());
            settled &= changed < limit;
            Some((
                meta.dev(),
                meta.ino(),
                meta.size(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
            ))
        };
        let stamps = paths.iter().map(one).collect();
        (Self(stamps), settled)
    }
}

/// What a link leads to is another file when the link changes.
fn stat(path: &Path) -> Option<std::fs::Metadata> {
    let meta = path.symlink_metadata().ok()?;
    if meta.is_symlink() { path.metadata().ok().or(Some(meta)) } else { Some(meta) }
}
