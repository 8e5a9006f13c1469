//! Removes what nobody needs any more: dead, half-created, idle and old sandboxes, and directories without one.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::error::SandboxError;
use super::list::Listed;
use super::meet::Meet;
use super::record::Record;
use super::request::SandboxName;
use super::{Sandboxes, ensure::run_of, lock, pool};

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

/// Why a sandbox is due, `None` while it is not. Limits are exceeded strictly (spec `sandbox.md` §12.2). `kept`: some
/// process keeps the pools, which then decides over what waits in them. Pure.
fn due(listed: &Listed, now_ms: u64, kept: bool) -> Option<String> {
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
    if listed.pool.is_some() {
        return (!kept).then(|| "nobody keeps its pool".to_owned());
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
        let mut pruned = Vec::new();
        let kept = pool::holder(&self.layout).is_some();
        let containers = self.containers().await?;
        for summary in &containers {
            let Ok(name) = SandboxName::parse(&summary.name) else { continue };
            let Some(reason) = due(&self.listed(summary.into())?, now_ms(), kept) else { continue };
            let name_text = name.to_string();
            match self.prune_one(&name, meet).await {
                Ok(None) => {}
                Ok(Some(reason)) => pruned.push(Pruned { name: name_text, reason, error: None }),
                Err(error) => pruned.push(Pruned { name: name_text, reason, error: Some(error.to_string()) }),
            }
        }
        self.sweep_places().await?;
        let runs = containers.iter().filter_map(|summary| run_of(&summary.labels));
        self.sweep(&runs.map(|run| run.as_str().to_owned()).collect())?;
        Ok(pruned)
    }

    /// Looks again under the lock: since the listing somebody may have come. A locked one is somebody's: skipped,
    /// and so is one whose init runs commands. The reason when it was removed.
    async fn prune_one<M: Meet>(&self, name: &SandboxName, meet: &M) -> Result<Option<String>, SandboxError> {
        let Some(_lock) = lock::try_exclusive(&self.layout, name)? else { return Ok(None) };
        let Some(facts) = self.engine.inspect(name.as_str()).await? else { return Ok(None) };
        self.own(&facts)?;
        let Some(reason) =
            due(&self.listed((&facts).into())?, now_ms(), pool::holder(&self.layout).is_some())
        else {
            return Ok(None);
        };
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
        if pool::holder(&self.layout).is_none() {
            for waiting in self.waiting()? {
                let Some(_lock) = lock::try_exclusive(&self.layout, &waiting.name)? else { continue };
                if self.engine.inspect(waiting.name.as_str()).await?.is_none() {
                    self.empty(&waiting.name).await?;
                }
            }
        }
        Ok(())
    }

    /// Removes rendezvous directories that no container carries.
    fn sweep(&self, carried: &BTreeSet<String>) -> Result<(), SandboxError> {
        for (run, made) in self.layout.runs()? {
            let old = made.elapsed().is_ok_and(|age| age > ORPHAN_AGE);
            if old && !carried.contains(run.as_str()) {
                self.layout.remove_run(&run)?;
            }
        }
        Ok(())
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
            pool: None,
        }
    }

    #[test]
    fn limits_are_exceeded_strictly() {
        assert_eq!(due(&listed(), 11_000, false), None);
        assert!(due(&listed(), 11_001, false).unwrap().contains("idle"));
        let used = Listed { last_used_at_ms: Some(100_000), ..listed() };
        assert_eq!(due(&used, 101_000, false), None);
        assert!(due(&used, 101_001, false).unwrap().contains("older"));
        let unlimited = Listed { idle_limit_s: 0, max_age_s: 0, ..listed() };
        assert_eq!(due(&unlimited, u64::MAX, false), None);
    }

    #[test]
    fn never_a_leased_one() {
        let dead = Listed { running: false, status: "exited".to_owned(), ..listed() };
        assert_eq!(due(&dead, 0, false).unwrap(), "it is exited");
        assert_eq!(due(&Listed { leases: 1, ..dead }, 0, false), None);
        let abandoned = Listed { proven: false, ..listed() };
        assert_eq!(due(&abandoned, 0, false).unwrap(), "it never became ready");
        assert_eq!(due(&Listed { leases: 1, ..listed() }, u64::MAX, false), None);
        let waits = Listed { pool: Some("k".to_owned()), ..listed() };
        assert_eq!(due(&waits, u64::MAX, true), None);
        assert_eq!(due(&waits, 0, false).unwrap(), "nobody keeps its pool");
        let paused = Listed { running: false, status: "paused".to_owned(), ..listed() };
        assert_eq!(due(&paused, u64::MAX, false), None);
    }
}
