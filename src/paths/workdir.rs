//! The working directory that a call asks for, mapped into the sandbox (spec `sandbox.md` §13.4).
//!
//! There is no fall-back: running in another directory than asked can destroy data.

use std::path::{Component, Path, PathBuf};

use super::lexical;
use super::resolve::{self, ResolveError};
use crate::error::{Diagnose, Report};

/// A directory of the workspace, on both sides of the mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestDir {
    /// Path in the container.
    pub guest: String,
    /// Path on the host, resolved.
    pub host: PathBuf,
}

/// Why a command was not run: its working directory is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkdirError {
    /// It is blank.
    #[error("the working directory is blank")]
    Blank,
    /// It contains `..` or what no path may contain.
    #[error("the working directory {path:?} contains {what}")]
    Unreadable {
        /// As asked for.
        path: String,
        /// What it contains.
        what: &'static str,
    },
    /// It is neither below the container's working directory nor below the workspace on the host.
    #[error("the working directory {path:?} lies neither in {guest} nor in the workspace {host}")]
    Outside {
        /// As asked for, or where a link leads.
        path: String,
        /// The workspace in the container.
        guest: String,
        /// The workspace on the host.
        host: PathBuf,
    },
    /// It leads nowhere.
    #[error("the working directory {path:?}: {source}")]
    Unresolved {
        /// As asked for.
        path: String,
        /// Why.
        source: ResolveError,
    },
    /// It does not exist, or is no directory.
    #[error("the working directory {0:?} is not an existing directory")]
    NotADirectory(String),
}

impl Diagnose for WorkdirError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Blank => ("CRL-WORKDIR-001", "leave it out for the workspace itself"),
            Self::Unreadable { .. } => ("CRL-WORKDIR-002", "write a plain path without .."),
            Self::Outside { .. } => {
                ("CRL-WORKDIR-003", "name a directory of the workspace, and use cd in the command for others")
            }
            Self::Unresolved { .. } => ("CRL-WORKDIR-004", "name a directory that exists"),
            Self::NotADirectory(_) => ("CRL-WORKDIR-005", "make the directory first"),
        };
        Report {
            code,
            message: format!("{self}; the command was not run"),
            rule: Some("working directory".to_owned()),
            fix: fix.to_owned(),
        }
    }
}

/// Maps what a call asks for; nothing asked for is the workspace itself.
///
/// `guest_root` and `host_root` are the two ends of the workspace's mount. `~` is not expanded. Links are
/// followed on the host and must stay in the workspace; the guest path is the resolved one, so that a link that
/// means something else inside the container is not followed there.
pub fn guest_dir(asked: Option<&str>, guest_root: &str, host_root: &Path) -> Result<GuestDir, WorkdirError> {
    let root = resolve::resolve(host_root)
        .map_err(|source| WorkdirError::Unresolved { path: host_root.display().to_string(), source })?;
    let Some(asked) = asked else {
        return Ok(GuestDir { guest: guest_root.to_owned(), host: root });
    };
    let relative = relative(asked, guest_root, host_root, &root)?;
    let outside = |path: String| WorkdirError::Outside {
        path,
        guest: guest_root.to_owned(),
        host: host_root.to_owned(),
    };
    let host = resolve::resolve(&root.join(relative))
        .map_err(|source| WorkdirError::Unresolved { path: asked.to_owned(), source })?;
    let Ok(inner) = host.strip_prefix(&root) else {
        return Err(outside(format!("{asked} (which is {})", host.display())));
    };
    let guest = Path::new(guest_root).join(inner);
    let Some(guest) = lexical::clean(guest).to_str().map(str::to_owned) else {
        return Err(WorkdirError::Unreadable { path: asked.to_owned(), what: "bytes that are not text" });
    };
    if host.is_dir() {
        Ok(GuestDir { guest, host })
    } else {
        Err(WorkdirError::NotADirectory(asked.to_owned()))
    }
}

/// The part below the workspace, judged by text alone.
fn relative(
    asked: &str,
    guest_root: &str,
    host_root: &Path,
    resolved: &Path,
) -> Result<PathBuf, WorkdirError> {
    if asked.trim().is_empty() {
        return Err(WorkdirError::Blank);
    }
    let path = Path::new(asked);
    let parent = path.components().any(|part| part == Component::ParentDir).then_some("..");
    if let Some(what) = parent.or_else(|| lexical::unreadable(asked)) {
        return Err(WorkdirError::Unreadable { path: asked.to_owned(), what });
    }
    let clean = lexical::clean(path);
    let roots = [Path::new(guest_root), host_root, resolved];
    let below = roots.iter().find_map(|root| clean.strip_prefix(lexical::clean(root)).ok());
    below.map(Path::to_owned).ok_or_else(|| WorkdirError::Outside {
        path: asked.to_owned(),
        guest: guest_root.to_owned(),
        host: host_root.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn maps_both_spellings_and_refuses_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap().join("ws");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        symlink("/etc", root.join("etc")).unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("none", root.join("dangling")).unwrap();
        let map = |asked: &str| guest_dir(Some(asked), "/workspace", &root).map(|found| found.guest);
        assert_eq!(guest_dir(None, "/workspace", &root).unwrap().guest, "/workspace");
        assert_eq!(map("/workspace").unwrap(), "/workspace");
        assert_eq!(map("/workspace/a//b/").unwrap(), "/workspace/a/b");
        assert_eq!(map("/workspace/link/b").unwrap(), "/workspace/a/b");
        assert_eq!(map(&root.join("a").display().to_string()).unwrap(), "/workspace/a");
        assert_eq!(map(" "), Err(WorkdirError::Blank));
        for (asked, code) in [
            ("/workspace/../etc", "CRL-WORKDIR-002"),
            ("/workspace/a\n", "CRL-WORKDIR-002"),
            ("/tmp", "CRL-WORKDIR-003"),
            ("/proc/self/fd/7", "CRL-WORKDIR-003"),
            ("/workspacex", "CRL-WORKDIR-003"),
            ("~/a", "CRL-WORKDIR-003"),
            ("a", "CRL-WORKDIR-003"),
            ("/workspace/etc", "CRL-WORKDIR-003"),
            ("/workspace/dangling", "CRL-WORKDIR-004"),
            ("/workspace/file", "CRL-WORKDIR-005"),
            ("/workspace/none", "CRL-WORKDIR-005"),
        ] {
            assert_eq!(map(asked).unwrap_err().report().code, code, "{asked:?}");
        }
    }
}
