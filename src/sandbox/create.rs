//! One attempt to make a container; it knows what it made and can take it back.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::blame;
use super::ensure::{MEET_DEADLINE, Plan, Ready, Timings, lap};
use super::error::SandboxError;
use super::files::RunId;
use super::labels::Labels;
use super::lease::Lease;
use super::meet::{Meet, MeetError, Probe};
use super::prove::{self, Hardening, Rule, Verdict};
use super::record::{Record, Secret};
use super::request::PoolRole;
use super::spec::{self, MEET_TARGET};
use super::{Sandboxes, workspace};
use crate::engine::{ContainerFacts, ContainerId, ContainerSpec, EngineError};
use crate::paths::mounts::Mount;
use crate::runner::Awaited;
use crate::wire::Nonce;

/// What one attempt made so far.
pub(super) struct Attempt<'a> {
    sandboxes: &'a Sandboxes,
    plan: &'a Plan<'a>,
    run: RunId,
    rendezvous: PathBuf,
    spec: ContainerSpec,
    /// Proves init where the kernel cannot.
    nonce: Option<Nonce>,
    id: Option<ContainerId>,
}

impl<'a> Attempt<'a> {
    /// Makes the rendezvous directory and completes the specification.
    pub(super) fn new(sandboxes: &'a Sandboxes, plan: &'a Plan<'a>) -> Result<Self, SandboxError> {
        let run = RunId::new()?;
        let rendezvous = sandboxes.layout.make_run(&run)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let key = match &plan.request.pool {
            PoolRole::Waits { key } => Some(key.as_str()),
            PoolRole::Apart | PoolRole::Draws { .. } => None,
        };
        let labels = Labels {
            installation: sandboxes.installation.as_str(),
            scope_key: key.is_none().then_some(plan.request.scope_key.as_str()),
            pool: key,
            created_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            hash: &plan.hash,
            init: &plan.init.digest,
            image: &plan.image,
            reference: &plan.request.image,
            run: &run,
            idle: plan.request.idle_limit,
            max_age: plan.request.max_age,
        };
        let source = sandboxes.known_place()?.to_host(&rendezvous)?;
        let spec = spec::complete(plan.shape.clone(), &labels, &source.to_string_lossy());
        let nonce = spec.stdin.then(draw).transpose()?;
        Ok(Self { sandboxes, plan, run, rendezvous, spec, nonce, id: None })
    }

    /// Create, start, meet, prove, record.
    pub(super) async fn run<M: Meet>(
        &mut self,
        meet: &M,
        timings: &mut Timings,
    ) -> Result<Ready<M::Link>, SandboxError> {
        let layout = &self.sandboxes.layout;
        let name = &self.plan.request.name;
        let mut clock = Instant::now();
        let id = self.sandboxes.engine.create(&self.spec).await.map_err(|error| self.not_made(error))?;
        self.id = Some(id.clone());
        timings.create_us = lap(&mut clock);
        let facts = self.start(&id).await?;
        timings.start_us = lap(&mut clock);
        let peer = self.nonce.map_or(Awaited::Kernel(facts.pid), Awaited::Nonce);
        let mut link = match meet.meet(&self.rendezvous, peer, MEET_DEADLINE).await {
            Ok(link) => link,
            Err(source) => return Err(self.sandboxes.meet_failed(self.plan, &id, source).await),
        };
        timings.meet_us = lap(&mut clock);
        let hardening = self.prove(&mut link, &id, &facts).await?;
        timings.prove_us = lap(&mut clock);
        let setup = |source| SandboxError::Setup { name: name.to_string(), source };
        meet.prepare(&mut link).await.map_err(setup)?;
        let lease = Lease::take(layout, name)?;
        self.record(&facts, &hardening, link.outside()).store(layout, name)?;
        layout.touch(name)?;
        Ok(self.ready(id, facts.pid, hardening, link, lease, *timings))
    }

    /// Starts it and looks at it once more: PID 1 must still be there.
    async fn start(&self, id: &ContainerId) -> Result<ContainerFacts, SandboxError> {
        let engine = &self.sandboxes.engine;
        // Before the start: init waits for the nonce, and nobody else shall be first at its input.
        let input = match self.nonce {
            Some(nonce) => Some((engine.attach_input(id).await?, nonce)),
            None => None,
        };
        if let Err(error) = engine.start(id).await {
            return Err(self.start_failed(id, error.to_string()).await);
        }
        if let Some((input, nonce)) = input {
            input.write(format!("{}\n", nonce.reveal()).as_bytes()).await?;
        }
        match engine.inspect(&id.0).await? {
            Some(facts) if facts.running && facts.pid > 0 => Ok(facts),
            Some(facts) => {
                let code = facts
                    .exit_code
                    .map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
                let reason = [facts.status.as_str(), &code, &facts.error].join(" ");
                Err(self.start_failed(id, reason.trim().to_owned()).await)
            }
            None => Err(self.start_failed(id, "somebody removed it".to_owned()).await),
        }
    }

    fn not_made(&self, error: EngineError) -> SandboxError {
        match &error {
            EngineError::NotFound { message, .. } | EngineError::Refused { message, .. }
                if blame::network(&self.spec.network, message) =>
            {
                self.no_network(message.clone())
            }
            _ => error.into(),
        }
    }

    fn no_network(&self, reason: String) -> SandboxError {
        let (name, network) = (self.spec.name.clone(), self.spec.network.clone());
        SandboxError::Network { name, network, reason }
    }

    async fn start_failed(&self, id: &ContainerId, reason: String) -> SandboxError {
        let spec = &self.spec;
        if blame::network(&spec.network, &reason) {
            return self.no_network(reason);
        }
        let options = format!(
            "image {}, user {}, network {}, read-only root {}, cap-drop {}, no-new-privileges, seccomp {}, pids {}",
            self.plan.request.image,
            spec.user.as_deref().unwrap_or("of the image"),
            spec.network,
            spec.read_only_root,
            spec.cap_drop.join(","),
            if spec.seccomp.is_some() { "as configured" } else { "of the engine" },
            spec.limits.pids.map_or_else(|| "unlimited".to_owned(), |pids| pids.to_string()),
        );
        let log = self.sandboxes.engine.log_tail(id, 10).await.unwrap_or_default();
        // The engine's words name the driver that is missing, not who asked for it.
        let gpus = spec.gpus.is_some() && reason.contains("gpu");
        SandboxError::StartFailed { name: self.spec.name.clone(), reason, options, log, gpus }
    }

    /// Reads the kernel's facts through init, before it has run anything, and compares.
    async fn prove<L: Probe>(
        &self,
        link: &mut L,
        id: &ContainerId,
        container: &ContainerFacts,
    ) -> Result<Hardening, SandboxError> {
        let asked = link.facts(prove::paths(&self.spec));
        let silent = |_| MeetError { reason: "init does not answer the probe".to_owned(), timed_out: true };
        let facts = match tokio::time::timeout(MEET_DEADLINE, asked).await.map_err(silent).flatten() {
            Ok(facts) => facts,
            Err(source) => return Err(self.sandboxes.meet_failed(self.plan, id, source).await),
        };
        self.nothing_denied(&facts.mountinfo, container)?;
        let mut identities = self.plan.identities.clone();
        identities.insert(MEET_TARGET.to_owned(), workspace::identity(&self.rendezvous)?);
        let mut hardening = prove::prove(&self.spec, &identities, &facts);
        hardening.checks.extend(prove::outside(&self.spec, &prove::Outside::of(container.pid)));
        if hardening.unknown().next().is_some() {
            // Only now, because it is a slow request and the kernel's word is better where there is one.
            let engine = self.sandboxes.engine.capabilities().await?;
            hardening.believe_the_worst(|rule| match rule {
                Rule::Pids => engine.pids_limit,
                Rule::Memory => engine.memory_limit,
                Rule::Swap => engine.swap_limit,
                Rule::Cpu => engine.cpu_quota,
                _ => true,
            });
        }
        let allowed = &self.plan.request.allow_unenforced;
        let gaps = hardening.refused(allowed);
        if !gaps.is_empty() {
            return Err(SandboxError::NotEnforced { name: self.spec.name.clone(), gaps });
        }
        let told: Vec<String> = hardening
            .checks
            .iter()
            .filter(|check| check.verdict != Verdict::Ok)
            .map(|check| match check.verdict {
                Verdict::Unknown => format!("{} could not be verified: {}", check.title(), check.observed),
                _ => format!("{} is not enforced, as allowed: {}", check.title(), check.observed),
            })
            .collect();
        hardening.warnings.extend(told);
        Ok(hardening)
    }

    /// Refuses what came along with a directory since it was judged; no configuration allows it.
    fn nothing_denied(&self, mountinfo: &str, container: &ContainerFacts) -> Result<(), SandboxError> {
        let told: Vec<&str> = container.mounts.iter().map(|mount| mount.target.as_str()).collect();
        let deny = self.plan.request.deny.clone().look_again();
        let host = self.sandboxes.known_place()?.host_places();
        let shown = |mount: &Mount| {
            deny.shown_by(mount).or_else(|| host.as_ref().and_then(|places| places.shown(mount)))
        };
        let name = || self.spec.name.clone();
        prove::denied(&self.spec, mountinfo, &told, &shown)
            .map_or(Ok(()), |hit| Err(SandboxError::DeniedMount { name: name(), hit: Box::new(hit) }))
    }

    fn record(&self, facts: &ContainerFacts, hardening: &Hardening, outside: bool) -> Record {
        Record {
            container: facts.id.0.clone(),
            started_at: facts.started_at.clone(),
            pid: facts.pid,
            run: self.run.as_str().to_owned(),
            image: self.plan.image.clone(),
            user: self.plan.user.clone(),
            agent: self.plan.request.agent.clone(),
            hash: self.plan.hash.clone(),
            scope: None,
            made_as: None,
            outside,
            nonce: self.nonce.map(Secret),
            inputs: self.plan.inputs.clone(),
            hardening: hardening.clone(),
        }
    }

    fn ready<L>(
        &self,
        id: ContainerId,
        pid1: i32,
        hardening: Hardening,
        link: L,
        lease: Lease,
        timings: Timings,
    ) -> Ready<L> {
        let warnings = self.plan.warnings.iter().chain(&hardening.warnings).cloned().collect();
        Ready {
            id,
            name: self.spec.name.clone(),
            pid1,
            image: self.plan.image.clone(),
            image_env: self.plan.image_env.clone(),
            hash: self.plan.hash.clone(),
            user: self.plan.user.clone(),
            scope_key: self.plan.request.scope_key.clone(),
            rendezvous: self.rendezvous.clone(),
            created: true,
            pooled: false,
            drift: None,
            warnings,
            hardening,
            link,
            lease,
            timings,
        }
    }

    /// Takes back what this attempt made. What cannot be removed now is found by prune: it carries our labels.
    pub(super) async fn undo(&mut self) {
        if let Some(id) = self.id.take()
            && let Err(error) = self.sandboxes.engine.remove(&id).await
        {
            tracing::warn!(container = id.short(), %error, "could not remove a container that did not become ready");
        }
        if let Err(error) = self.sandboxes.layout.remove_run(&self.run) {
            tracing::warn!(%error, "could not remove a rendezvous directory");
        }
    }
}

/// A fresh nonce.
fn draw() -> Result<Nonce, SandboxError> {
    let mut nonce = [0; Nonce::SIZE];
    getrandom::fill(&mut nonce).map_err(|error| {
        SandboxError::io("/dev/urandom", "draw a nonce from")(std::io::Error::other(error.to_string()))
    })?;
    Ok(Nonce(nonce))
}
