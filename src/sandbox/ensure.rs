//! From a request to a ready sandbox, whatever is there already and whoever else is asking.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::Sandboxes;
use super::create::Attempt;
use super::decide::{Action, Found, Wanted, decide};
use super::error::SandboxError;
use super::files::RunId;
use super::hash::Inputs;
use super::init_binary::InitBinary;
use super::lease::{self, Lease};
use super::lock;
use super::meet::{Meet, MeetError};
use super::prove::Hardening;
use super::record::Record;
use super::request::{Identity, SandboxRequest};
use super::spec::{self, Context};
use super::workspace::{self, Prepared};
use crate::engine::{ContainerFacts, ContainerId, ContainerSpec, EngineError, ImageFacts};

/// A container used less than this long ago is hot: it is not replaced because of a changed configuration
/// (spec `sandbox.md` §11.2).
pub(super) const HOT: Duration = Duration::from_mins(5);
/// How long a started init may take to come to the rendezvous.
pub(super) const MEET_DEADLINE: Duration = Duration::from_secs(10);
/// How long the init of a warm container may take; it answers at once or it is gone.
pub(super) const WARM_DEADLINE: Duration = Duration::from_secs(3);
/// How often a name that others hold is tried: the engine needs a moment to finish a removal.
const ROUNDS: usize = 100;
/// Pause between two rounds.
const PAUSE: Duration = Duration::from_millis(100);

/// A sandbox that is running, proven, met and leased.
#[derive(Debug)]
pub struct Ready<L> {
    /// Container id.
    pub id: ContainerId,
    /// Container name.
    pub name: String,
    /// PID 1 on the engine's host.
    pub pid1: i32,
    /// Image id.
    pub image: String,
    /// PATH and the rest of the environment that the image sets.
    pub image_env: Vec<(String, String)>,
    /// Configuration hash in effect: with drift, that of the older configuration.
    pub hash: String,
    /// `uid:gid` of the commands.
    pub user: String,
    /// Who shares it.
    pub scope_key: String,
    /// Rendezvous directory on the host.
    pub rendezvous: PathBuf,
    /// This call made the container.
    pub created: bool,
    /// It came out of a pool.
    pub pooled: bool,
    /// The container is in use under an older configuration that differs so, key by key.
    pub drift: Option<Vec<String>>,
    /// What should be known.
    pub warnings: Vec<String>,
    /// What the kernel enforces.
    pub hardening: Hardening,
    /// The connection to init.
    pub link: L,
    /// Keeps the container from prune and replacement while it lives.
    pub lease: Lease,
    /// How long each step took.
    pub timings: Timings,
}

/// Duration of each step in microseconds; 0 for a step that was not needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Preparing the workspace and looking at the image.
    pub prepare_us: u64,
    /// Waiting for the lock.
    pub lock_us: u64,
    /// Asking the engine for the container.
    pub inspect_us: u64,
    /// Creating it.
    pub create_us: u64,
    /// Starting it.
    pub start_us: u64,
    /// Meeting init.
    pub meet_us: u64,
    /// Reading back and comparing.
    pub prove_us: u64,
}

/// Microseconds since `start`, which then is now.
pub(super) fn lap(start: &mut Instant) -> u64 {
    let elapsed = start.elapsed().as_micros();
    *start = Instant::now();
    u64::try_from(elapsed).unwrap_or(u64::MAX)
}

/// A request with everything that was derived from it.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) request: &'a SandboxRequest,
    pub(super) shape: ContainerSpec,
    pub(super) inputs: Inputs,
    pub(super) hash: String,
    pub(super) user: String,
    pub(super) image: String,
    pub(super) image_env: Vec<(String, String)>,
    pub(super) init: &'a InitBinary,
    /// Identity of each mount's source by target; the descriptors stay open in `request` and `_workspace`.
    pub(super) identities: BTreeMap<String, Identity>,
    pub(super) warnings: Vec<String>,
    _workspace: super::request::Held,
}

impl Sandboxes {
    /// Makes sure that the sandbox exists, runs as asked and can be talked to.
    ///
    /// # Errors
    ///
    /// Any failure leaves no container behind that this call made. Nothing is ever run on the host instead.
    pub async fn ensure<M: Meet>(
        &self,
        request: &SandboxRequest,
        init: &InitBinary,
        meet: &M,
    ) -> Result<Ready<M::Link>, SandboxError> {
        let mut clock = Instant::now();
        let mut timings = Timings::default();
        if let Some(ready) = self.claim(request, init, meet).await? {
            return Ok(ready);
        }
        let plan = self.plan(request, init).await?;
        timings.prepare_us = lap(&mut clock);
        if let Some(ready) = self.warm(&plan, meet, timings).await? {
            return Ok(ready);
        }
        let mut clock = Instant::now();
        let _lock = lock::exclusive(&self.layout, &request.name, lock::PATIENCE).await?;
        timings.lock_us = lap(&mut clock);
        for _ in 0..ROUNDS {
            match self.round(&plan, meet, timings).await? {
                Some(ready) => return Ok(ready),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(SandboxError::Contended { name: request.name.to_string() })
    }

    /// Derives everything that the decision needs. A missing image is told before anything else (spec §5.1).
    pub(super) async fn plan<'a>(
        &self,
        request: &'a SandboxRequest,
        init: &'a InitBinary,
    ) -> Result<Plan<'a>, SandboxError> {
        let place = self.place().await?;
        // An engine that knows the container in which creel runs is on this machine, whatever its address looks like.
        if !self.engine.facts().local && !place.is_container() {
            return Err(SandboxError::RemoteEngine { endpoint: self.engine.facts().endpoint.to_string() });
        }
        let image = self.engine.image(&request.image).await?;
        let image = image.ok_or_else(|| EngineError::ImageMissing { image: request.image.clone() })?;
        self.plan_with(request, init, image)
    }

    /// The same for an image that was looked up, once the place is known.
    pub(super) fn plan_with<'a>(
        &self,
        request: &'a SandboxRequest,
        init: &'a InitBinary,
        image: ImageFacts,
    ) -> Result<Plan<'a>, SandboxError> {
        let place = self.known_place()?;
        let Prepared { held, user, warnings } =
            workspace::prepare(request, self.layout.state(), self.rootless())?;
        let mut identities = BTreeMap::from([(request.workspace.target.clone(), held.identity)]);
        identities.extend(request.binds.iter().map(|bind| (bind.target.clone(), bind.held.identity)));
        let nonce = place.is_container();
        let context = Context { image: &image, init, user: &user, identities: &identities, nonce };
        let (mut shape, inputs) = (spec::shape(request, &context), spec::inputs(request, &context));
        let hash = inputs.hash();
        place.check(request)?;
        place.translate(&mut shape.mounts)?;
        identities.insert(spec::INIT_TARGET.to_owned(), init.identity);
        let (image, image_env) = (image.id, image.env);
        Ok(Plan {
            request,
            shape,
            inputs,
            hash,
            user,
            image,
            image_env,
            init,
            identities,
            warnings,
            _workspace: held,
        })
    }

    /// The fast path: no exclusive lock, one look at the container, no second proof of the same start.
    async fn warm<M: Meet>(
        &self,
        plan: &Plan<'_>,
        meet: &M,
        mut timings: Timings,
    ) -> Result<Option<Ready<M::Link>>, SandboxError> {
        let name = &plan.request.name;
        let Some(record) = Record::load(&self.layout, name).filter(|record| record.hash == plan.hash) else {
            return Ok(None);
        };
        // Whoever replaces or removes a container holds the exclusive lock until its leases are counted.
        let Some(shared) = lock::try_shared(&self.layout, name)? else { return Ok(None) };
        let lease = Lease::take(&self.layout, name)?;
        drop(shared);
        let mut clock = Instant::now();
        let Some(facts) = self.engine.inspect(&record.container).await? else { return Ok(None) };
        timings.inspect_us = lap(&mut clock);
        let found = Found { facts: &facts, record: Some(&record), leases: 0, recent: true };
        let wanted =
            Wanted { installation: self.installation.as_str(), hash: &plan.hash, inputs: &plan.inputs };
        if decide(found, wanted) != (Action::Use { drift: Vec::new() }) {
            return Ok(None);
        }
        Ok(self.join(plan, &facts, record, lease, meet, timings).await?.ok())
    }

    /// One look and one try under the lock. `None`: somebody else's container came between, look again.
    async fn round<M: Meet>(
        &self,
        plan: &Plan<'_>,
        meet: &M,
        mut timings: Timings,
    ) -> Result<Option<Ready<M::Link>>, SandboxError> {
        let name = &plan.request.name;
        let mut clock = Instant::now();
        let facts = self.engine.inspect(name.as_str()).await?;
        timings.inspect_us = lap(&mut clock);
        if let Some(facts) = facts {
            let record = Record::load(&self.layout, name);
            let leases = lease::count(&self.layout, name)?;
            let recent = self.recently_used(name);
            let found = Found { facts: &facts, record: record.as_ref(), leases, recent };
            let wanted =
                Wanted { installation: self.installation.as_str(), hash: &plan.hash, inputs: &plan.inputs };
            let mut action = decide(found, wanted);
            if action == Action::Outdated
                && let Some(record) = &record
                && self.busy(&facts, record, meet).await
            {
                action = decide(Found { leases: 1, ..found }, wanted);
            }
            tracing::debug!(%name, ?action, "found a container");
            match (action, record) {
                (Action::Use { drift }, Some(record)) => {
                    let lease = Lease::take(&self.layout, name)?;
                    match self.join(plan, &facts, record, lease, meet, timings).await? {
                        Ok(mut ready) => {
                            ready.drift = (!drift.is_empty()).then_some(drift);
                            return Ok(Some(ready));
                        }
                        // Init hangs or is gone. With other users it stays: their commands may still run.
                        Err(source) if leases > 0 => {
                            return Err(self.meet_failed(plan, &facts.id, source).await);
                        }
                        Err(_) => self.discard(plan, &facts).await?,
                    }
                }
                (action, _) => self.clear(plan, &facts, action).await?,
            }
        } else {
            self.forget_removed(name).await?;
        }
        self.create(plan, meet, timings).await
    }

    /// Makes room for a new container, or says why not.
    async fn clear(
        &self,
        plan: &Plan<'_>,
        facts: &ContainerFacts,
        action: Action,
    ) -> Result<(), SandboxError> {
        let name = plan.request.name.to_string();
        match action {
            Action::Replace(_) | Action::Outdated => self.discard(plan, facts).await,
            Action::Foreign(owner) => {
                Err(SandboxError::Foreign { name, id: facts.id.short().to_owned(), owner })
            }
            Action::Paused => Err(SandboxError::Paused { name }),
            Action::DriftedHot(drift) => {
                let hint = crate::session::recreate_hint(&plan.request.scope_key);
                Err(SandboxError::DriftedHot { name, drift, hint })
            }
            Action::Use { .. } | Action::Unproven => Err(SandboxError::Unproven { name }),
        }
    }

    /// Removes a container of ours with what is kept about it. By id: a name can be given to another container.
    async fn discard(&self, plan: &Plan<'_>, facts: &ContainerFacts) -> Result<(), SandboxError> {
        self.engine.remove(&facts.id).await?;
        self.layout.forget(&plan.request.name, run_of(&facts.labels).as_ref())
    }

    /// Meets the init of a proven container. The inner error: it cannot be met.
    pub(super) async fn join<M: Meet>(
        &self,
        plan: &Plan<'_>,
        facts: &ContainerFacts,
        record: Record,
        lease: Lease,
        meet: &M,
        mut timings: Timings,
    ) -> Result<Result<Ready<M::Link>, MeetError>, SandboxError> {
        let Some(run) = RunId::parse(&record.run) else {
            let reason = "its record names no rendezvous directory".to_owned();
            return Ok(Err(MeetError { reason, timed_out: false }));
        };
        let rendezvous = self.layout.run(&run)?;
        let mut clock = Instant::now();
        let link = match meet.again(&rendezvous, record.awaited(), WARM_DEADLINE, record.outside).await {
            Ok(link) => link,
            Err(error) => return Ok(Err(error)),
        };
        timings.meet_us = lap(&mut clock);
        self.layout.touch(&plan.request.name)?;
        let warnings = plan.warnings.iter().chain(&record.hardening.warnings).cloned().collect();
        Ok(Ok(Ready {
            id: facts.id.clone(),
            name: facts.name.clone(),
            pid1: facts.pid,
            image: record.image,
            image_env: plan.image_env.clone(),
            hash: record.hash,
            user: record.user,
            scope_key: plan.request.scope_key.clone(),
            rendezvous,
            created: false,
            pooled: false,
            drift: None,
            warnings,
            hardening: record.hardening,
            link,
            lease,
            timings,
        }))
    }

    /// Creates, starts, meets, proves; removes its own container when any of that fails.
    async fn create<M: Meet>(
        &self,
        plan: &Plan<'_>,
        meet: &M,
        mut timings: Timings,
    ) -> Result<Option<Ready<M::Link>>, SandboxError> {
        let mut attempt = Attempt::new(self, plan)?;
        let result = attempt.run(meet, &mut timings).await;
        match result {
            Ok(ready) => Ok(Some(ready)),
            Err(error) => {
                attempt.undo().await;
                match error {
                    // The second arbiter: the name is taken after all. The next look says by whom.
                    SandboxError::Engine(EngineError::NameConflict { .. }) => Ok(None),
                    other => Err(other),
                }
            }
        }
    }

    pub(super) async fn meet_failed(
        &self,
        plan: &Plan<'_>,
        id: &ContainerId,
        source: MeetError,
    ) -> SandboxError {
        let log = self.engine.log_tail(id, 10).await.unwrap_or_default();
        SandboxError::Meet { name: plan.request.name.to_string(), source, log }
    }

    /// Used within the hot window, or at a time that is not known.
    pub(super) fn recently_used(&self, name: &super::SandboxName) -> bool {
        let last = self.layout.last_used(name);
        // A time in the future counts as now.
        last.is_none_or(|last| {
            SystemTime::now().duration_since(last).is_ok_and(|idle| idle < HOT) || last > SystemTime::now()
        })
    }
}

/// The rendezvous directory that a container of ours was made with.
pub(super) fn run_of(labels: &BTreeMap<String, String>) -> Option<RunId> {
    labels.get(super::labels::RUN).and_then(|label| RunId::parse(label))
}
