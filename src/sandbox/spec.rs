//! Request + image + init → what the engine creates. Pure.

use std::collections::BTreeMap;

use super::hash::Inputs;
use super::init_binary::InitBinary;
use super::labels;
use super::request::{Identity, SandboxRequest};
use crate::engine::{ContainerSpec, ImageFacts, Mount, Tmpfs};

/// Where the init binary is mounted.
pub const INIT_TARGET: &str = "/.creel/init";
/// Where the rendezvous directory is mounted.
pub const MEET_TARGET: &str = "/.creel/meet";
/// A writable home for tools that keep caches and installed programs there: executables allowed (I067).
pub const HOME_TARGET: &str = "/home/creel";
/// Options of a tmpfs whose configuration names none: the engine's own defaults, written out, with a size.
///
/// `noexec` is the engine's default and stays: what is downloaded to `/tmp` does not run by accident, while
/// [`HOME_TARGET`] and the workspace allow execution. `path:exec` in the configuration changes it.
const SCRATCH: &str = "rw,noexec,nosuid,nodev";

/// What is known besides the request when a container is specified.
#[derive(Debug, Clone)]
pub(super) struct Context<'a> {
    /// The image as the engine has it.
    pub(super) image: &'a ImageFacts,
    /// The installed init.
    pub(super) init: &'a InitBinary,
    /// `uid:gid` of every process in the container.
    pub(super) user: &'a str,
    /// Identity of each source that is mounted, by target; without init and rendezvous.
    pub(super) identities: &'a BTreeMap<String, Identity>,
    /// Init proves itself with a nonce, because the kernel cannot say who dials.
    pub(super) nonce: bool,
}

/// Everything that makes two containers equal or different; what changes with each container is left empty:
/// the labels, and the rendezvous directory.
pub(super) fn shape(request: &SandboxRequest, context: &Context<'_>) -> ContainerSpec {
    ContainerSpec {
        name: request.name.as_str().to_owned(),
        // The id, not the tag: a tag that moves between look-up and creation must not change what is created.
        image: context.image.id.clone(),
        argv: argv(request, context.nonce),
        env: vec![("OPENCLAW_CLI".to_owned(), "1".to_owned())],
        labels: BTreeMap::new(),
        user: Some(context.user.to_owned()),
        workdir: request.workspace.target.clone(),
        mounts: mounts(request, context.init),
        tmpfs: tmpfs(request, context.user),
        network: request.network.clone(),
        dns: request.dns.clone(),
        extra_hosts: request.extra_hosts.clone(),
        read_only_root: request.read_only_root,
        cap_drop: request.cap_drop.clone(),
        seccomp: request.seccomp.clone(),
        apparmor: request.apparmor.clone(),
        limits: request.limits.clone(),
        gpus: request.gpus.clone(),
        // creel-init is PID 1 and reaps.
        engine_init: false,
        stdin: context.nonce,
        stop_timeout_s: 10,
    }
}

/// The inputs of the configuration hash.
pub(super) fn inputs(request: &SandboxRequest, context: &Context<'_>) -> Inputs {
    let shape = shape(request, context);
    Inputs::new(&shape, context.identities, &context.init.digest, request.setup.as_deref())
}

/// The shape with what belongs to one container: labels and the rendezvous directory.
pub(super) fn complete(
    mut shape: ContainerSpec,
    labels: &labels::Labels<'_>,
    rendezvous: &str,
) -> ContainerSpec {
    shape.labels = labels.to_map();
    shape.mounts.push(Mount {
        source: rendezvous.to_owned(),
        target: MEET_TARGET.to_owned(),
        read_only: true,
    });
    shape
}

/// Arguments agreed with `creel-init pid1`.
fn argv(request: &SandboxRequest, nonce: bool) -> Vec<String> {
    let idle = request.idle_limit.as_secs().to_string();
    let mut argv = vec![INIT_TARGET, "pid1", "--meet", MEET_TARGET, "--idle", &idle];
    if nonce {
        argv.extend(["--nonce", "stdin"]);
    }
    argv.into_iter().map(str::to_owned).collect()
}

/// The workspace first, then the binds in order (a later one may lie below an earlier one), then init.
fn mounts(request: &SandboxRequest, init: &InitBinary) -> Vec<Mount> {
    let workspace = &request.workspace;
    let covered = request.binds.iter().any(|bind| bind.target == workspace.target);
    let own = (!covered).then(|| Mount {
        source: workspace.dir.to_string_lossy().into_owned(),
        target: workspace.target.clone(),
        read_only: workspace.read_only,
    });
    let binds = request.binds.iter().map(|bind| Mount {
        source: bind.source.to_string_lossy().into_owned(),
        target: bind.target.clone(),
        read_only: bind.read_only,
    });
    let init = Mount {
        source: init.path.to_string_lossy().into_owned(),
        target: INIT_TARGET.to_owned(),
        read_only: true,
    };
    own.into_iter().chain(binds).chain(std::iter::once(init)).collect()
}

/// The configured temporary file systems, and a home unless something else is mounted there.
fn tmpfs(request: &SandboxRequest, user: &str) -> Vec<Tmpfs> {
    let mut list: Vec<Tmpfs> = Vec::new();
    for entry in &request.tmpfs {
        let entry = scratch(entry);
        list.retain(|earlier| earlier.target != entry.target);
        list.push(entry);
    }
    let taken = |target: &str| {
        request.workspace.target == target
            || request.binds.iter().any(|bind| bind.target == target)
            || list.iter().any(|tmpfs| tmpfs.target == target)
    };
    if !taken(HOME_TARGET) {
        list.push(home(user));
    }
    list
}

/// `path[:options]` as the configuration writes it; a size is always set, because the default is half the memory.
fn scratch(entry: &str) -> Tmpfs {
    let (target, written) = entry.split_once(':').unwrap_or((entry, ""));
    let size = if target == "/run" { "64m" } else { "512m" };
    let mut options = if written.is_empty() { SCRATCH.to_owned() } else { written.to_owned() };
    if !options.split(',').any(|option| option.starts_with("size=")) {
        options = format!("{options},size={size}");
    }
    Tmpfs { target: target.to_owned(), options }
}

fn home(user: &str) -> Tmpfs {
    let (uid, gid) = user.split_once(':').unwrap_or((user, ""));
    let number = |text: &str| text.parse::<u32>().is_ok();
    let mut options = "rw,exec,nosuid,nodev,size=512m,mode=0700".to_owned();
    if number(uid) && number(gid) {
        options = format!("{options},uid={uid},gid={gid}");
    } else {
        // The engine resolves names inside the image: open the directory to whoever that is.
        options = options.replace("mode=0700", "mode=1777");
    }
    Tmpfs { target: HOME_TARGET.to_owned(), options }
}

#[cfg(test)]
mod tests;
