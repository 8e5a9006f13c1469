//! The verdict over one bind (spec `sandbox.md` §6.3); the first rule that fails wins.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::bind::{BindSpec, Relabel};
use super::error::{BindError, BindRefusal, Special};
use super::policy::BindPolicy;
use super::{lexical, resolve};

/// Targets that only the kernel fills.
const KERNEL_TARGETS: &[&str] = &["/proc", "/sys", "/dev"];

/// A bind that passed every rule. Mount `source_resolved`, never `source_written`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidBind {
    /// Source as the configuration has it.
    pub source_written: String,
    /// Source with every link resolved.
    pub source_resolved: String,
    /// Absolute clean path in the container.
    pub target: String,
    /// Mounted read-only.
    pub read_only: bool,
    /// `SELinux` relabelling.
    pub relabel: Option<Relabel>,
    /// Key of the configuration that wrote the bind, or the flag.
    pub key: String,
}

/// Judges one bind as written under `key`.
///
/// Looks at the file system to resolve links; the source may be missing still ([`super::hold`] demands it).
pub fn validate(written: &str, key: &str, policy: &BindPolicy) -> Result<ValidBind, BindError> {
    let refuse = |judged: Option<&Path>, refusal| BindError {
        key: key.to_owned(),
        written: written.to_owned(),
        judged: judged.map(Path::to_owned),
        special: judged.and_then(special),
        refusal: Box::new(refusal),
    };
    let spec = BindSpec::parse(written).map_err(|error| refuse(None, BindRefusal::Syntax(error)))?;
    let clean = lexical::clean(&spec.source);
    not_denied(&clean, policy).map_err(|refusal| refuse(Some(&clean), refusal))?;
    let real =
        resolve::resolve(&clean).map_err(|error| refuse(Some(&clean), BindRefusal::Unresolved(error)))?;
    not_denied(&real, policy).map_err(|refusal| refuse(Some(&real), refusal))?;
    not_denied_by_mount(&real, policy).map_err(|refusal| refuse(Some(&real), refusal))?;
    plain(&real).map_err(|refusal| refuse(Some(&real), refusal))?;
    free_target(&spec.target, policy).map_err(|refusal| refuse(None, refusal))?;
    for source in [&clean, &real] {
        if !policy.in_roots(source) {
            return Err(refuse(Some(source), BindRefusal::OutsideRoots(policy.roots().to_vec())));
        }
    }
    let source_resolved = text(&real).ok_or_else(|| refuse(Some(&real), BindRefusal::NotText))?;
    Ok(ValidBind {
        source_written: spec.source,
        source_resolved,
        target: spec.target,
        read_only: spec.read_only,
        relabel: spec.relabel,
        key: key.to_owned(),
    })
}

/// Judges every bind, `(written, key)` in order, and returns all refusals at once.
pub fn validate_all<'a>(
    binds: impl IntoIterator<Item = (&'a str, &'a str)>,
    policy: &BindPolicy,
) -> Result<Vec<ValidBind>, Vec<BindError>> {
    let (mut valid, mut refused) = (Vec::new(), Vec::new());
    for (written, key) in binds {
        match validate(written, key, policy) {
            Ok(bind) => valid.push(bind),
            Err(error) => refused.push(error),
        }
    }
    if refused.is_empty() { Ok(valid) } else { Err(refused) }
}

fn not_denied(source: &Path, policy: &BindPolicy) -> Result<(), BindRefusal> {
    policy.deny().hit(source, policy.roots()).map_or(Ok(()), |hit| Err(BindRefusal::Denied(hit)))
}

fn not_denied_by_mount(source: &Path, policy: &BindPolicy) -> Result<(), BindRefusal> {
    let hit = policy.deny().by_mount(source, policy.roots());
    hit.map_or(Ok(()), |hit| Err(BindRefusal::DeniedByMount(hit)))
}

/// An existing source must be a file or a directory; this refuses sockets wherever they lie.
fn plain(source: &Path) -> Result<(), BindRefusal> {
    special(source).map_or(Ok(()), |kind| Err(BindRefusal::SpecialFile(kind)))
}

/// What lies at a path, at the end of its links, where it is neither file nor directory.
fn special(path: &Path) -> Option<Special> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    let all = [
        (kind.is_socket(), Special::Socket),
        (kind.is_fifo(), Special::Pipe),
        (kind.is_block_device() || kind.is_char_device(), Special::Device),
    ];
    all.into_iter().find(|(is, _)| *is).map(|(_, special)| special)
}

fn free_target(target: &str, policy: &BindPolicy) -> Result<(), BindRefusal> {
    let below = |root: &&&str| lexical::inside(Path::new(root), Path::new(target));
    if let Some(root) = KERNEL_TARGETS.iter().find(below) {
        return Err(BindRefusal::KernelTarget(root));
    }
    if let Some((reserved, flag_opens)) = policy.reserved_by(target) {
        return Err(BindRefusal::Reserved { reserved, flag_opens });
    }
    if let Some(system) = policy.system_target(target) {
        return Err(BindRefusal::SystemTarget(system));
    }
    policy.scratch_met(target).map_or(Ok(()), |scratch| {
        Err(BindRefusal::ScratchTarget { scratch: scratch.to_owned(), same: scratch == target })
    })
}

fn text(path: &Path) -> Option<String> {
    PathBuf::from(path).into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests;
