//! Gives a container that waits to a session: it becomes exactly what a new one would have been.

use std::time::Instant;

use rustix::fs::{CWD, RenameFlags};

use super::super::ensure::{Plan, Ready, Timings, lap};
use super::super::error::SandboxError;
use super::super::init_binary::InitBinary;
use super::super::lease::Lease;
use super::super::lock::{self, Lock};
use super::super::meet::Meet;
use super::super::record::Record;
use super::super::request::{PoolRole, SandboxRequest};
use super::super::{Sandboxes, labels};
use super::entry::{self, Waiting};
use super::fill::root;
use crate::engine::{ContainerFacts, ImageFacts};

/// A container that waits and is locked for us.
struct Candidate {
    waiting: Waiting,
    facts: ContainerFacts,
    record: Record,
    _lock: Lock,
}

impl Sandboxes {
    /// The sandbox out of a pool; `None` where it is there already, its workspace is, or nothing fitting waits.
    ///
    /// # Errors
    ///
    /// When the engine or the state directory fails. A claim that goes wrong half way is no error: what was begun is
    /// taken away, and the caller makes a container of its own.
    pub(in crate::sandbox) async fn claim<M: Meet>(
        &self,
        request: &SandboxRequest,
        init: &InitBinary,
        meet: &M,
    ) -> Result<Option<Ready<M::Link>>, SandboxError> {
        let wanted = |all: Vec<Waiting>| all.into_iter().filter(|one| one.ready).collect::<Vec<_>>();
        if !matches!(request.pool, PoolRole::Draws { .. })
            || !self.is_new(request)
            || wanted(entry::all(&self.layout)?).is_empty()
        {
            return Ok(None);
        }
        let mut clock = Instant::now();
        let mut timings = Timings::default();
        let Some(image) = self.engine.image(&request.image).await? else { return Ok(None) };
        let Some(key) = self.key_with(request, init, &image).await? else { return Ok(None) };
        timings.prepare_us = lap(&mut clock);
        let _lock = lock::exclusive(&self.layout, &request.name, lock::PATIENCE).await?;
        timings.lock_us = lap(&mut clock);
        let taken = root(request).is_none() && self.engine.inspect(request.name.as_str()).await?.is_some();
        if taken || !self.is_new(request) {
            return Ok(None);
        }
        for waiting in wanted(entry::all(&self.layout)?).into_iter().filter(|one| one.key == key) {
            let Some(candidate) = self.candidate(waiting).await? else { continue };
            timings.inspect_us = lap(&mut clock);
            match self.take(request, init, &image, &candidate, meet, timings).await {
                Ok(ready) => return Ok(Some(ready)),
                Err(error) => {
                    tracing::warn!(name = %candidate.waiting.name, %error, "a claim failed; taken away");
                    self.take_back(&candidate).await?;
                }
            }
            // A workspace that was moved is there now: the container of the session is made for it.
            if !self.is_new(request) {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Neither container nor workspace is there yet, as far as files tell. A workspace that is there keeps its
    /// contents; none of the pool's can take its place.
    fn is_new(&self, request: &SandboxRequest) -> bool {
        Record::load(&self.layout, &request.name).is_none()
            && (root(request).is_none() || std::fs::symlink_metadata(&request.workspace.dir).is_err())
    }

    /// Locks a container that waits and looks whether it is what its record says.
    async fn candidate(&self, waiting: Waiting) -> Result<Option<Candidate>, SandboxError> {
        let Some(lock) = lock::try_exclusive(&self.layout, &waiting.name)? else { return Ok(None) };
        let Some(record) = Record::load(&self.layout, &waiting.name) else { return Ok(None) };
        let Some(facts) = self.engine.inspect(&record.container).await? else { return Ok(None) };
        let label = |name: &str| facts.labels.get(name).map(String::as_str);
        let sound = label(labels::INSTALLATION) == Some(self.installation.as_str())
            && label(labels::POOL) == Some(&waiting.key)
            && label(labels::HASH) == Some(&record.hash)
            && facts.name == waiting.name.as_str()
            && facts.running
            && record.is_about(&facts);
        Ok(sound.then_some(Candidate { waiting, facts, record, _lock: lock }))
    }

    /// The steps, in the order that the table in [`super`] relies on.
    async fn take<M: Meet>(
        &self,
        request: &SandboxRequest,
        init: &InitBinary,
        image: &ImageFacts,
        candidate: &Candidate,
        meet: &M,
        mut timings: Timings,
    ) -> Result<Ready<M::Link>, SandboxError> {
        let Candidate { waiting, facts, record, .. } = candidate;
        let mut clock = Instant::now();
        self.layout.forget(&waiting.name, None)?;
        self.engine.rename(&facts.id, request.name.as_str()).await?;
        if let Some(from) = &waiting.workspace {
            rustix::fs::renameat_with(CWD, from, CWD, &request.workspace.dir, RenameFlags::NOREPLACE)
                .map_err(|error| SandboxError::io(&request.workspace.dir, "make")(error.into()))?;
        }
        let plan = self.plan_with(request, init, image.clone())?;
        let record = becomes(record, waiting, &plan)
            .ok_or_else(|| SandboxError::Contended { name: request.name.to_string() })?;
        let lease = Lease::take(&self.layout, &request.name)?;
        record.store(&self.layout, &request.name)?;
        entry::remove(&self.layout, &waiting.name)?;
        timings.create_us = lap(&mut clock);
        let facts = ContainerFacts { name: request.name.to_string(), ..facts.clone() };
        let joined = self.join(&plan, &facts, record, lease, meet, timings).await?;
        let mut ready = match joined {
            Ok(ready) => ready,
            Err(source) => return Err(self.meet_failed(&plan, &facts.id, source).await),
        };
        ready.pooled = true;
        Ok(ready)
    }

    /// Removes a container that was half claimed, under whichever name it has now.
    async fn take_back(&self, candidate: &Candidate) -> Result<(), SandboxError> {
        self.engine.remove(&candidate.facts.id).await?;
        let run = super::super::ensure::run_of(&candidate.facts.labels);
        self.layout.forget(&candidate.waiting.name, run.as_ref())?;
        self.forget_place(&candidate.waiting.name)
    }
}

/// The session's record, if the container is in everything what a new one would be; the workspace, which was moved,
/// must be the very directory that was mounted and proven.
fn becomes(record: &Record, waiting: &Waiting, plan: &Plan<'_>) -> Option<Record> {
    let name = plan.request.name.as_str();
    let (from, to) =
        (waiting.workspace.as_ref().map(|path| path.to_string_lossy()), &plan.request.workspace.dir);
    let to = to.to_string_lossy();
    let moved = record.inputs.moved(name, from.as_deref().map(|from| (from, to.as_ref())));
    (moved == plan.inputs).then(|| Record {
        agent: plan.request.agent.clone(),
        hash: plan.hash.clone(),
        inputs: plan.inputs.clone(),
        scope: Some(plan.request.scope_key.clone()),
        made_as: Some(record.hash.clone()),
        ..record.clone()
    })
}
