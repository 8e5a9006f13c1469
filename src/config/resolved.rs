//! The sandbox settings that hold for one agent: the agent's layer over the defaults over the built-in values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::docker::DockerLayer;
use super::reader::Set;
use super::sandbox::{Mode, SandboxLayer, WorkspaceAccess};
use super::{Config, ConfigError, Places, Problem, network};
use crate::engine::{Tmpfs, Ulimit};
use crate::paths::{BindPolicy, DenyList};
use crate::sandbox::{HOME_TARGET, Limits, Rule};
use crate::session::{AgentId, Isolation, Scope, Stamp};

/// Processes and threads of a sandbox where nothing is configured; upstream has no limit.
pub const DEFAULT_PIDS: u64 = 1024;

/// A bind as configured, to be judged by [`crate::paths::validate()`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BindEntry {
    /// As written, variables filled in.
    pub written: String,
    /// The key that wrote it.
    pub key: String,
}

/// When unused sandboxes are removed; `None` switches a criterion off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Prune {
    /// Hours without use.
    pub idle_hours: Option<u64>,
    /// Days since it was made.
    pub max_age_days: Option<u64>,
}

impl Prune {
    /// A criterion is on.
    pub fn any(self) -> bool {
        self.idle_hours.is_some() || self.max_age_days.is_some()
    }

    /// As times; zero is no limit.
    pub fn limits(self) -> Limits {
        let time = |count: Option<u64>, each: u64| {
            std::time::Duration::from_secs(count.unwrap_or(0).saturating_mul(each))
        };
        Limits { idle: time(self.idle_hours, 3600), age: time(self.max_age_days, 24 * 3600) }
    }
}

/// The block `sandbox.docker`, merged.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DockerSettings {
    /// Image reference.
    pub image: String,
    /// What the container's name begins with.
    pub container_prefix: String,
    /// Working directory in the container; absolute, clean.
    pub workdir: String,
    /// The root file system is read-only.
    pub read_only_root: bool,
    /// Temporary file systems.
    pub tmpfs: Vec<Tmpfs>,
    /// Network mode.
    pub network: String,
    /// User as configured; `None` is derived from the workspace.
    pub user: Option<String>,
    /// Capabilities to drop, upper case.
    pub cap_drop: Vec<String>,
    /// Variables for the commands, by name. May hold secrets.
    pub env: BTreeMap<String, String>,
    /// Shell text to run once in a new container.
    pub setup_command: Option<String>,
    /// Processes and threads.
    pub pids_limit: u64,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Memory and swap in bytes; `-1` is no limit.
    pub memory_swap: Option<i64>,
    /// Billionths of a processor.
    pub nano_cpus: Option<u64>,
    /// GPUs as the engine's client writes them.
    pub gpus: Option<String>,
    /// rlimits, by name.
    pub ulimits: Vec<Ulimit>,
    /// Path of a seccomp profile; `None` is the engine's own.
    pub seccomp_profile: Option<String>,
    /// Name of an `AppArmor` profile; `None` is the engine's own.
    pub apparmor_profile: Option<String>,
    /// Name servers.
    pub dns: Vec<String>,
    /// `name:address`.
    pub extra_hosts: Vec<String>,
    /// Binds, the defaults' before the agent's.
    pub binds: Vec<BindEntry>,
    /// Binds may have reserved targets.
    pub allow_reserved_targets: bool,
    /// Binds may have sources outside the workspace.
    pub allow_external_sources: bool,
    /// The network may be another container's.
    pub allow_namespace_join: bool,
    /// Rules of the boundary that the kernel need not enforce.
    pub allow_unenforced: Vec<Rule>,
}

/// The sandbox settings of one agent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ResolvedSandbox {
    /// The agent.
    pub agent: AgentId,
    /// Which of its sessions are sandboxed.
    pub mode: Mode,
    /// The backend's id as written; see [`ResolvedSandbox::backend_id`].
    pub backend: String,
    /// What shares a sandbox.
    pub scope: Scope,
    /// What the sandbox sees of the agent's workspace.
    pub workspace_access: WorkspaceAccess,
    /// Where the sandboxes' own workspaces lie on the host; absolute.
    pub workspace_root: PathBuf,
    /// The agent's workspace on the host; absolute.
    pub agent_workspace: PathBuf,
    /// Whom the sandbox belongs to, where it stands alone.
    #[serde(skip)]
    pub isolation: Option<Isolation>,
    /// `rw` is configured and does not hold, because the session must not share what it can write.
    #[serde(skip)]
    pub access_capped: bool,
    /// The state directory.
    #[serde(skip)]
    pub state: PathBuf,
    /// The container.
    pub docker: DockerSettings,
    /// When it is removed.
    pub prune: Prune,
    /// How many containers wait, ready, for the next session of such a sandbox; 0 is no pool.
    pub pool_size: u64,
    /// Where the backend `ssh` of the agent host keeps workspaces on its machine.
    pub ssh_workspace_root: String,
    /// Setting (`docker.image`) to the key that decided it; settings with built-in values are absent.
    #[serde(skip)]
    keys: BTreeMap<&'static str, String>,
}

impl ResolvedSandbox {
    /// The key that decided a setting (`mode`, `docker.image`, `docker.ulimits.nofile` is `docker.ulimits`);
    /// `None` where the built-in value holds. [`Config::origin`] tells where the key stands.
    pub fn key(&self, setting: &str) -> Option<&str> {
        self.keys.get(setting).map(String::as_str)
    }

    /// The backend's id for comparing: lower case.
    pub fn backend_id(&self) -> String {
        self.backend.to_lowercase()
    }

    /// The rules for this sandbox's binds. `roots` are the effective workspace and the agent's workspace.
    pub fn bind_policy(&self, deny: DenyList, roots: &[PathBuf]) -> BindPolicy {
        BindPolicy::new(deny, roots)
            .reserve([self.docker.workdir.as_str()])
            .scratch(self.docker.tmpfs.iter().map(|tmpfs| tmpfs.target.as_str()), false)
            .scratch([HOME_TARGET], true)
            .allow_reserved(self.docker.allow_reserved_targets)
            .allow_external(self.docker.allow_external_sources)
    }
}

/// Takes the nearer of two layers and notes which key decided.
struct Merge {
    keys: BTreeMap<&'static str, String>,
}

impl Merge {
    fn pick<T: Clone>(
        &mut self,
        name: &'static str,
        near: Option<&Set<T>>,
        far: Option<&Set<T>>,
    ) -> Option<T> {
        let set = near.or(far)?;
        self.keys.insert(name, set.key.clone());
        Some(set.value.clone())
    }
}

/// Merges (spec `sandbox.md` §1.1). In shared scope the agent's `docker` and `prune` do not count: one container
/// cannot have two configurations.
pub(super) fn resolve(
    config: &Config,
    defaults: &SandboxLayer,
    agent: Option<&SandboxLayer>,
    id: &AgentId,
    places: &Places,
    stamp: &Stamp,
) -> Result<ResolvedSandbox, ConfigError> {
    let empty = SandboxLayer::default();
    let near = agent.unwrap_or(&empty);
    let mut merge = Merge { keys: BTreeMap::new() };
    let scope = merge.pick("scope", near.scope.as_ref(), defaults.scope.as_ref()).unwrap_or_default();
    let scope = if stamp.is_required() { Scope::Agent } else { scope };
    let inner = if scope == Scope::Shared { &empty } else { near };
    let docker = docker(&mut merge, &inner.docker, &defaults.docker);
    let root = near.workspace_root.as_ref().or(defaults.workspace_root.as_ref());
    let workspace_root = match root {
        Some(set) => {
            merge.keys.insert("workspaceRoot", set.key.clone());
            config.host_path(set, places)?
        }
        None => places.state.join("sandboxes"),
    };
    let backend = merge.pick("backend", near.backend.as_ref(), defaults.backend.as_ref());
    let mode = merge.pick("mode", near.mode.as_ref(), defaults.mode.as_ref()).unwrap_or_default();
    let access =
        merge.pick("workspaceAccess", near.workspace_access.as_ref(), defaults.workspace_access.as_ref());
    // As with `prune`: one shared container, one configuration.
    let pool_size = merge.pick("pool.size", inner.pool_size.as_ref(), defaults.pool_size.as_ref());
    // A writable workspace would be a channel between guests that must not trust each other.
    let capped = stamp.is_required() && access == Some(WorkspaceAccess::Rw);
    let access = if capped { Some(WorkspaceAccess::Ro) } else { access };
    let prune = prune(&mut merge, inner, defaults);
    let ssh_root = merge.pick(
        "ssh.workspaceRoot",
        inner.ssh_workspace_root.as_ref(),
        defaults.ssh_workspace_root.as_ref(),
    );
    config.refuse(problems(config, &docker, &merge))?;
    Ok(ResolvedSandbox {
        agent: id.clone(),
        mode,
        backend: backend.map_or_else(|| "docker".to_owned(), |text| text.trim().to_owned()),
        scope,
        workspace_access: access.unwrap_or_default(),
        workspace_root,
        agent_workspace: config.agent_workspace(id, places)?,
        state: places.state.clone(),
        isolation: stamp.isolation().cloned(),
        access_capped: capped,
        docker,
        prune,
        pool_size: pool_size.unwrap_or(0),
        ssh_workspace_root: ssh_root.unwrap_or_else(|| "/tmp/openclaw-sandboxes".to_owned()),
        keys: merge.keys,
    })
}

fn prune(merge: &mut Merge, near: &SandboxLayer, far: &SandboxLayer) -> Prune {
    let idle = merge.pick("prune.idleHours", near.idle_hours.as_ref(), far.idle_hours.as_ref());
    let age = merge.pick("prune.maxAgeDays", near.max_age_days.as_ref(), far.max_age_days.as_ref());
    let on = |value: u64| Some(value).filter(|value| *value > 0);
    Prune { idle_hours: on(idle.unwrap_or(24)), max_age_days: on(age.unwrap_or(7)) }
}

/// What only the merged values show.
fn problems(config: &Config, docker: &DockerSettings, merge: &Merge) -> Vec<Problem> {
    let mut all = Vec::new();
    let mut problem = |name: &str, message: String, fix: &str| {
        let key = merge.keys.get(name).cloned().unwrap_or_else(|| name.to_owned());
        all.push(config.problem(&key, message, fix));
    };
    if let Err(refused) = network::check_network(&docker.network, docker.allow_namespace_join) {
        let message = format!("{:?} is refused: {refused}", docker.network);
        problem("docker.network", message, refused.fix());
    }
    if docker.tmpfs.iter().any(|tmpfs| tmpfs.target == docker.workdir) {
        let message = format!("{:?} is a temporary file system of the sandbox too", docker.workdir);
        problem("docker.workdir", message, "choose another workdir, or leave it out of docker.tmpfs");
    }
    // -1 is no limit.
    match (docker.memory, docker.memory_swap.and_then(|swap| u64::try_from(swap).ok())) {
        (Some(memory), Some(swap)) if swap < memory => {
            let message = format!("memory and swap together ({swap}) are less than memory alone ({memory})");
            problem("docker.memorySwap", message, "write at least as much as memory");
        }
        (None, Some(_)) => {
            let message = "limits memory and swap together, and docker.memory is not set".to_owned();
            problem("docker.memorySwap", message, "set docker.memory too, or remove the key");
        }
        _ => {}
    }
    all
}

fn docker(merge: &mut Merge, near: &DockerLayer, far: &DockerLayer) -> DockerSettings {
    macro_rules! pick {
        ($name:literal, $field:ident) => {
            merge.pick(concat!("docker.", $name), near.$field.as_ref(), far.$field.as_ref())
        };
    }
    let text = |text: &str| text.to_owned();
    let plain = |target: &str| Tmpfs { target: target.to_owned(), options: String::new() };
    DockerSettings {
        image: pick!("image", image).unwrap_or_else(|| text("openclaw-sandbox:bookworm-slim")),
        container_prefix: pick!("containerPrefix", container_prefix).unwrap_or_else(|| text("openclaw-sbx-")),
        workdir: pick!("workdir", workdir).unwrap_or_else(|| text("/workspace")),
        read_only_root: pick!("readOnlyRoot", read_only_root).unwrap_or(true),
        tmpfs: pick!("tmpfs", tmpfs).unwrap_or_else(|| ["/tmp", "/var/tmp", "/run"].map(plain).to_vec()),
        network: pick!("network", network).unwrap_or_else(|| text("none")),
        user: pick!("user", user),
        cap_drop: pick!("capDrop", cap_drop).unwrap_or_else(|| vec![text("ALL")]),
        setup_command: pick!("setupCommand", setup_command),
        pids_limit: pick!("pidsLimit", pids_limit).unwrap_or(DEFAULT_PIDS),
        memory: pick!("memory", memory),
        memory_swap: pick!("memorySwap", memory_swap),
        nano_cpus: pick!("cpus", nano_cpus),
        gpus: pick!("gpus", gpus),
        seccomp_profile: pick!("seccompProfile", seccomp_profile),
        apparmor_profile: pick!("apparmorProfile", apparmor_profile),
        dns: pick!("dns", dns).unwrap_or_default(),
        extra_hosts: pick!("extraHosts", extra_hosts).unwrap_or_default(),
        allow_reserved_targets: pick!("dangerouslyAllowReservedContainerTargets", allow_reserved_targets)
            .unwrap_or_default(),
        allow_external_sources: pick!("dangerouslyAllowExternalBindSources", allow_external_sources)
            .unwrap_or_default(),
        allow_namespace_join: pick!("dangerouslyAllowContainerNamespaceJoin", allow_namespace_join)
            .unwrap_or_default(),
        allow_unenforced: pick!("dangerouslyAllowUnenforced", allow_unenforced).unwrap_or_default(),
        env: env(far, near),
        ulimits: ulimits(far, near),
        binds: far.binds.iter().chain(&near.binds).map(bind).collect(),
    }
}

fn bind(set: &Set<String>) -> BindEntry {
    BindEntry { written: set.value.clone(), key: set.key.clone() }
}

/// By name, the agent's over the defaults'. The built-in `LANG` goes when the defaults say anything at all.
fn env(far: &DockerLayer, near: &DockerLayer) -> BTreeMap<String, String> {
    let built_in = far.env.is_none().then(|| ("LANG".to_owned(), "C.UTF-8".to_owned()));
    let layers = far.env.iter().chain(&near.env).flatten().map(|set| set.value.clone());
    built_in.into_iter().chain(layers).collect()
}

/// By name, the agent's over the defaults'.
fn ulimits(far: &DockerLayer, near: &DockerLayer) -> Vec<Ulimit> {
    let all = far.ulimits.iter().chain(&near.ulimits).map(|set| (set.value.name.clone(), set.value.clone()));
    all.collect::<BTreeMap<_, _>>().into_values().collect()
}
