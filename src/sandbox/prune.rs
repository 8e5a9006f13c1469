//! Removes what nobody needs any more: dead, half-created, idle and old sandboxes, and directories without one.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::error::SandboxError;
use super::fate::{Fate, Limits};
use super::files::RunId;
use super::list::Listed;
use super::meet::Meet;
use super::record::Record;
use super::request::SandboxName;
use super::{Sandboxes, ensure::run_of, lock, pool};
use crate::engine::ContainerSummary;

/// A rendezvous directory that no container carries is somebody's beginning for this long, then it is rubbish.
const ORPHAN_AGE: Duration = Duration::from_mins(10);
/// Pruning beside other work happens at most this often (spec `sandbox.md` §12.2).
const SELDOM: Duration = Duration::from_mins(5);

/// The limits of the owner of a scope key; `None` where they are not known, and those count that it was made with.
pub type Owner<'a> = &'a (dyn Fn(&str) -> Option<Limits> + Sync);

/// One removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Container name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Why it could not be removed; it is tried again by the next prune.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Sandboxes {
    /// Removes every sandbox that is due and that nobody uses, by the limits that each was made with. Workspaces stay.
    ///
    /// # Errors
    ///
    /// As [`Self::prune_by`].
    pub async fn prune<M: Meet>(&self, meet: &M) -> Result<Vec<Pruned>, SandboxError> {
        self.prune_by(meet, &|_| None).await
    }

    /// Removes every sandbox that is due by its owner's limits and that nobody uses. Workspaces stay.
    ///
    /// # Errors
    ///
    /// When the engine cannot list; a single removal that fails is part of the result.
    pub async fn prune_by<M: Meet>(&self, meet: &M, owner: Owner<'_>) -> Result<Vec<Pruned>, SandboxError> {
        self.prune_those(meet, owner, |_| true).await
    }

    /// The same for the sandboxes of `which` alone.
    ///
    /// # Errors
    ///
    /// As [`Self::prune_by`].
    pub async fn prune_those<M: Meet>(
        &self,
        meet: &M,
        owner: Owner<'_>,
        which: impl Fn(&Listed) -> bool,
    ) -> Result<Vec<Pruned>, SandboxError> {
        let kept = pool::holder(&self.layout).is_some();
        let pruned = self.prune_with(meet, Rules { owner, kept }, which).await?;
        if !kept {
            self.sweep_places().await?;
        }
        Ok(pruned)
    }

    async fn prune_with<M: Meet>(
        &self,
        meet: &M,
        rules: Rules<'_>,
        which: impl Fn(&Listed) -> bool,
    ) -> Result<Vec<Pruned>, SandboxError> {
        let mut pruned = Vec::new();
        let containers = self.containers().await?;
        for summary in &containers {
            let Ok(name) = SandboxName::parse(&summary.name) else { continue };
            let listed = self.listed(summary.into())?;
            if !which(&listed) {
                continue;
            }
            let Fate::Remove(reason) = rules.judge(&listed) else { continue };
            let name_text = name.to_string();
            match self.prune_one(&name, meet, rules).await {
                Ok(None) => {}
                Ok(Some(reason)) => pruned.push(Pruned { name: name_text, reason, error: None }),
                Err(error) => pruned.push(Pruned { name: name_text, reason, error: Some(error.to_string()) }),
            }
        }
        for run in self.stale_among(&containers)? {
            self.layout.remove_run(&run)?;
        }
        Ok(pruned)
    }

    /// Rendezvous directories that no container carries and that are too old to be somebody's beginning.
    ///
    /// # Errors
    ///
    /// When the engine cannot list, or the directory cannot be read.
    pub async fn stale_runs(&self) -> Result<Vec<RunId>, SandboxError> {
        self.stale_among(&self.containers().await?)
    }

    /// Removes what [`Self::stale_runs`] finds, and returns it.
    ///
    /// # Errors
    ///
    /// As [`Self::stale_runs`], and when one cannot be removed.
    pub async fn sweep(&self) -> Result<Vec<RunId>, SandboxError> {
        let stale = self.stale_runs().await?;
        for run in &stale {
            self.layout.remove_run(run)?;
        }
        Ok(stale)
    }

    /// What a prune would do with each sandbox now, by name.
    ///
    /// # Errors
    ///
    /// When the engine cannot list.
    pub async fn prune_plan<M: Meet>(
        &self,
        meet: &M,
        owner: Owner<'_>,
    ) -> Result<Vec<(Listed, Fate)>, SandboxError> {
        let all = self.survey(meet).await?.into_iter();
        let rules = Rules { owner, kept: pool::holder(&self.layout).is_some() };
        let one = |listed: Listed| {
            let fate = rules.judge(&listed);
            (listed, fate)
        };
        Ok(all.map(one).collect())
    }

    /// Prunes unless it was done within the last five minutes, by whichever process. What fails is logged and left
    /// for the next time: it must not keep anybody from working.
    pub async fn prune_seldom<M: Meet>(&self, meet: &M, owner: Owner<'_>) {
        if !self.layout.due_again("pruned", SELDOM) {
            return;
        }
        // What waits in a pool without a keeper is adopted by the next one; only who asks for a prune loses it.
        match self.prune_with(meet, Rules { owner, kept: true }, |_| true).await {
            Ok(removed) => {
                for Pruned { name, reason, error } in removed {
                    match error {
                        None => tracing::info!(%name, %reason, "pruned"),
                        Some(error) => tracing::warn!(%name, %reason, %error, "could not prune"),
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "could not prune"),
        }
    }

    /// Looks again under the lock: since the listing somebody may have come. A locked one is somebody's: skipped,
    /// and so is one whose init runs commands. The reason when it was removed.
    async fn prune_one<M: Meet>(
        &self,
        name: &SandboxName,
        meet: &M,
        rules: Rules<'_>,
    ) -> Result<Option<String>, SandboxError> {
        let Some(_lock) = lock::try_exclusive(&self.layout, name)? else { return Ok(None) };
        let Some(facts) = self.engine.inspect(name.as_str()).await? else { return Ok(None) };
        self.own(&facts)?;
        let listed = self.listed((&facts).into())?;
        let Fate::Remove(reason) = rules.judge(&listed) else { return Ok(None) };
        if let Some(record) = Record::load(&self.layout, name)
            && self.busy(&facts, &record, meet).await
        {
            return Ok(None);
        }
        self.engine.remove(&facts.id).await?;
        self.layout.forget(name, run_of(&facts.labels).as_ref())?;
        self.forget_place(name)?;
        Ok(Some(reason))
    }

    /// Removes entries and workspaces of pools that no container has any more.
    async fn sweep_places(&self) -> Result<(), SandboxError> {
        for waiting in self.waiting()? {
            let Some(_lock) = lock::try_exclusive(&self.layout, &waiting.name)? else { continue };
            if self.engine.inspect(waiting.name.as_str()).await?.is_none() {
                self.empty(&waiting.name).await?;
            }
        }
        Ok(())
    }

    fn stale_among(&self, containers: &[ContainerSummary]) -> Result<Vec<RunId>, SandboxError> {
        let carried = containers.iter().filter_map(|summary| run_of(&summary.labels));
        let carried: BTreeSet<String> = carried.map(|run| run.as_str().to_owned()).collect();
        let stale = |(run, made): (RunId, SystemTime)| {
            let old = made.elapsed().is_ok_and(|age| age > ORPHAN_AGE);
            (old && !carried.contains(run.as_str())).then_some(run)
        };
        Ok(self.layout.runs()?.into_iter().filter_map(stale).collect())
    }
}

/// What a prune goes by.
#[derive(Clone, Copy)]
struct Rules<'a> {
    owner: Owner<'a>,
    /// Some process keeps the pools.
    kept: bool,
}

impl Rules<'_> {
    fn judge(&self, listed: &Listed) -> Fate {
        listed.when_waiting(self.kept).unwrap_or_else(|| {
            let limits = (self.owner)(&listed.session_key).unwrap_or_else(|| listed.own_limits());
            listed.when_pruned(limits, now_ms())
        })
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
