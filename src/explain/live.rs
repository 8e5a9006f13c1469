//! Engine and container: what the files say, and what the engine says within its time.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::client::{Preview, SandboxOptions};
use crate::engine::discover::Attempt;
use crate::engine::{ContainerFacts, Discovery, Endpoint, Engine, EngineError, EngineFacts, Mount};
use crate::error::{Diagnose as _, Report};
use crate::image::rebuild_hint;
use crate::runner::{Capabilities, Transport};
use crate::sandbox::{self, Check, Hardening, Layout, Place, PoolRole, Rule, Stored};

/// How long the engine may take, all questions together.
pub const ENGINE_TIME: Duration = Duration::from_millis(8);

/// How long the engine may take to tell about the container in which creel runs: that is behind a proxy, and no one asks
/// on the engine's host.
const OWN_TIME: Duration = Duration::from_millis(100);

/// What was learned; parts that were not looked at are absent.
#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    /// The engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineState>,
    /// The container in which creel itself runs; absent on the engine's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creel_container: Option<OwnContainer>,
    /// The road that commands take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Road>,
    /// The container that a first command would make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<Planned>,
    /// Why it would not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Report>,
    /// The pools of this installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolState>,
    /// The container that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerState>,
}

/// The engine.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineState {
    /// It answered in time.
    pub answered: bool,
    /// What its answer tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<EngineFacts>,
    /// Places asked in vain.
    pub tried: Vec<Attempt>,
    /// Why it did not serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Report>,
    /// Milliseconds that it may take.
    pub limit_ms: u64,
}

/// The container in which creel runs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnContainer {
    /// Its name.
    pub name: String,
    /// What is mounted in it: the only directories that a sandbox can mount.
    pub mounts: Vec<PlannedMount>,
    /// Whoever takes this creel over has the engine, and with it the host.
    pub engine_socket_mounted: bool,
}

/// The road that commands take.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Road {
    /// `init` or `engine`.
    pub road: Transport,
    /// Why this one.
    pub why: &'static str,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// The container that a first command would make.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// Its name, once there is an installation to name it for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
    /// Image reference.
    pub image: String,
    /// `uid:gid` of the commands.
    pub user: String,
    /// Network mode.
    pub network: String,
    /// The root file system is read-only.
    pub read_only_root: bool,
    /// Capabilities that are dropped.
    pub cap_drop: Vec<String>,
    /// Mounts with every link resolved.
    pub mounts: Vec<PlannedMount>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Billionths of a processor.
    pub nano_cpus: Option<u64>,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// A mount of the container that a first command would make.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedMount {
    /// On the host.
    pub source: String,
    /// In the container.
    pub target: String,
    /// Commands may not write.
    pub read_only: bool,
}

/// The pools of this installation, as their files tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolState {
    /// This session would take a container out of one, if none is there for it yet.
    pub draws: bool,
    /// Containers that wait, in all pools.
    pub waiting: usize,
    /// The process that keeps them filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeper: Option<u32>,
}

/// The container that is there, as far as known.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerState {
    /// The engine's word for its state; `absent`, or `unknown` where it did not answer.
    pub status: String,
    /// There is a proof of this very start; absent where the engine did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<bool>,
    /// Processes that use it now.
    pub leases: usize,
    /// Last use, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at_ms: Option<u64>,
    /// What the configuration asks for otherwise, key by key.
    pub drift: Vec<String>,
    /// Mounts as they were proven.
    pub mounts: Vec<Check>,
    /// What the kernel enforced at the proof.
    pub hardening: Hardening,
}

/// Looks at the files and, for [`ENGINE_TIME`], at the engine.
pub async fn look(options: &SandboxOptions, discovery: &Discovery) -> Live {
    let deadline = Instant::now() + ENGINE_TIME;
    let preview = options.preview();
    let (engine, state) = ask(discovery, deadline).await;
    let transport = state.facts.as_ref().map(road);
    let mut live = Live { engine: Some(state), transport, ..Live::default() };
    match preview {
        Err(failure) => live.refused = Some(failure.0),
        Ok(preview) => {
            live.pool = Some(pool(&preview));
            let (container, hint) = container(&preview, engine.as_ref(), deadline).await;
            if let Some(engine) = &engine {
                live.creel_container = own_container(engine).await;
            }
            let mut planned = planned(preview);
            planned.warnings.extend(hint);
            (live.container, live.planned) = (container, Some(planned));
        }
    }
    live
}

/// Where creel runs, where that is a container.
async fn own_container(engine: &Engine) -> Option<OwnContainer> {
    let place = tokio::time::timeout(OWN_TIME, Place::find(engine)).await.ok()?.ok()?;
    let Place::Container { name, mounts } = place else { return None };
    let engine_socket_mounted = match &engine.facts().endpoint {
        Endpoint::Unix(path) => mounts.iter().any(|mount| Path::new(&mount.target) == path),
        Endpoint::Tcp(_) => false,
    };
    let mounts = mounts.into_iter().map(|Mount { source, target, read_only }| PlannedMount {
        source,
        target,
        read_only,
    });
    Some(OwnContainer { name, mounts: mounts.collect(), engine_socket_mounted })
}

async fn ask(discovery: &Discovery, deadline: Instant) -> (Option<Engine>, EngineState) {
    let limit_ms = u64::try_from(ENGINE_TIME.as_millis()).unwrap_or(u64::MAX);
    match timeout_at(deadline, Engine::discover(discovery)).await {
        Ok(Ok(engine)) => {
            let mut facts = engine.facts().clone();
            let tried = std::mem::take(&mut facts.tried);
            (Some(engine), EngineState { answered: true, facts: Some(facts), tried, error: None, limit_ms })
        }
        // No fault of the engine: on a busy machine it answers a little later.
        Err(_) => {
            let error = Some(late(limit_ms));
            (None, EngineState { answered: false, facts: None, tried: Vec::new(), error, limit_ms })
        }
        Ok(Err(error)) => {
            let tried = if let EngineError::NoEngine { tried } = &error { tried.clone() } else { Vec::new() };
            let error = Some(error.report());
            (None, EngineState { answered: false, facts: None, tried, error, limit_ms })
        }
    }
}

fn late(limit_ms: u64) -> Report {
    Report {
        code: "CRL-ENGINE-003",
        message: format!(
            "it did not answer within the {limit_ms} ms that explain waits; commands wait longer"
        ),
        rule: Some("built-in: explain answers without an engine".to_owned()),
        fix: "run it again, or ask with more patience: creel engine status".to_owned(),
    }
}

/// What the address tells; a first command may still find that init cannot be met, and says so.
fn road(facts: &EngineFacts) -> Road {
    let (road, why) = if facts.local {
        (
            Transport::Init,
            "the engine shares this machine's files; where init cannot be met, the engine's exec API",
        )
    } else {
        (Transport::Engine, "the engine is on another machine, which cannot see creel's files")
    };
    Road { road, why, capabilities: road.capabilities() }
}

/// What the engine says of the container.
enum Seen {
    /// Nothing, within its time.
    NotAsked,
    /// There is none.
    Absent,
    /// This.
    There(Box<ContainerFacts>),
}

/// The container, and what to do about its image.
async fn container(
    preview: &Preview,
    engine: Option<&Engine>,
    deadline: Instant,
) -> (Option<ContainerState>, Option<String>) {
    let (mut seen, mut image) = (Seen::NotAsked, None);
    if let Some(engine) = engine {
        seen = match timeout_at(deadline, engine.inspect(&preview.spec.name)).await {
            Ok(Ok(Some(facts))) => Seen::There(Box::new(facts)),
            Ok(Ok(None)) => Seen::Absent,
            _ => Seen::NotAsked,
        };
        let now = timeout_at(deadline, engine.image(&preview.request.image)).await;
        image = now.ok().and_then(Result::ok).flatten();
    }
    let hint = image.as_ref().and_then(|image| rebuild_hint(&preview.request.image, image));
    let id = image.map(|image| image.id);
    (state(preview, engine, &seen, id.as_deref()), hint)
}

fn state(
    preview: &Preview,
    engine: Option<&Engine>,
    seen: &Seen,
    image: Option<&str>,
) -> Option<ContainerState> {
    let rootless = engine.is_some_and(|engine| sandbox::rootless(&engine.facts().endpoint));
    let stored = sandbox::stored(&preview.state, &preview.request, image, rootless);
    let (status, proven) = match (seen, &stored) {
        (Seen::NotAsked | Seen::Absent, None) => return None,
        (Seen::NotAsked, Some(_)) => ("unknown".to_owned(), None),
        (Seen::Absent, _) => ("absent".to_owned(), Some(false)),
        (Seen::There(facts), stored) => {
            let proven = stored.as_ref().is_some_and(|stored| stored.record.is_about(facts));
            (facts.status.clone(), Some(proven))
        }
    };
    let (leases, last_used, drift, hardening) = match stored {
        Some(Stored { record, leases, last_used, drift }) => (leases, last_used, drift, record.hardening),
        None => (0, None, Vec::new(), Hardening::default()),
    };
    Some(ContainerState {
        status,
        proven,
        leases,
        last_used_at_ms: last_used.and_then(milliseconds),
        drift,
        mounts: hardening.checks.iter().filter(|check| check.rule == Rule::Mount).cloned().collect(),
        hardening,
    })
}

fn pool(preview: &Preview) -> PoolState {
    let layout = Layout::new(&preview.state);
    let waiting = sandbox::pool::waiting(&layout);
    PoolState {
        draws: matches!(preview.request.pool, PoolRole::Draws { .. }),
        waiting: waiting.iter().filter(|one| one.ready).count(),
        keeper: sandbox::pool::holder(&layout),
    }
}

fn milliseconds(time: SystemTime) -> Option<u64> {
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

fn planned(preview: Preview) -> Planned {
    let Preview { spec, warnings, request, state, .. } = preview;
    let own = spec.mounts.into_iter().filter(|mount| mount.target != sandbox::INIT_TARGET);
    let mounts = own.map(|Mount { source, target, read_only }| PlannedMount { source, target, read_only });
    Planned {
        container_name: state.known_installation().map(|_| spec.name),
        image: request.image,
        user: spec.user.unwrap_or_default(),
        network: spec.network,
        read_only_root: spec.read_only_root,
        cap_drop: spec.cap_drop,
        mounts: mounts.collect(),
        pids: spec.limits.pids,
        memory: spec.limits.memory,
        nano_cpus: spec.limits.nano_cpus,
        warnings,
    }
}
