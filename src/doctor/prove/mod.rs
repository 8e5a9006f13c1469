//! `creel doctor --prove`: a fresh sandbox of the current configuration in which everything is tried that must not
//! work.
//!
//! | file | concern |
//! |---|---|
//! | `intended` | what must hold, as configured; pure |
//! | `judge` | observed against intended; pure |
//! | this one | opens the sandbox, runs the probe, removes both |
//!
//! The probe is creel-init itself, as an ordinary command, so it needs nothing of the image. What it prints is hostile:
//! it is read by [`crate::wire::probe`], and a probe that is not whole proves nothing.

mod intended;
mod judge;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::approvals::Command;
use crate::client::{Collected, Preview, Sandbox, SandboxOptions};
use crate::config::{Config, ResolvedSandbox};
use crate::engine::{Discovery, Endpoint, Engine};
use crate::error::{Diagnose, Failure, Report};
use crate::paths::DenyList;
use crate::runner::Transport;
use crate::sandbox::{self, Hardening, InUse, SandboxError, SandboxRequest, Sandboxes};
use crate::state::random_hex;
use crate::wire::probe;

pub use intended::Intended;
pub use judge::{Row, Verdict, judge};

/// How long the probe may run.
const PATIENCE: Duration = Duration::from_mins(1);
/// Paths of the host that no sandbox sees, whatever is configured; the state directory comes beside them.
const HOST_PATHS: [&str; 6] = ["/root", "/boot", "/home", "/etc/shadow", "/etc/passwd", "/var/lib/docker"];
/// Where engines listen beside the one that is used.
const SOCKETS: [&str; 6] = [
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/var/run/cri-dockerd.sock",
];
/// Settings whose keys are told beside the verdicts.
const SETTINGS: [&str; 7] = [
    "workspaceAccess",
    "docker.readOnlyRoot",
    "docker.network",
    "docker.capDrop",
    "docker.seccompProfile",
    "docker.pidsLimit",
    "docker.binds",
];

/// What was proven.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Nothing is open and nothing unknown.
    pub sound: bool,
    /// The image.
    pub image: String,
    /// `uid:gid` of the commands.
    pub user: String,
    /// The road that the probe took.
    pub transport: Transport,
    /// Every attempt.
    pub attempts: Vec<Row>,
    /// What the kernel said before anything ran.
    pub hardening: Hardening,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// Why nothing could be proven.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// Somebody asked for an end.
    #[error("the proof was interrupted; its sandbox is removed")]
    Interrupted,
    /// The sandbox is still there.
    #[error("the sandbox of the proof could not be removed: {0}")]
    NotRemoved(SandboxError),
    /// No random bytes.
    #[error("no random bytes: {0}")]
    Random(std::io::Error),
}

impl Diagnose for ProveError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Interrupted => ("CRL-DOCTOR-001", "run it again"),
            Self::NotRemoved(_) => ("CRL-DOCTOR-002", "run `creel sandbox prune`"),
            Self::Random(_) => ("CRL-DOCTOR-003", "see that /dev/urandom can be read"),
        };
        Report {
            code,
            message: self.to_string(),
            rule: Some("built-in: a proof is whole or none".to_owned()),
            fix: fix.to_owned(),
        }
    }
}

/// Opens a sandbox of its own as `options` say, tries, and removes it, also after a failure or when `cancelled` comes.
///
/// # Errors
///
/// When there is no sandbox to try anything in, or it could not be removed. What the attempts show is no error.
pub async fn run(
    options: &SandboxOptions,
    keys: BTreeMap<&'static str, String>,
    cancelled: impl Future<Output = ()>,
) -> Result<Proof, Failure> {
    let nonce = random_hex::<8>().map_err(ProveError::Random)?;
    let options = options.clone().apart(&nonce);
    // The name of the container holds the installation: it must be there before the name is known.
    options.preview()?.state.installation()?;
    let preview = options.preview()?;
    let done = tokio::select! {
        done = Box::pin(open_and_try(&options, &preview, &nonce, keys)) => done,
        () = cancelled => Err(ProveError::Interrupted.into()),
    };
    let removed = remove(&options, &preview).await;
    let proof = done?;
    removed.map_err(ProveError::NotRemoved)?;
    Ok(proof)
}

async fn open_and_try(
    options: &SandboxOptions,
    preview: &Preview,
    nonce: &str,
    keys: BTreeMap<&'static str, String>,
) -> Result<Proof, Failure> {
    let sandbox = options.open().await?;
    let user = sandbox.ready().user.clone();
    let mut intended = Intended::of(&preview.request, &user);
    intended.keys = keys;
    let deny = &preview.request.deny;
    surroundings(&mut intended, preview.state.root(), &sandbox.engine().facts().endpoint, deny);
    let attempts = attempt(&sandbox, &intended, nonce).await;
    let hardening = sandbox.ready().hardening.clone();
    Ok(Proof {
        sound: attempts.iter().all(|row| row.verdict.is_sound()),
        image: preview.request.image.clone(),
        user,
        transport: sandbox.transport(),
        attempts,
        hardening,
        warnings: sandbox.ready().warnings.clone(),
    })
}

/// Runs the probe in a sandbox and judges what it tells. Without a whole probe every question is open.
pub async fn attempt(sandbox: &Sandbox, intended: &Intended, nonce: &str) -> Vec<Row> {
    let mut call = sandbox.call_of(Command::Argv(intended.arguments(nonce)));
    call.options.timeout = Some(PATIENCE);
    let told = match tokio::time::timeout(PATIENCE * 2, sandbox.run(&call)).await {
        Ok(Ok(done)) => read(&done),
        Ok(Err(failure)) => Err(failure.0.message),
        Err(_) => Err("the sandbox does not answer any more".to_owned()),
    };
    match told {
        Ok(lines) => judge(intended, Ok(&lines)),
        Err(reason) => judge(intended, Err(&reason)),
    }
}

fn read(done: &Collected) -> Result<Vec<probe::Tried>, String> {
    if done.outcome.exit_status() != 0 {
        return Err(format!("the probe ended with status {}", done.outcome.exit_status()));
    }
    probe::parse(&done.stdout).map_err(|error| format!("the probe is not believed: {error}"))
}

/// What only this machine knows: identities of its files, its namespaces, its engines.
pub fn surroundings(intended: &mut Intended, state: &Path, endpoint: &Endpoint, deny: &DenyList) {
    use std::os::unix::fs::MetadataExt as _;
    let paths = HOST_PATHS.into_iter().map(PathBuf::from).chain([state.to_owned()]);
    intended.host_paths = paths
        .filter_map(|path| {
            let meta = std::fs::symlink_metadata(&path).ok()?;
            let path = path.to_str().filter(|text| !text.chars().any(char::is_control))?;
            Some((path.to_owned(), format!("{}:{}", meta.dev(), meta.ino())))
        })
        .collect();
    let number = |name: &&str| {
        let link = std::fs::read_link(format!("/proc/self/ns/{name}")).ok()?;
        let digits = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        Some(((*name).to_owned(), digits))
    };
    intended.namespaces = probe::NAMESPACES.iter().filter_map(number).collect();
    intended.sockets = SOCKETS.map(str::to_owned).to_vec();
    if let Endpoint::Unix(path) = endpoint
        && let Some(path) = path.to_str()
        && !intended.sockets.iter().any(|known| known == path)
    {
        intended.sockets.push(path.to_owned());
    }
    intended.denied = denied(intended, deny);
}

/// Denied paths, the host's paths and the sockets of engines, each by its identity.
fn denied(intended: &Intended, deny: &DenyList) -> BTreeMap<String, String> {
    use std::os::unix::fs::MetadataExt as _;
    let sockets = intended.sockets.iter().filter_map(|path| {
        let meta = std::fs::metadata(path).ok()?;
        Some((format!("{}:{}", meta.dev(), meta.ino()), path.clone()))
    });
    let paths = intended.host_paths.iter().map(|(path, identity)| (identity.clone(), path.clone()));
    let listed = deny.identities().into_iter().map(|(path, (dev, ino))| {
        (format!("{dev}:{ino}"), path.to_string_lossy().escape_debug().to_string())
    });
    // Of several names the deny list's own is told.
    sockets.chain(paths).chain(listed).collect()
}

/// The keys that decided, with their places.
pub fn keys(config: &Config, sandbox: &ResolvedSandbox) -> BTreeMap<&'static str, String> {
    let one = |setting: &'static str| {
        let key = sandbox.key(setting)?;
        Some((setting, config.origin(key).map_or_else(|| key.to_owned(), |at| at.to_string())))
    };
    SETTINGS.into_iter().filter_map(one).collect()
}

/// The container, what is kept about it, and the workspace where creel made it.
async fn remove(options: &SandboxOptions, preview: &Preview) -> Result<(), SandboxError> {
    let SandboxRequest { name, workspace, .. } = &preview.request;
    let engine = Engine::discover(&Discovery::from_process(options.engine_address())).await?;
    Sandboxes::open(engine, &preview.state)?.stop(name, InUse::Remove).await?;
    sandbox::erase(&preview.state, name)?;
    if workspace.owned_by_creel {
        clear(&workspace.dir);
    }
    Ok(())
}

/// The directory has this proof's own name; what cannot be removed is no secret and in nobody's way.
fn clear(dir: &Path) {
    if let Err(error) = std::fs::remove_dir_all(dir)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(dir = %dir.display(), %error, "could not remove the workspace of a proof");
    }
}

#[cfg(test)]
mod tests;
