//! What holds on this machine: the document, and floors beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::file::Text;
use super::look::Raw;
use crate::approvals::document::{Document, DocumentError, Entry, Found, Held, Standing, hold};
use crate::approvals::policy::Host;
use crate::session::AgentId;

/// What holds on this machine. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Local {
    /// The file.
    pub path: PathBuf,
    /// What holds of it, and why.
    pub held: Arc<Held>,
    pub(super) locator: Arc<str>,
    pub(super) floors: Arc<[Floor]>,
    pub(super) hash: Arc<str>,
    pub(super) revision: u64,
}

/// Another document that counts: what it restricts is restricted, whatever the file says.
#[derive(Debug, Clone)]
pub struct Floor {
    /// Its name, for people.
    pub locator: String,
    /// What it says; nothing runs where it cannot be understood.
    pub document: Document,
    /// Why it cannot be understood.
    pub problem: Option<DocumentError>,
}

impl Local {
    pub(super) fn of(raw: &Raw, revision: u64) -> Self {
        let found = match &raw.text {
            Ok(Some(text)) => Found::Text(text),
            Ok(None) => Found::Missing,
            Err(reason) => Found::Unreadable(reason.clone()),
        };
        // Where both are the same, what one says is what the other says.
        let same = matches!((&raw.text, &raw.last_good), (Ok(Some(now)), Some(good)) if now == good);
        let last_good = if same { None } else { raw.last_good() };
        Self {
            path: raw.path.clone(),
            held: Arc::new(hold(&found, &raw.path, last_good)),
            locator: raw.path.display().to_string().into(),
            floors: raw.floors.iter().map(|(path, text)| Floor::of(path, text)).collect(),
            hash: hash(&raw.text).into(),
            revision,
        }
    }

    /// The same with another document in the place of the file's: to say what would hold with it.
    #[must_use]
    pub fn supposing(&self, document: Document) -> Self {
        let held = Arc::new(Held { document, standing: Standing::Current });
        Self { held, revision: super::read::next_revision(), ..self.clone() }
    }

    /// A document of its own, which is no machine's: nothing else has a say, and no last good copy stands in for it.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is no approvals document.
    pub fn alone(path: &Path) -> Result<Self, DocumentError> {
        let unreadable = |reason: String| DocumentError::Unreadable { file: path.to_owned(), reason };
        let text = super::file::text_of(path);
        let document = match &text {
            Ok(Some(text)) => Document::parse(text, path)?,
            Ok(None) => return Err(unreadable("it is not there".to_owned())),
            Err(reason) => return Err(unreadable(reason.clone())),
        };
        Ok(Self {
            path: path.to_owned(),
            held: Arc::new(Held { document, standing: Standing::Current }),
            locator: path.display().to_string().into(),
            floors: Arc::new([]),
            hash: hash(&text).into(),
            revision: super::read::next_revision(),
        })
    }

    /// What each document says for an agent; the strictest of all holds, see [`fn@super::super::policy::effective`].
    pub fn hosts(&self, agent: Option<&AgentId>) -> Vec<Host<'_>> {
        let mut hosts = Vec::new();
        // A document that is not there does not say that the fallback is `deny`.
        if self.floors.is_empty() || self.held.standing != Standing::Absent {
            hosts.push(Host { locator: &self.locator, rules: self.held.document.rules(agent) });
        }
        for floor in self.floors.iter() {
            hosts.push(Host { locator: &floor.locator, rules: floor.document.rules(agent) });
        }
        hosts
    }

    /// What may run for an agent: entries of every document, the file's first.
    pub fn allowlist(&self, agent: Option<&AgentId>) -> Vec<&Entry> {
        self.documents().flat_map(|document| document.rules(agent).allowlist).collect()
    }

    /// What never runs for an agent: entries of every document.
    pub fn denylist(&self, agent: Option<&AgentId>) -> Vec<&Entry> {
        self.documents().flat_map(|document| document.rules(agent).denylist).collect()
    }

    fn documents(&self) -> impl Iterator<Item = &Document> {
        std::iter::once(&self.held.document).chain(self.floors.iter().map(|floor| &floor.document))
    }

    /// The documents beside the file.
    pub fn floors(&self) -> &[Floor] {
        &self.floors
    }

    /// The file's name, for people.
    pub fn locator(&self) -> &str {
        &self.locator
    }

    /// There is a file.
    pub fn exists(&self) -> bool {
        !self.hash.starts_with(MISSING)
    }

    /// Names the file's bytes; a change that was made for other bytes is refused (spec `approvals.md` 1.06, 1.17).
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// A number that is another one when anything that holds is another; within this process.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Everything that is wrong with the documents.
    pub fn problems(&self) -> impl Iterator<Item = &DocumentError> {
        self.held
            .standing
            .problem()
            .into_iter()
            .chain(self.floors.iter().filter_map(|floor| floor.problem.as_ref()))
    }
}

impl Floor {
    fn of(path: &Path, text: &Result<String, String>) -> Self {
        let parsed = match text {
            Ok(text) => Document::parse(text, path),
            Err(reason) => Err(DocumentError::Unreadable { file: path.to_owned(), reason: reason.clone() }),
        };
        let (document, problem) = match parsed {
            Ok(document) => (document, None),
            Err(problem) => (Document::closed(), Some(problem)),
        };
        Self { locator: path.display().to_string(), document, problem }
    }
}

/// What the hash of a file that is not there begins with.
const MISSING: &str = "missing:";

/// The hash of a file's text.
pub(super) fn hash(text: &Text) -> String {
    let of = |text: &str| crate::state::hex(&Sha256::digest(text.as_bytes()));
    match text {
        Ok(Some(text)) => of(text),
        Ok(None) => format!("{MISSING}{}", of("")),
        Err(reason) => format!("unreadable:{}", of(reason)),
    }
}
