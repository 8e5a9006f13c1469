//! Removes what nobody needs any more: dead, half-created, idle and old sandboxes, and directories without one.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::error::SandboxError;
use super::files::RunId;
use super::list::Listed;
use super::meet::Meet;
use super::record::Record;
use super::request::SandboxName;
use super::{Sandboxes, ensure::run_of, lock};
use crate::engine::ContainerSummary;

/// A rendezvous directory that no container carries is somebody's beginning for this long, then it is rubbish.
const ORPHAN_AGE: Duration = Duration::from_mins(10);

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

/// Why a sandbox is due, `None` while it is not. Limits are exceeded strictly (spec `sandbox.md` §12.2). Pure.
fn due(listed: &Listed, now_ms: u64) -> Option<String> {
    if listed.leases > 0 || listed.status == "paused" {
        return None;
    }
    if !listed.running {
        return Some(format!("it is {}", listed.status));
    }
    if !listed.proven {
        // Whoever makes one holds the lock until it is proven, and prune decides under that lock.
        return Some("it never became ready".to_owned());
    }
    let over = |since_ms: u64, limit_s: u64| {
        limit_s > 0 && since_ms > 0 && now_ms.saturating_sub(since_ms) > limit_s.saturating_mul(1000)
    };
    let used = listed.last_used_at_ms.unwrap_or(listed.created_at_ms);
    if over(used, listed.idle_limit_s) {
        return Some(format!("it was idle for more than {} s", listed.idle_limit_s));
    }
    over(listed.created_at_ms, listed.max_age_s).then(|| format!("it is older than {} s", listed.max_age_s))
}

impl Sandboxes {
    /// Removes every sandbox that is due and that nobody uses. Workspaces stay.
    ///
    /// # Errors
    ///
    /// When the engine cannot list; a single removal that fails is part of the result.
    pub async fn prune<M: Meet>(&self, meet: &M) -> Result<Vec<Pruned>, SandboxError> {
        self.prune_those(meet, |_| true).await
    }

    /// The same for the sandboxes of `which` alone.
    ///
    /// # Errors
    ///
    /// As [`Self::prune`].
    pub async fn prune_those<M: Meet>(
        &self,
        meet: &M,
        which: impl Fn(&Listed) -> bool,
    ) -> Result<Vec<Pruned>, SandboxError> {
        let mut pruned = Vec::new();
        let containers = self.containers().await?;
        for summary in &containers {
            let Ok(name) = SandboxName::parse(&summary.name) else { continue };
            let listed = self.listed(summary.into())?;
            let Some(reason) = due(&listed, now_ms()).filter(|_| which(&listed)) else { continue };
            let name_text = name.to_string();
            match self.prune_one(&name, meet).await {
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

    /// Looks again under the lock: since the listing somebody may have come. A locked one is somebody's: skipped,
    /// and so is one whose init runs commands. The reason when it was removed.
    async fn prune_one<M: Meet>(&self, name: &SandboxName, meet: &M) -> Result<Option<String>, SandboxError> {
        let Some(_lock) = lock::try_exclusive(&self.layout, name)? else { return Ok(None) };
        let Some(facts) = self.engine.inspect(name.as_str()).await? else { return Ok(None) };
        self.own(&facts)?;
        let Some(reason) = due(&self.listed((&facts).into())?, now_ms()) else { return Ok(None) };
        if let Some(record) = Record::load(&self.layout, name)
            && self.busy(&facts, &record, meet).await
        {
            return Ok(None);
        }
        self.engine.remove(&facts.id).await?;
        self.layout.forget(name, run_of(&facts.labels).as_ref())?;
        Ok(Some(reason))
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

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Listed {
        Listed {
            id: "0".repeat(64),
            name: "ab".to_owned(),
            session_key: "agent:main".to_owned(),
            image: "i".to_owned(),
            image_id: "sha256:0".to_owned(),
            image_match: None,
            running: true,
            status: "running".to_owned(),
            proven: true,
            created_at_ms: 1_000,
            last_used_at_ms: Some(1_000),
            config_hash: String::new(),
            idle_limit_s: 10,
            max_age_s: 100,
            leases: 0,
        }
    }

    #[test]
    fn limits_are_exceeded_strictly() {
        assert_eq!(due(&listed(), 11_000), None);
        assert!(due(&listed(), 11_001).unwrap().contains("idle"));
        let used = Listed { last_used_at_ms: Some(100_000), ..listed() };
        assert_eq!(due(&used, 101_000), None);
        assert!(due(&used, 101_001).unwrap().contains("older"));
        let unlimited = Listed { idle_limit_s: 0, max_age_s: 0, ..listed() };
        assert_eq!(due(&unlimited, u64::MAX), None);
    }

    #[test]
    fn never_a_leased_one() {
        let dead = Listed { running: false, status: "exited".to_owned(), ..listed() };
        assert_eq!(due(&dead, 0).unwrap(), "it is exited");
        assert_eq!(due(&Listed { leases: 1, ..dead }, 0), None);
        let abandoned = Listed { proven: false, ..listed() };
        assert_eq!(due(&abandoned, 0).unwrap(), "it never became ready");
        assert_eq!(due(&Listed { leases: 1, ..listed() }, u64::MAX), None);
        let paused = Listed { running: false, status: "paused".to_owned(), ..listed() };
        assert_eq!(due(&paused, u64::MAX), None);
    }
}
