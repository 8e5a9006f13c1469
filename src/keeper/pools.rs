//! The part of a keeper that keeps pools filled: look, fill, wait, drain. An engine is looked for when a pool is wanted.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::KeeperError;
use super::plan::{Wanted, plan};
use super::wake::Wake;
use crate::client::{Pool, SandboxOptions, Wish};
use crate::engine::{Discovery, Engine};
use crate::error::Failure;
use crate::sandbox::pool::{Waiting, read_wishes, waiting};
use crate::sandbox::{Layout, Sandboxes};
use crate::state::StateDir;

/// How often it looks although nothing happened: at containers that ended by themselves.
const LOOK: Duration = Duration::from_mins(1);
/// How long a pool that could not be filled is left alone.
const REST: Duration = Duration::from_secs(30);

/// The pools of one state directory on one engine.
#[derive(Debug)]
pub struct Pools {
    layout: Layout,
    /// Once an engine was needed.
    sandboxes: Option<Sandboxes>,
    base: SandboxOptions,
    engine: Option<String>,
    idle: Duration,
    resting: HashMap<String, Instant>,
    /// Somebody wants a pool.
    wanted: watch::Sender<bool>,
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

impl Pools {
    /// The pools of the state directory of `sandboxes`. `base` holds that directory and the variables; `engine` the
    /// address where one was named: wishes for another engine are another keeper's.
    pub fn new(sandboxes: Sandboxes, base: SandboxOptions, engine: Option<String>, idle: Duration) -> Self {
        let state = sandboxes.layout().state().clone();
        Self { sandboxes: Some(sandboxes), ..Self::lazy(&state, base, engine, idle) }
    }

    /// As [`Self::new`], with the engine looked for when it is needed.
    pub fn lazy(state: &StateDir, base: SandboxOptions, engine: Option<String>, idle: Duration) -> Self {
        Self {
            layout: Layout::new(state),
            sandboxes: None,
            base,
            engine,
            idle,
            resting: HashMap::new(),
            wanted: watch::channel(true).0,
        }
    }

    /// Whether somebody wants a pool, as it changes. True until the first look.
    pub(super) fn wanted(&self) -> watch::Receiver<bool> {
        self.wanted.subscribe()
    }

    /// Works until `stop` is cancelled, then takes away what waits.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be used or watched. A pool that cannot be filled is logged and tried again.
    pub(super) async fn run(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        let ended = Box::pin(self.keep(stop)).await;
        self.drain_all().await;
        ended
    }

    async fn keep(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        let (places, wishes) = {
            let state = self.layout.state();
            (state.own("pool")?, state.own("pool/want")?)
        };
        let wake = Wake::new(&places, &wishes).map_err(KeeperError::Watch)?;
        loop {
            let Some(next) = stop.run_until_cancelled(Box::pin(self.pass())).await else { return Ok(()) };
            let next = match next {
                Ok(next) => next,
                // The engine may come back.
                Err(error) => {
                    tracing::warn!(%error, "the pools cannot be looked after now");
                    Some(REST)
                }
            };
            if next.is_none() {
                self.drain_all().await;
            }
            self.wanted
                .send_if_modified(|wanted| std::mem::replace(wanted, next.is_some()) != next.is_some());
            let rest = async {
                match next {
                    Some(next) => tokio::time::sleep(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                changed = wake.changed() => changed.map_err(KeeperError::Watch)?,
                () = rest => {}
            }
        }
    }

    async fn sandboxes(&mut self) -> Result<Sandboxes, Failure> {
        if let Some(sandboxes) = &self.sandboxes {
            return Ok(sandboxes.clone());
        }
        let engine = Engine::discover(&Discovery::from_process(self.engine.clone())).await?;
        let sandboxes = Sandboxes::open(engine, self.layout.state())?;
        self.sandboxes = Some(sandboxes.clone());
        Ok(sandboxes)
    }

    /// One look, and what it shows to be done. How long the next may wait at most; `None` when nothing is wanted.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be read, or a pool is wanted and there is no engine.
    pub async fn pass(&mut self) -> Result<Option<Duration>, Failure> {
        if read_wishes(&self.layout)?.is_empty() {
            return Ok(None);
        }
        let sandboxes = self.sandboxes().await?;
        let Look { wishes, next, pools, sure } = self.look(&sandboxes).await?;
        if wishes == 0 {
            return Ok(None);
        }
        let Ok(running) = sandboxes.running().await.inspect_err(|error| tracing::warn!(%error, "no list"))
        else {
            return Ok(Some(REST.min(next)));
        };
        let wanted: Vec<Wanted> =
            pools.iter().map(|pool| Wanted { key: pool.key().to_owned(), size: pool.size() }).collect();
        let plan = plan(&wanted, &sandboxes.waiting()?, &running);
        // A wish that cannot be read now may be what these wait for.
        for name in plan.drain.iter().filter(|_| sure) {
            if let Err(error) = sandboxes.drain(name).await {
                tracing::warn!(%name, %error, "could not take a waiting container away");
            }
        }
        for (pool, number) in plan.fill {
            let Some(pool) = pools.get(pool) else { continue };
            // Taken back while others were made: the next look ends it.
            if read_wishes(&self.layout)?.is_empty() {
                break;
            }
            if self.resting.get(pool.key()).is_some_and(|since| since.elapsed() < REST) {
                continue;
            }
            match Box::pin(pool.fill(&sandboxes, number)).await {
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
    async fn look(&self, sandboxes: &Sandboxes) -> Result<Look, Failure> {
        let mut found = Look { wishes: 0, next: LOOK, pools: Vec::new(), sure: true };
        for stored in read_wishes(&self.layout)? {
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
            match wish.options(&self.base).pool(sandboxes).await {
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
    async fn drain_all(&mut self) {
        let all: Vec<Waiting> = waiting(&self.layout);
        if all.is_empty() {
            return;
        }
        let sandboxes = match self.sandboxes().await {
            Ok(sandboxes) => sandboxes,
            Err(error) => return tracing::warn!(%error, "waiting containers stay for `creel sandbox prune`"),
        };
        for waiting in all {
            if let Err(error) = sandboxes.drain(&waiting.name).await {
                tracing::warn!(name = %waiting.name, %error, "could not take a waiting container away");
            }
        }
    }
}
