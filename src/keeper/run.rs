//! The life of a keeper: look, fill, wait, drain.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::plan::{Wanted, plan};
use super::wake::Wake;
use crate::client::{Pool, SandboxOptions, Wish};
use crate::error::{Failure, Report};
use crate::sandbox::Sandboxes;
use crate::sandbox::pool::{Hold, Waiting, read_wishes};

/// How often it looks although nothing happened: at containers that ended by themselves.
const LOOK: Duration = Duration::from_mins(1);
/// How long a pool that could not be filled is left alone.
const REST: Duration = Duration::from_secs(30);

/// How a keeper's life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Another keeper is there; its process where known.
    Kept(Option<u32>),
    /// Nobody wanted anything any more.
    Idle,
    /// It was asked to.
    Asked,
}

/// Keeps the pools of one state directory on one engine.
#[derive(Debug)]
pub struct Keeper {
    sandboxes: Sandboxes,
    base: SandboxOptions,
    engine: Option<String>,
    idle: Duration,
    resting: HashMap<String, Instant>,
}

/// What one look found.
struct Look {
    /// The wishes that live.
    wishes: usize,
    /// When the first of them dies.
    next: Duration,
    /// The pools that are wanted, each once.
    pools: Vec<Pool>,
    /// All wishes could be read.
    sure: bool,
}

impl Keeper {
    /// A keeper for the state directory of `sandboxes`. `base` holds that directory and the variables; `engine` the
    /// address where one was named: wishes for another engine are another keeper's.
    pub fn new(sandboxes: Sandboxes, base: SandboxOptions, engine: Option<String>, idle: Duration) -> Self {
        Self { sandboxes, base, engine, idle, resting: HashMap::new() }
    }

    /// Works until nobody wants anything or `stop` is cancelled, then takes away what waits.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be used or watched. A pool that cannot be filled is logged and tried again.
    pub async fn run(&mut self, stop: &CancellationToken) -> Result<Ended, Failure> {
        let layout = self.sandboxes.layout().clone();
        loop {
            let Some(hold) = Hold::take(&layout).await? else {
                return Ok(Ended::Kept(crate::sandbox::pool::holder(&layout)));
            };
            let ended = Box::pin(self.keep(stop)).await;
            self.drain_all().await;
            drop(hold);
            // A wish that came after the last look and found the lock taken would wait for nobody.
            if ended? == Ended::Asked || stop.is_cancelled() {
                return Ok(Ended::Asked);
            }
            if read_wishes(&layout)?.is_empty() {
                return Ok(Ended::Idle);
            }
        }
    }

    async fn keep(&mut self, stop: &CancellationToken) -> Result<Ended, Failure> {
        let (places, wishes) = {
            let state = self.sandboxes.layout().state();
            (state.own("pool")?, state.own("pool/want")?)
        };
        let wake = Wake::new(&places, &wishes).map_err(|error| watching(&error))?;
        loop {
            let Some(next) = stop.run_until_cancelled(Box::pin(self.pass())).await else {
                return Ok(Ended::Asked);
            };
            let Some(next) = next? else { return Ok(Ended::Idle) };
            tokio::select! {
                () = stop.cancelled() => return Ok(Ended::Asked),
                changed = wake.changed() => changed.map_err(|error| watching(&error))?,
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    /// One look, and what it shows to be done. How long the next may wait at most; `None` when nothing is wanted.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be read.
    pub async fn pass(&mut self) -> Result<Option<Duration>, Failure> {
        let Look { wishes, next, pools, sure } = self.look().await?;
        if wishes == 0 {
            return Ok(None);
        }
        let Ok(running) =
            self.sandboxes.running().await.inspect_err(|error| tracing::warn!(%error, "no list"))
        else {
            return Ok(Some(REST.min(next)));
        };
        let wanted: Vec<Wanted> =
            pools.iter().map(|pool| Wanted { key: pool.key().to_owned(), size: pool.size() }).collect();
        let plan = plan(&wanted, &self.sandboxes.waiting()?, &running);
        // A wish that cannot be read now may be what these wait for.
        for name in plan.drain.iter().filter(|_| sure) {
            if let Err(error) = self.sandboxes.drain(name).await {
                tracing::warn!(%name, %error, "could not take a waiting container away");
            }
        }
        for (pool, number) in plan.fill {
            let Some(pool) = pools.get(pool) else { continue };
            // Taken back while others were made: the next look ends it.
            if read_wishes(self.sandboxes.layout())?.is_empty() {
                break;
            }
            if self.resting.get(pool.key()).is_some_and(|since| since.elapsed() < REST) {
                continue;
            }
            match Box::pin(pool.fill(&self.sandboxes, number)).await {
                Ok(()) => drop(self.resting.remove(pool.key())),
                Err(error) => {
                    tracing::warn!(%error, "could not fill a pool");
                    self.resting.insert(pool.key().to_owned(), Instant::now());
                }
            }
        }
        let rest = if sure && self.resting.is_empty() { LOOK } else { REST };
        Ok(Some(rest.min(next)))
    }

    /// Reads the wishes, takes back those that nobody wished for too long, and finds out which pools they mean.
    async fn look(&self) -> Result<Look, Failure> {
        let mut found = Look { wishes: 0, next: LOOK, pools: Vec::new(), sure: true };
        for stored in read_wishes(self.sandboxes.layout())? {
            // A time in the future counts as now.
            let age = SystemTime::now().duration_since(stored.used).unwrap_or_default();
            let Some(left) = self.idle.checked_sub(age).filter(|left| !left.is_zero()) else {
                stored.remove()?;
                continue;
            };
            let wish = Wish::parse(&stored.text).filter(|wish| wish.engine() == self.engine.as_deref());
            let Some(wish) = wish else { continue };
            found.wishes += 1;
            found.next = found.next.min(left);
            match wish.options(&self.base).pool(&self.sandboxes).await {
                Ok(Some(pool)) if !found.pools.iter().any(|known| known.key() == pool.key()) => {
                    found.pools.push(pool);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a wish for a pool cannot be read now");
                    found.sure = false;
                }
            }
        }
        Ok(found)
    }

    /// Takes away what waits. What cannot be removed now is removed by prune.
    async fn drain_all(&self) {
        let all: Vec<Waiting> = self.sandboxes.waiting().unwrap_or_default();
        for waiting in all {
            if let Err(error) = self.sandboxes.drain(&waiting.name).await {
                tracing::warn!(name = %waiting.name, %error, "could not take a waiting container away");
            }
        }
    }
}

fn watching(error: &std::io::Error) -> Failure {
    Failure(Report {
        code: "CRL-KEEPER-002",
        message: format!("the state directory cannot be watched: {error}"),
        rule: Some("CREEL_STATE_DIR".to_owned()),
        fix: "raise fs.inotify.max_user_instances, or put the state directory on a local file system"
            .to_owned(),
    })
}
