//! From options and configuration to a request, and from there to an open sandbox.

mod mounted;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mounted::{binds_of, workspace_of};

use super::options::{RoadChoice, Var};
use super::owners::Owners;
use super::pool::{Pool, Wish};
use super::prepare::{Prepare, Way};
use super::{Sandbox, SandboxOptions};
use crate::config::{self, Config, Places, ResolvedExec, ResolvedSandbox, Subject, seccomp};
use crate::engine::{ContainerSpec, Discovery, Engine, Limits};
use crate::error::{Diagnose as _, Failure, Report};
use crate::paths::deny::{DenyEnv, DenyList};
use crate::runner::{Setting, Transport, host_plan};
use crate::sandbox::{
    self, ByLink, HOME_TARGET, InitBinary, InitSearch, PoolRole, SandboxError, SandboxName, SandboxRequest,
    Sandboxes,
};
use crate::session::{self, ScopeKey, SessionKey};
use crate::state::{InstallationId, StateDir};

/// How long a sandbox that belongs to one caller alone outlives it.
const APART_IDLE: Duration = Duration::from_mins(10);

/// Everything that the files and options say, before the engine is asked.
struct Wanted {
    state: StateDir,
    sandbox: ResolvedSandbox,
    exec: ResolvedExec,
    session: SessionKey,
    scope: ScopeKey,
    deny: DenyList,
    owners: Owners,
}

pub(super) async fn open(options: &SandboxOptions) -> Result<Sandbox, Failure> {
    let wanted = read(options)?;
    let (request, mut warnings) = request(options, &wanted, Purpose::Make)?;
    let engine = Engine::discover(&Discovery::from_process(options.engine.clone())).await?;
    let sandboxes = Sandboxes::open(engine, &wanted.state)?;
    if wanted.sandbox.prune.any() {
        sandboxes.prune_seldom(&ByLink, &|key| wanted.owners.limits(key)).await;
    }
    let init = init(options, &sandboxes)?;
    let setting = setting(options, &wanted, &request);
    let meet = Prepare { setup: request.setup.clone(), setting: setting.clone(), choice: options.road };
    let ensured = sandboxes.ensure(&request, &init, &meet).await;
    let mut ready = ensured.map_err(|error| placed(&error, options, &wanted))?;
    let pool_size = if draws(&request) { pool_size(&wanted) } else { 0 };
    if pool_size > 0 {
        // A pool is help, not a condition: the sandbox is there without it.
        if let Err(error) = Wish::of(options, wanted.sandbox.agent.as_str()).leave(sandboxes.layout()) {
            warnings.push(format!("the wish for a pool could not be written: {error}"));
        }
    }
    warnings.append(&mut ready.warnings);
    ready.warnings = warnings;
    let setting = Setting { image_env: ready.image_env.clone(), ..setting };
    let seconds = wanted.exec.timeout_s;
    let transport = match (&ready.link, options.road) {
        // Its init was needed for the proof, because creel is in a container; the commands go as asked for.
        (Way::Init(_), RoadChoice::Engine) | (Way::Engine { .. }, _) => Transport::Engine,
        (Way::Init(_), _) => Transport::Init,
    };
    Ok(Sandbox {
        sandboxes,
        ready,
        setting,
        session: wanted.session.as_str().to_owned(),
        timeout: (seconds > 0).then(|| Duration::from_secs(seconds)),
        transport,
        image: request.image.clone(),
        pool_size,
        own_workspace: (options.apart.is_some() && request.workspace.owned_by_creel)
            .then(|| request.workspace.dir.clone()),
    })
}

/// With the key that wrote the setting which the error is about.
fn placed(error: &SandboxError, options: &SandboxOptions, wanted: &Wanted) -> Failure {
    let mut report = error.report();
    if report.code == "CRL-ENGINE-004" {
        let key = wanted.sandbox.key("docker.image").unwrap_or("agents.defaults.sandbox.docker.image");
        let named = options.image.as_ref().map(|_| "--image".to_owned());
        report.rule = Some(named.unwrap_or_else(|| wanted.owners.place(key)));
    } else if let Some(key) = error.setting().and_then(|setting| wanted.sandbox.key(setting)) {
        report.rule = Some(wanted.owners.place(key));
    }
    Failure(report)
}

fn init(options: &SandboxOptions, sandboxes: &Sandboxes) -> Result<InitBinary, Failure> {
    let search = InitSearch::from_process(|name| (options.var)(name));
    Ok(sandbox::locate_and_install(sandboxes.layout(), &search)?)
}

fn draws(request: &SandboxRequest) -> bool {
    matches!(request.pool, PoolRole::Draws { .. })
}

fn pool_size(wanted: &Wanted) -> usize {
    usize::try_from(wanted.sandbox.pool_size).unwrap_or(usize::MAX)
}

/// The pool that options draw from; `None` for none.
pub(super) async fn pool(options: &SandboxOptions, sandboxes: &Sandboxes) -> Result<Option<Pool>, Failure> {
    let wanted = read(options)?;
    let (request, _) = request(options, &wanted, Purpose::Make)?;
    if !draws(&request) {
        return Ok(None);
    }
    let init = init(options, sandboxes)?;
    let Some(key) = sandboxes.pool_key(&request, &init).await? else { return Ok(None) };
    let setting = setting(options, &wanted, &request);
    let meet = Prepare { setup: request.setup.clone(), setting, choice: options.road };
    Ok(Some(Pool { key, size: pool_size(&wanted), request, init, meet }))
}

/// What a pool has to do with such a sandbox. A directory of the caller's makes a sandbox that only its own calls can
/// have, and so does a session that must be sandboxed for itself; a set-up command that ran with a caller's own variables prepared it for nobody else.
fn role(options: &SandboxOptions, wanted: &Wanted, request: &SandboxRequest) -> PoolRole {
    let prepared = request.setup.is_some();
    let own = options.workspace.is_some() || options.apart.is_some() || options.stamp.is_required();
    if wanted.sandbox.pool_size == 0 || own || (prepared && !options.env.is_empty()) {
        return PoolRole::Apart;
    }
    let setting = prepared.then(|| setting(options, wanted, request));
    let around = setting.map(|setting| (setting.env, setting.path_prepend, setting.home));
    let allowed: Vec<&str> = request.allow_unenforced.iter().map(|rule| rule.as_str()).collect();
    PoolRole::Draws {
        context: format!("{:?} {:?} {allowed:?} {around:?}", request.idle_limit, request.max_age),
    }
}

/// Whether something may be written on the way to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A sandbox will be made.
    Make,
    /// Somebody wants to know.
    Look,
}

/// What opening would ask an engine for.
#[derive(Debug)]
pub struct Preview {
    /// The container, without what belongs to one start.
    pub spec: ContainerSpec,
    /// Variables of every command.
    pub env: Vec<(String, String)>,
    /// Shell text that runs once in a new container.
    pub setup: Option<String>,
    /// What should be known.
    pub warnings: Vec<String>,
    /// The state directory.
    pub state: StateDir,
    /// What the container is made from.
    pub request: SandboxRequest,
}

pub(super) fn preview(options: &SandboxOptions) -> Result<Preview, Failure> {
    let wanted = read(options)?;
    let (request, warnings) = request(options, &wanted, Purpose::Look)?;
    Ok(Preview {
        spec: sandbox::preview(&request),
        env: setting(options, &wanted, &request).env,
        setup: request.setup.clone(),
        warnings,
        state: wanted.state,
        request,
    })
}

/// The configuration with the limits of every owner.
pub(super) fn owners(options: &SandboxOptions) -> Result<Owners, Failure> {
    let (_, config, places) = load(options)?;
    Ok(Owners::new(config, places))
}

pub(super) fn load(options: &SandboxOptions) -> Result<(StateDir, Config, Places), Failure> {
    let var = &options.var;
    let state = match &options.state {
        Some(dir) => StateDir::at(std::path::absolute(dir).unwrap_or_else(|_| dir.clone())),
        None => StateDir::locate(|name| var(name))?,
    };
    let look_up = |name: &str| var(name);
    let config = Config::load(&config::locate(options.config.as_deref(), &look_up, &state), &look_up)?;
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let places = Places { home, state: state.root().to_owned() };
    Ok((state, config, places))
}

/// Whether the session's tool calls run in a sandbox.
pub(super) fn is_sandboxed(options: &SandboxOptions) -> Result<bool, Failure> {
    let (_, config, places) = load(options)?;
    let subject = subject(options, &config)?;
    Ok(config.sandbox_of(&subject, &places)?.mode.decide(subject.is_main, &subject.stamp))
}

fn subject(options: &SandboxOptions, config: &Config) -> Result<Subject, Failure> {
    let subject = config.subject(options.agent.as_deref(), options.session.as_deref())?;
    Ok(subject.stamped(options.stamp.clone()))
}

fn read(options: &SandboxOptions) -> Result<Wanted, Failure> {
    let var = &options.var;
    let (state, config, places) = load(options)?;
    let subject = subject(options, &config)?;
    let sandbox = config.sandbox_of(&subject, &places)?;
    let Subject { agent, session, .. } = subject;
    known_backend(&sandbox, &config)?;
    let exec = config.exec(&agent);
    let deny = deny_list(var, state.root());
    let place = options.workspace.as_deref().unwrap_or(&sandbox.agent_workspace);
    let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let scope = scope(options, &sandbox, &session, &place);
    Ok(Wanted { state, sandbox, exec, session, scope, deny, owners: Owners::new(config, places) })
}

/// Backends that are not engines of containers (`ssh`) run commands elsewhere: where one is configured, a container
/// here would be another place than asked for.
fn known_backend(sandbox: &ResolvedSandbox, config: &Config) -> Result<(), Failure> {
    if matches!(sandbox.backend_id().as_str(), "docker" | "podman") {
        return Ok(());
    }
    let key = sandbox.key("backend").unwrap_or("agents.defaults.sandbox.backend");
    let rule = config.origin(key).map_or_else(|| key.to_owned(), |origin| origin.to_string());
    Err(Failure(Report {
        code: "CRL-CLIENT-003",
        message: format!("sandbox backend {:?} is not one that creel has", sandbox.backend),
        rule: Some(rule),
        fix: "write backend: \"docker\" (any Docker-compatible engine), or remove the key".to_owned(),
    }))
}

fn deny_list(var: &Var, state: &Path) -> DenyList {
    DenyList::new(&DenyEnv::from_vars(|name| var(name), state).with_os_home())
}

/// The scope's key. Options that make another container belong to the identity: two calls with other images or
/// binds get two sandboxes instead of fighting over one.
fn scope(
    options: &SandboxOptions,
    sandbox: &ResolvedSandbox,
    session: &SessionKey,
    place: &Path,
) -> ScopeKey {
    let scope = sandbox.scope_key(session, place);
    let plain = options.image.is_none() && options.binds.is_empty() && options.workspace.is_none();
    if plain && options.apart.is_none() {
        return scope;
    }
    let image = options.image.as_deref().unwrap_or_default();
    let place = options.workspace.as_deref().map(|_| place.to_string_lossy()).unwrap_or_default();
    let mut variant = format!("{scope}\n{place}\n{image}\n{}", options.binds.join("\n"));
    if let Some(nonce) = &options.apart {
        variant = format!("{variant}\napart {nonce}");
    }
    // The form that keeps all its digits in the container's name.
    ScopeKey::Of(format!("{scope}:variant:workspace:{}", session::digest(&variant)))
}

fn request(
    options: &SandboxOptions,
    wanted: &Wanted,
    purpose: Purpose,
) -> Result<(SandboxRequest, Vec<String>), Failure> {
    let Wanted { sandbox, session, scope, state, .. } = wanted;
    let docker = &sandbox.docker;
    let installation = match (purpose, state.known_installation()) {
        (Purpose::Look, None) => InstallationId::none(),
        (Purpose::Look, Some(known)) => known,
        (Purpose::Make, _) => state.installation()?,
    };
    let name = SandboxName::parse(&session::container_name(&docker.container_prefix, scope, &installation))?;
    let (workspace, mut binds, guarded) = workspace_of(options, wanted, purpose)?;
    let (more, mut warnings) = binds_of(options, wanted, &workspace, &guarded)?;
    if sandbox.access_capped {
        tracing::warn!(target: "agent/sandbox", session = session.as_str(), "workspaceAccess rw is capped to ro");
        warnings.push(
            "workspaceAccess is ro, not rw as configured: the session's creator must have a sandbox"
                .to_owned(),
        );
    }
    // A configured bind with the agent's target takes its place, where the flag for reserved targets allows it.
    binds.retain(|bind| !more.iter().any(|other| other.target == bind.target));
    binds.extend(more);
    let image = options.image.clone().unwrap_or_else(|| docker.image.clone());
    let mut request = SandboxRequest::hardened(name, scope.to_string(), image, workspace);
    session.as_str().clone_into(&mut request.session_key);
    request.agent = sandbox.agent.to_string();
    request.binds = binds;
    request.tmpfs = docker.tmpfs.iter().map(tmpfs_text).collect();
    request.network.clone_from(&docker.network);
    request.read_only_root = docker.read_only_root;
    request.limits = Limits {
        memory: docker.memory,
        memory_swap: docker.memory_swap,
        nano_cpus: docker.nano_cpus,
        pids: Some(docker.pids_limit),
        ulimits: docker.ulimits.clone(),
    };
    request.user.clone_from(&docker.user);
    request.cap_drop.clone_from(&docker.cap_drop);
    request.dns.clone_from(&docker.dns);
    request.extra_hosts.clone_from(&docker.extra_hosts);
    request.seccomp = docker.seccomp_profile.as_deref().map(|path| profile(path, sandbox)).transpose()?;
    request.apparmor.clone_from(&docker.apparmor_profile);
    request.gpus.clone_from(&docker.gpus);
    request.setup.clone_from(&docker.setup_command);
    request.allow_unenforced.clone_from(&docker.allow_unenforced);
    let limits = sandbox.prune.limits();
    (request.idle_limit, request.max_age) = (limits.idle, limits.age);
    if options.apart.is_some() {
        // Whoever opened it removes it; should that fail, it ends itself soon.
        request.idle_limit = APART_IDLE;
    }
    request.deny = wanted.deny.clone();
    request.pool = role(options, wanted, &request);
    Ok((request, warnings))
}

fn tmpfs_text(tmpfs: &crate::engine::Tmpfs) -> String {
    if tmpfs.options.is_empty() {
        tmpfs.target.clone()
    } else {
        format!("{}:{}", tmpfs.target, tmpfs.options)
    }
}

/// The seccomp profile's text.
fn profile(path: &str, sandbox: &ResolvedSandbox) -> Result<String, Failure> {
    seccomp::read(path).map_err(|message| {
        Failure(Report {
            code: "CRL-CLIENT-001",
            message,
            rule: sandbox.key("docker.seccompProfile").map(str::to_owned),
            fix: seccomp::FIX.to_owned(),
        })
    })
}

fn setting(options: &SandboxOptions, wanted: &Wanted, request: &SandboxRequest) -> Setting {
    let configured = wanted.sandbox.docker.env.iter().map(|(name, value)| (name.clone(), value.clone()));
    let home = (options.var)("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    Setting {
        image_env: Vec::new(),
        env: configured.chain(options.env.iter().cloned()).collect(),
        path_prepend: host_plan::prepend(&wanted.exec.path_prepend, home.as_deref()),
        workdir: request.workspace.target.clone(),
        // A home that nothing can be written to breaks half of all tools (I067).
        home: request.workspace.read_only.then(|| HOME_TARGET.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::client::Sandbox;

    /// Told before an engine is looked for: nothing may run in another place than the configured one.
    #[tokio::test]
    async fn other_backends_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("openclaw.json");
        std::fs::write(&file, "{agents: {defaults: {sandbox: {backend: \"SSH\"}}}}").unwrap();
        let options = Sandbox::options().state(dir.path()).config(&file).vars(|_| None);
        let report = options.open().await.unwrap_err().0;
        assert_eq!(report.code, "CRL-CLIENT-003");
        assert!(report.rule.unwrap().ends_with("openclaw.json:1:32 agents.defaults.sandbox.backend"));
    }
}
