//! Removes sandboxes: one by name, or all of this installation.

use std::path::Path;
use std::time::{Duration, Instant};

use super::error::SandboxError;
use super::files::RunId;
use super::list::not_made;
use super::record::Record;
use super::request::SandboxName;
use super::{ByLink, Sandboxes, ensure::run_of, labels, lease, lock};
use crate::engine::ContainerFacts;

/// How long a keeper may take to notice that nobody wants a pool and to empty it.
const LETS_GO: Duration = Duration::from_secs(10);
/// Pause between two looks at its lock.
const PAUSE: Duration = Duration::from_millis(20);

/// What to do with a sandbox that somebody uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InUse {
    /// Leave it, as an error.
    Refuse,
    /// End it with its commands.
    Remove,
}

impl Sandboxes {
    /// Removes the sandbox of this name. False when there is none. Workspaces stay.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Foreign`] for a container that is not ours, [`SandboxError::Leased`] and [`SandboxError::Busy`] for
    /// one in use.
    pub async fn stop(&self, name: &SandboxName, in_use: InUse) -> Result<bool, SandboxError> {
        self.stop_only(name, None, in_use).await
    }

    /// As [`Self::stop`], and its workspace goes too, under the same lock: whoever opens the sandbox next gets a new one.
    /// Only for a workspace that creel made and that nobody else has.
    ///
    /// # Errors
    ///
    /// As [`Self::stop`], and where the workspace cannot be removed.
    pub async fn stop_with(
        &self,
        name: &SandboxName,
        in_use: InUse,
        workspace: Option<&Path>,
    ) -> Result<bool, SandboxError> {
        let _lock = lock::exclusive(&self.layout, name, lock::PATIENCE).await?;
        let removed = self.stop_locked(name, None, in_use).await?;
        workspace.map_or(Ok(()), discard)?;
        Ok(removed)
    }

    /// As [`Self::stop`], and only if the name still belongs to the container `only`: what somebody looked at and
    /// chose, not what came in its place.
    ///
    /// # Errors
    ///
    /// As [`Self::stop`].
    pub async fn stop_only(
        &self,
        name: &SandboxName,
        only: Option<&str>,
        in_use: InUse,
    ) -> Result<bool, SandboxError> {
        let _lock = lock::exclusive(&self.layout, name, lock::PATIENCE).await?;
        self.stop_locked(name, only, in_use).await
    }

    async fn stop_locked(
        &self,
        name: &SandboxName,
        only: Option<&str>,
        in_use: InUse,
    ) -> Result<bool, SandboxError> {
        let Some(facts) = self.engine.inspect(name.as_str()).await? else {
            self.forget_removed(name).await?;
            return Ok(false);
        };
        self.own(&facts)?;
        if only.is_some_and(|id| id != facts.id.0) {
            return Ok(false);
        }
        if in_use == InUse::Refuse {
            self.unused(name, &facts).await?;
        }
        self.engine.remove(&facts.id).await?;
        self.layout.forget(name, run_of(&facts.labels).as_ref())?;
        self.forget_place(name)?;
        Ok(true)
    }

    /// Refuses a sandbox that a process uses, or in which commands run.
    async fn unused(&self, name: &SandboxName, facts: &ContainerFacts) -> Result<(), SandboxError> {
        let leases = lease::count(&self.layout, name)?;
        if leases > 0 {
            return Err(SandboxError::Leased { name: name.to_string(), leases });
        }
        if facts.status == "paused" {
            return Err(SandboxError::Paused { name: name.to_string() });
        }
        let Some(record) = Record::load(&self.layout, name) else { return Ok(()) };
        match self.commands(facts, &record, &ByLink).await {
            0 => Ok(()),
            commands => Err(SandboxError::Busy { name: name.to_string(), commands }),
        }
    }

    /// Removes every sandbox of this installation; the outcome of each, by name.
    ///
    /// # Errors
    ///
    /// When the engine cannot list them.
    pub async fn stop_all(
        &self,
        in_use: InUse,
    ) -> Result<Vec<(SandboxName, Result<bool, SandboxError>)>, SandboxError> {
        // Without wishes the keeper makes no new ones for its pools.
        super::pool::forget_wishes(&self.layout)?;
        self.keeper_lets_go().await;
        let mut outcome = Vec::new();
        for listed in self.list().await? {
            let Ok(name) = SandboxName::parse(&listed.name) else { continue };
            // Nobody uses what waits in a pool; a lease there is that of whoever has just made it.
            let in_use = if listed.pool.is_some() { InUse::Remove } else { in_use };
            let result = self.stop(&name, in_use).await;
            outcome.push((name, result));
        }
        Ok(outcome)
    }

    /// Waits for a keeper, for whom nothing waits for sessions any more, to take those containers away; not for ever.
    async fn keeper_lets_go(&self) {
        let end = Instant::now() + LETS_GO;
        let waits = || !super::pool::waiting(&self.layout).is_empty();
        while super::pool::holder(&self.layout).is_some() && waits() && Instant::now() < end {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Removes what is kept about a container that somebody removed behind our back. Call it under the lock, when
    /// nothing has the name. One that was renamed keeps its rendezvous.
    pub(super) async fn forget_removed(&self, name: &SandboxName) -> Result<(), SandboxError> {
        let Some(record) = Record::load(&self.layout, name) else { return self.layout.forget(name, None) };
        let gone = self.engine.inspect(&record.container).await?.is_none();
        let run = RunId::parse(&record.run).filter(|_| gone);
        self.layout.forget(name, run.as_ref())
    }

    /// Refuses a container of somebody else, also one that only carries our label.
    pub(super) fn own(&self, facts: &ContainerFacts) -> Result<(), SandboxError> {
        let owner = match facts.labels.get(labels::INSTALLATION) {
            Some(owner) if owner == self.installation.as_str() => match not_made(&facts.labels) {
                None => return Ok(()),
                Some(why) => format!("is {why}"),
            },
            Some(other) => format!("belongs to installation {}", other.escape_debug()),
            None => "carries no installation label".to_owned(),
        };
        Err(SandboxError::Foreign { name: facts.name.clone(), id: facts.id.short().to_owned(), owner })
    }
}

/// Removes a directory with everything in it; links in it are removed, not followed.
fn discard(dir: &Path) -> Result<(), SandboxError> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SandboxError::io(dir, "remove the workspace")(error))
        }
        _ => Ok(()),
    }
}
