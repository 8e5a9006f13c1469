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

/// The rules for the binds of one sandbox.
#[derive(Debug, Clone)]
pub struct BindPolicy {
    deny: DenyList,
    roots: Vec<PathBuf>,
    reserved: Vec<String>,
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
