//! The life of a keeper: lock, serve, end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::client::connect_to_running;
use super::message;
use super::pools::Pools;
use super::serve::{self, GRACE, Service, Shared};
use super::socket::Socket;
use crate::client::SandboxOptions;
use crate::error::Failure;
use crate::process::record::View;
use crate::sandbox::Layout;
use crate::sandbox::pool::{Hold, holder, read_wishes};
use crate::state::StateDir;

/// How long a keeper stays after its start, and after its last caller left: the next command is likely to follow soon.
const LINGER: Duration = Duration::from_secs(10);
/// How often it looks whether sessions are left to keep.
const LOOK: Duration = Duration::from_secs(2);
/// How often what nobody used is let go of.
const TIDY: Duration = Duration::from_mins(1);
/// How long another keeper that has the lock and does not answer is waited for: it begins, or ends.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// Opens what a keeper serves, once it has the lock.
pub type Open = Box<
    dyn Fn() -> futures_util::future::BoxFuture<'static, Result<Arc<dyn Service>, Failure>> + Send + Sync,
>;

/// A keeper of one state directory.
pub struct Keeper {
    state: StateDir,
    open: Open,
    pools: Pools,
    grace: Duration,
    linger: Duration,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper")
            .field("state", &self.state)
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// A keeper for `state`. `base` holds that directory and the variables, `engine` the engine's address where one was
    /// named, `idle` how long a pool is kept that nobody uses. `open` is asked once the lock is had.
    pub fn new(
        state: &StateDir,
        base: SandboxOptions,
        engine: Option<String>,
        idle: Duration,
        open: Open,
    ) -> Self {
        let pools = Pools::lazy(state, base, engine, idle);
        Self { state: state.clone(), open, pools, grace: GRACE, linger: LINGER }
    }

    /// Other times than [`GRACE`] and the ten seconds that it stays without anything to do.
    #[must_use]
    pub fn times(mut self, grace: Duration, linger: Duration) -> Self {
        (self.grace, self.linger) = (grace, linger);
        self
    }

    /// Works until nobody wants anything or `stop` is cancelled. Commands go on in either case.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be used or watched, or the sessions cannot be opened.
    pub async fn run(&mut self, stop: &CancellationToken) -> Result<Ended, Failure> {
        let layout = Layout::new(&self.state);
        loop {
            let Some(hold) = self.take(&layout, stop).await? else {
                return Ok(Ended::Kept(holder(&layout)));
            };
            let ended = Box::pin(self.keep(stop)).await;
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

    /// Takes the lock. Another keeper that answers has it; one that does not is about to begin or to end.
    async fn take(&self, layout: &Layout, stop: &CancellationToken) -> Result<Option<Hold>, Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(hold) = Hold::take(layout).await? {
                return Ok(Some(hold));
            }
            let answers = matches!(connect_to_running(&self.state).await, Ok(Some(_)));
            if answers || Instant::now() > until || stop.is_cancelled() {
                return Ok(None);
            }
        }
    }

    async fn keep(&mut self, stop: &CancellationToken) -> Result<Ended, Failure> {
        let service = (self.open)().await?;
        let build = message::build(Path::new("/proc/self/exe")).unwrap_or_default();
        let end = stop.child_token();
        let state = self.state.root().to_owned();
        let shared = Arc::new(Shared::new(service, end.clone(), state, build, self.grace));
        let socket = Socket::bind(&self.state)?;
        let (mut wanted, linger) = (self.pools.wanted(), self.linger);
        let watching = async {
            let idle = idle(&shared, &mut wanted, linger, &end).await;
            end.cancel();
            idle
        };
        let pools = async {
            let kept = self.pools.run(&end).await;
            end.cancel();
            kept
        };
        let attending = shared.service.attend(&end);
        let (idle, (), (), kept) = tokio::join!(watching, serve::serve(&socket, &shared), attending, pools);
        kept?;
        Ok(if idle { Ended::Idle } else { Ended::Asked })
    }
}

/// True when nothing has been left to do for `linger`, false when somebody asked for the end.
async fn idle(
    shared: &Shared,
    wanted: &mut tokio::sync::watch::Receiver<bool>,
    linger: Duration,
    end: &CancellationToken,
) -> bool {
    // Whoever started it comes next.
    let (mut used, mut tidied) = (Instant::now(), Instant::now());
    loop {
        let busy = shared.clients() > 0
            || shared.calls.count() > 0
            || shared.service.busy()
            // What waits for a person ends with the keeper (spec `approvals.md` 9.20).
            || shared.service.desk().is_some_and(|desk| desk.waiting() > 0)
            || shared
                .service
                .sessions()
                .is_some_and(|sessions| !sessions.views().iter().all(View::is_delivery));
        let now = Instant::now();
        if busy {
            used = now;
        }
        if now.duration_since(tidied) >= TIDY {
            shared.service.tidy();
            tidied = now;
        }
        let rests = now.duration_since(used) >= linger;
        if !busy && rests && !*wanted.borrow_and_update() {
            return true;
        }
        tokio::select! {
            () = end.cancelled() => return false,
            () = shared.left() => {}
            changed = wanted.changed() => if changed.is_err() { return false },
            () = tokio::time::sleep(LOOK.min(linger.max(Duration::from_millis(10)))) => {}
        }
    }
}
