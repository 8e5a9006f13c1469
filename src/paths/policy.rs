//! What decides over the binds of one sandbox.

use std::path::{Path, PathBuf};

use super::deny::{self, DenyList};
use super::lexical;

/// Where the agent's own workspace appears beside the sandbox's (spec `sandbox.md` §4.1).
pub const AGENT_TARGET: &str = "/agent";
/// Reserved in every sandbox (spec `sandbox.md` §6.5).
const RESERVED: &[&str] = &["/workspace", AGENT_TARGET];
/// Where creel keeps its own program and sockets; no flag opens it.
pub const OWN_TARGET: &str = "/.creel";

/// Where an image keeps its programs, their libraries and their settings. Every command starts from there, creel's own
/// shell first: `/bin/sh`, its libraries, `/etc/profile`.
pub(super) const SYSTEM_TARGETS: &[&str] =
    &["/etc", "/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32"];

/// A temporary file system of the sandbox, as binds meet it.
#[derive(Debug, Clone)]
struct Scratch {
    path: String,
    /// A bind of the same target takes its place.
    gives_way: bool,
}

/// The rules for the binds of one sandbox.
#[derive(Debug, Clone)]
pub struct BindPolicy {
    deny: DenyList,
    roots: Vec<PathBuf>,
    reserved: Vec<String>,
    scratch: Vec<Scratch>,
    allow_reserved: bool,
    allow_external: bool,
}

impl BindPolicy {
    /// A policy that allows sources below `allowed_roots` only.
    ///
    /// Relative roots are left out: they would mean another place in another directory. No root at all means
    /// that nothing is allowed (upstream takes it for "no check").
    pub fn new(deny: DenyList, allowed_roots: &[PathBuf]) -> Self {
        let absolute = allowed_roots.iter().filter(|root| root.is_absolute());
        let mut roots = deny::both_spellings(absolute);
        // Somebody who writes `/` as a workspace root means it; the deny list still stands before it.
        if allowed_roots.iter().any(|root| lexical::clean(root) == Path::new("/")) {
            roots.push(PathBuf::from("/"));
        }
        Self {
            deny,
            roots,
            reserved: RESERVED.iter().map(|path| (*path).to_owned()).collect(),
            scratch: Vec::new(),
            allow_reserved: false,
            allow_external: false,
        }
    }

    /// Reserves targets of managed mounts too: the real working directory and what else is mounted.
    #[must_use]
    pub fn reserve<T: AsRef<str>>(mut self, targets: impl IntoIterator<Item = T>) -> Self {
        for target in targets {
            let target = lexical::clean_text(target.as_ref());
            if target.starts_with('/') && target != "/" && !self.reserved.contains(&target) {
                self.reserved.push(target);
            }
        }
        self
    }

    /// Targets of temporary file systems (clean). One that `gives_way` is not mounted where a bind has its target.
    #[must_use]
    pub fn scratch<T: AsRef<str>>(mut self, targets: impl IntoIterator<Item = T>, gives_way: bool) -> Self {
        let one = |target: T| Scratch { path: target.as_ref().to_owned(), gives_way };
        self.scratch.extend(targets.into_iter().map(one));
        self
    }

    /// `dangerouslyAllowReservedContainerTargets`.
    #[must_use]
    pub fn allow_reserved(mut self, allow: bool) -> Self {
        self.allow_reserved = allow;
        self
    }

    /// `dangerouslyAllowExternalBindSources`. The deny list stays in force.
    #[must_use]
    pub fn allow_external(mut self, allow: bool) -> Self {
        self.allow_external = allow;
        self
    }

    pub(super) fn deny(&self) -> &DenyList {
        &self.deny
    }

    /// The allowed roots, each as written (clean) and as it resolves.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether a source (clean) lies in a root, or need not.
    pub(super) fn in_roots(&self, source: &Path) -> bool {
        self.allow_external || self.roots.iter().any(|root| lexical::inside(root, source))
    }

    /// The directory of the image's own programs and settings that a target (clean) lies in.
    pub(super) fn system_target(&self, target: &str) -> Option<&'static str> {
        let holds = |path: &&&str| lexical::inside(Path::new(path), Path::new(target));
        SYSTEM_TARGETS.iter().find(holds).copied().filter(|_| !self.allow_reserved)
    }

    /// The temporary file system that a target (clean) equals or covers. The engine mounts two things on one target
    /// not at all, and below a mount only where it may make the directory, on the host.
    pub(super) fn scratch_met(&self, target: &str) -> Option<&str> {
        let meets = |scratch: &&Scratch| {
            let same = scratch.path == target;
            lexical::inside(Path::new(target), Path::new(&scratch.path)) && !(same && scratch.gives_way)
        };
        self.scratch.iter().find(meets).map(|scratch| scratch.path.as_str())
    }

    /// The reserved path that a target (clean) meets, and whether the flag would open it.
    ///
    /// Met from below it would hide part of a managed mount, from above all of it.
    pub(super) fn reserved_by(&self, target: &str) -> Option<(String, bool)> {
        let target = Path::new(target);
        let meets = |path: &str| {
            let path = Path::new(path);
            lexical::inside(path, target) || lexical::inside(target, path)
        };
        if meets(OWN_TARGET) {
            return Some((OWN_TARGET.to_owned(), false));
        }
        if self.allow_reserved {
            return None;
        }
        self.reserved.iter().find(|path| meets(path)).map(|path| (path.clone(), true))
    }
}
