//! Lists the sandboxes of this installation. The engine's labels are the truth, files only add to them.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde::Serialize;

use super::error::SandboxError;
use super::meet::Meet;
use super::record::Record;
use super::request::SandboxName;
use super::{Sandboxes, labels, lease};
use crate::engine::{ContainerFacts, ContainerSummary, EngineError};

/// One sandbox as `creel sandbox list` shows it; upstream's field names where it has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Container id.
    pub id: String,
    /// Container name.
    #[serde(rename = "containerName")]
    pub name: String,
    /// Scope key.
    pub session_key: String,
    /// Image reference as asked for.
    pub image: String,
    /// Image id.
    pub image_id: String,
    /// The image reference still means that image id; `None` when the reference is gone.
    #[serde(rename = "imageIdMatch")]
    pub image_match: Option<bool>,
    /// Running.
    pub running: bool,
    /// The engine's own word for its state.
    pub status: String,
    /// Running, and there is a proof of this container.
    pub proven: bool,
    /// Creation time, milliseconds since 1970.
    pub created_at_ms: u64,
    /// Last use, milliseconds since 1970, where known.
    pub last_used_at_ms: Option<u64>,
    /// Configuration hash.
    pub config_hash: String,
    /// Idle limit in seconds, 0 for none.
    pub idle_limit_s: u64,
    /// Age limit in seconds, 0 for none.
    pub max_age_s: u64,
    /// Processes that use it now.
    pub leases: usize,
    /// Commands that run in it; `None` where its init was not asked.
    pub commands: Option<usize>,
    /// Image id that the reference means now; `None` when the reference is gone.
    #[serde(skip)]
    pub image_now: Option<String>,
    /// It waits in the pool of this key; no session has it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Why creel did not make it as it is, although it carries the installation's label: it is shown, and left alone.
    #[serde(rename = "notMadeByCreel", skip_serializing_if = "Option::is_none")]
    pub not_made: Option<String>,
}

/// What a listing and an inspection both tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    id: &'a str,
    name: &'a str,
    labels: &'a BTreeMap<String, String>,
    running: bool,
    status: &'a str,
}

impl<'a> From<&'a ContainerFacts> for Row<'a> {
    fn from(facts: &'a ContainerFacts) -> Self {
        let ContainerFacts { id, name, labels, running, status, .. } = facts;
        Self { id: &id.0, name, labels, running: *running, status }
    }
}

impl<'a> From<&'a ContainerSummary> for Row<'a> {
    fn from(summary: &'a ContainerSummary) -> Self {
        let ContainerSummary { id, name, labels, running, status, .. } = summary;
        Self { id: &id.0, name, labels, running: *running, status }
    }
}

impl Row<'_> {
    fn label(&self, name: &str) -> String {
        self.labels.get(name).cloned().unwrap_or_default()
    }

    /// A label that is no number reads as 0, which means: no limit. Prune removes nothing because of it.
    fn number(&self, name: &str) -> u64 {
        self.labels.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }
}

/// Says what a container lacks that every one of creel's has.
pub(super) fn not_made(labels: &BTreeMap<String, String>) -> Option<String> {
    let lacking = labels::lacking(labels);
    let what = lacking.first()?;
    let more = if lacking.len() > 1 { format!(" and {} more", lacking.len() - 1) } else { String::new() };
    Some(format!("not made by creel as it is: it lacks the label {what}{more}"))
}

impl Sandboxes {
    /// All sandboxes of this installation, by name.
    ///
    /// # Errors
    ///
    /// When the engine does not answer.
    pub async fn list(&self) -> Result<Vec<Listed>, SandboxError> {
        let mut all = Vec::new();
        for summary in self.containers().await? {
            let listed = self.listed((&summary).into())?;
            let image_now = self.image_now(&listed).await?;
            let image_match = image_now.as_ref().map(|now| *now == listed.image_id);
            all.push(Listed { image_match, image_now, ..listed });
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// The image that a container's reference means now. What anybody wrote into a label need not be a reference; that
    /// is no image then, and no reason to show nothing at all.
    async fn image_now(&self, listed: &Listed) -> Result<Option<String>, SandboxError> {
        if listed.not_made.is_some() {
            return Ok(None);
        }
        match self.engine.image(&listed.image).await {
            Ok(image) => Ok(image.map(|image| image.id)),
            Err(EngineError::BadValue { .. } | EngineError::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Self::list`], with the number of commands that run in each: their inits are asked, all at once.
    ///
    /// # Errors
    ///
    /// When the engine does not answer.
    pub async fn survey<M: Meet>(&self, meet: &M) -> Result<Vec<Listed>, SandboxError> {
        let all = self.list().await?;
        let ask = async |listed: Listed| {
            let commands = self.commands_of(&listed, meet).await;
            Listed { commands, ..listed }
        };
        Ok(futures_util::future::join_all(all.into_iter().map(ask)).await)
    }

    /// `None` where it does not run, or nothing proves what it is: whoever answers there is not asked.
    async fn commands_of<M: Meet>(&self, listed: &Listed, meet: &M) -> Option<usize> {
        let record = Record::load(&self.layout, &SandboxName::parse(&listed.name).ok()?)?;
        let facts = self.engine.inspect(&listed.id).await.ok()??;
        if !record.is_about(&facts) {
            return None;
        }
        Some(self.commands(&facts, &record, meet).await)
    }

    /// What was proven of a listed container; `None` where nothing was.
    pub fn proof_of(&self, listed: &Listed) -> Option<Record> {
        let record = Record::load(&self.layout, &SandboxName::parse(&listed.name).ok()?)?;
        (record.container == listed.id).then_some(record)
    }

    /// The containers that carry this installation's label.
    pub(super) async fn containers(&self) -> Result<Vec<ContainerSummary>, SandboxError> {
        let own = (labels::INSTALLATION.to_owned(), self.installation.as_str().to_owned());
        Ok(self.engine.list(&[own]).await?)
    }

    /// One container with what the files add.
    pub(super) fn listed(&self, row: Row<'_>) -> Result<Listed, SandboxError> {
        let name = SandboxName::parse(row.name).ok();
        let (mut leases, mut last_used, mut proven, mut scope) = (0, None, false, None);
        if let Some(name) = &name {
            leases = lease::count(&self.layout, name)?;
            last_used = self.layout.last_used(name);
            let record = Record::load(&self.layout, name);
            // A listing does not tell the start time: whether it was restarted is found out at the next use.
            let record = record.filter(|record| record.container == row.id);
            proven = row.running && record.is_some();
            scope = record.and_then(|record| record.scope);
        }
        let since = |time: std::time::SystemTime| time.duration_since(UNIX_EPOCH).ok();
        Ok(Listed {
            id: row.id.to_owned(),
            name: row.name.to_owned(),
            pool: row.labels.get(labels::POOL).filter(|_| scope.is_none()).cloned(),
            // What came out of a pool has its scope in the files only.
            session_key: scope.unwrap_or_else(|| row.label(labels::SESSION_KEY)),
            image: row.label(labels::REFERENCE),
            image_id: row.label(labels::IMAGE),
            image_match: None,
            running: row.running,
            status: row.status.to_owned(),
            proven,
            created_at_ms: row.number(labels::CREATED),
            last_used_at_ms: last_used.and_then(since).and_then(|age| u64::try_from(age.as_millis()).ok()),
            config_hash: row.label(labels::HASH),
            idle_limit_s: row.number(labels::IDLE),
            max_age_s: row.number(labels::EXPIRES),
            leases,
            commands: None,
            image_now: None,
            not_made: not_made(row.labels),
        })
    }
}
