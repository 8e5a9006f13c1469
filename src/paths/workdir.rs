//! The working directory that a call asks for, mapped into the sandbox (spec `exec.md` §1.4, `sandbox.md` §13.4).
//!
//! There is no fall-back: running in another directory than asked can destroy data.

use std::path::{Component, Path, PathBuf};

use super::lexical;
use super::resolve::{self, ResolveError};
use crate::error::{Diagnose, Report};

/// Bytes of a path.
const MOST: usize = 4096;

/// A directory that a sandbox sees, on both sides of its mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestDir {
    /// Path in the container.
    pub guest: String,
    /// Path on the host, resolved.
    pub host: PathBuf,
}

/// The two ends of a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Path in the container.
    pub guest: String,
    /// Path on the host.
    pub host: PathBuf,
}

/// Why a command was not run: its working directory is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkdirError {
    /// It is blank.
    #[error("the working directory {0:?} is blank")]
    Blank(String),
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
    /// The session's own directory, which the call relies on, is gone.
    #[error("the working directory of the session, {path:?}, is not available: {reason}")]
    Session {
        /// The session's directory.
        path: String,
        /// Why.
        reason: String,
    },
    /// It exists, and this user may not enter it.
    #[error("the working directory {path:?} cannot be entered: {reason}")]
    Closed {
        /// As asked for.
        path: String,
        /// The operating system's words.
        reason: String,
    },
}

impl Diagnose for WorkdirError {
    fn report(&self) -> Report {
        let code = match self {
            Self::Blank(_) => "CRL-WORKDIR-001",
            Self::Unreadable { .. } => "CRL-WORKDIR-002",
            Self::Outside { .. } => "CRL-WORKDIR-003",
            Self::Unresolved { .. } => "CRL-WORKDIR-004",
            Self::NotADirectory(_) => "CRL-WORKDIR-005",
            Self::Session { .. } => "CRL-WORKDIR-006",
            Self::Closed { .. } => "CRL-WORKDIR-007",
        };
        let fix = match self {
            Self::Session { .. } => {
                "make that directory again, give the session another one, or name an absolute workdir that exists"
            }
            _ => "leave workdir out, name a directory that exists, or use cd in the command itself",
        };
        Report {
            code,
            message: format!(
                "{self}. Nothing was executed. The path is taken as it is written: ~ and $VARIABLES are not expanded"
            ),
            rule: Some(
                "built-in: a command runs in the directory that was asked for, or not at all".to_owned(),
            ),
            fix: fix.to_owned(),
        }
    }
}

/// A value without the blanks at its edges; `None` where nothing was asked for. Only an empty value counts as that:
/// blanks were meant to be something.
pub(super) fn asked_for(asked: Option<&str>) -> Result<Option<&str>, WorkdirError> {
    match asked {
        None | Some("") => Ok(None),
        Some(blank) if blank.trim().is_empty() => Err(WorkdirError::Blank(blank.to_owned())),
        // Longer than any path that the system takes, and nothing to repeat in a message.
        Some(long) if long.len() > MOST => Err(WorkdirError::Unreadable {
            path: long.trim().chars().take(80).collect(),
            what: "more than 4096 bytes",
        }),
        Some(asked) => Ok(Some(asked.trim())),
    }
}

/// Maps what a call asks for; nothing asked for is the workspace itself.
///
/// A path in the container is looked for in the read-only mounts of skills first, the longest wins, then in the
/// workspace; a relative one lies in the workspace; any other must lie in the workspace on the host. `~` is not
/// expanded. Links are followed on the host and must stay in their mount; the guest path is the resolved one, so that a
/// link that means something else inside the container is not followed there.
pub fn guest_dir(
    asked: Option<&str>,
    workspace: &Mounted,
    skills: &[Mounted],
) -> Result<GuestDir, WorkdirError> {
    match asked_for(asked)? {
        Some(asked) => mapped(asked, workspace, skills),
        None => Ok(GuestDir { guest: workspace.guest.clone(), host: root(workspace)? }),
    }
}

fn mapped(asked: &str, workspace: &Mounted, skills: &[Mounted]) -> Result<GuestDir, WorkdirError> {
    let clean = readable(asked)?;
    let clean = lexical::clean(Path::new(&workspace.guest).join(clean));
    let (mount, inner) = match guest_mount(&clean, workspace, skills) {
        Some(found) => found,
        None => (workspace, on_host(&clean, workspace)?.ok_or_else(|| outside(asked.to_owned(), workspace))?),
    };
    let root = root(mount)?;
    let host = resolve::resolve(&root.join(inner))
        .map_err(|source| WorkdirError::Unresolved { path: asked.to_owned(), source })?;
    let Ok(inner) = host.strip_prefix(&root) else {
        return Err(outside(format!("{asked} (which is {})", host.display()), workspace));
    };
    let guest = lexical::clean(Path::new(&mount.guest).join(inner));
    // A link into a place that another mount covers: the container sees that mount there, not what was resolved.
    let covered = guest_mount(&guest, workspace, skills).is_some_and(|(seen, _)| seen != mount);
    let Some(guest) = guest.to_str().map(str::to_owned) else {
        return Err(WorkdirError::Unreadable { path: asked.to_owned(), what: "bytes that are not text" });
    };
    if covered {
        // It ends: the second look begins in a mount of skills, and nothing covers one but a longer one.
        return mapped(&guest, workspace, skills);
    }
    if host.is_dir() {
        Ok(GuestDir { guest, host })
    } else {
        Err(WorkdirError::NotADirectory(asked.to_owned()))
    }
}

/// The path, where its text allows to judge it.
fn readable(asked: &str) -> Result<&Path, WorkdirError> {
    let path = Path::new(asked);
    let parent = path.components().any(|part| part == Component::ParentDir).then_some("..");
    match parent.or_else(|| lexical::unreadable(asked)) {
        Some(what) => Err(WorkdirError::Unreadable { path: asked.to_owned(), what }),
        None => Ok(path),
    }
}

/// The mount that shows a path of the container, and the part below it.
fn guest_mount<'a>(
    path: &Path,
    workspace: &'a Mounted,
    skills: &'a [Mounted],
) -> Option<(&'a Mounted, PathBuf)> {
    let below = |mount: &'a Mounted| {
        let inner = path.strip_prefix(lexical::clean(&mount.guest)).ok()?;
        Some((mount, inner.to_owned()))
    };
    let longest = skills
        .iter()
        .filter_map(below)
        .max_by_key(|(mount, _)| lexical::clean(&mount.guest).as_os_str().len());
    longest.or_else(|| below(workspace))
}

/// The part below the workspace of a path on the host, in either spelling of it.
fn on_host(path: &Path, workspace: &Mounted) -> Result<Option<PathBuf>, WorkdirError> {
    let roots = [lexical::clean(&workspace.host), root(workspace)?];
    Ok(roots.iter().find_map(|root| path.strip_prefix(root).ok()).map(Path::to_owned))
}

fn root(mount: &Mounted) -> Result<PathBuf, WorkdirError> {
    resolve::resolve(&mount.host)
        .map_err(|source| WorkdirError::Unresolved { path: mount.host.display().to_string(), source })
}

fn outside(path: String, workspace: &Mounted) -> WorkdirError {
    WorkdirError::Outside { path, guest: workspace.guest.clone(), host: workspace.host.clone() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn code(error: &WorkdirError) -> &'static str {
        error.report().code
    }

    #[test]
    fn maps_every_spelling_and_refuses_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap().join("ws");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        symlink("/etc", root.join("etc")).unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("none", root.join("dangling")).unwrap();
        let workspace = Mounted { guest: "/workspace".to_owned(), host: root.clone() };
        let map = |asked: &str| guest_dir(Some(asked), &workspace, &[]).map(|found| found.guest);
        assert_eq!(guest_dir(None, &workspace, &[]).unwrap().guest, "/workspace");
        let on_host = root.join("a").display().to_string();
        for (asked, wanted) in [
            ("", "/workspace"),
            ("/workspace", "/workspace"),
            (".", "/workspace"),
            (" a/b ", "/workspace/a/b"),
            ("./link", "/workspace/a"),
            ("/workspace/a//b/", "/workspace/a/b"),
            ("/workspace/link/b", "/workspace/a/b"),
            (on_host.as_str(), "/workspace/a"),
        ] {
            assert_eq!(map(asked).unwrap(), wanted, "{asked:?}");
        }
        for (asked, wanted) in [
            (" ", "CRL-WORKDIR-001"),
            ("/workspace/../etc", "CRL-WORKDIR-002"),
            ("a/../a", "CRL-WORKDIR-002"),
            ("..", "CRL-WORKDIR-002"),
            ("/workspace/a\nb", "CRL-WORKDIR-002"),
            ("/tmp", "CRL-WORKDIR-003"),
            ("/", "CRL-WORKDIR-003"),
            ("/proc/self/fd/7", "CRL-WORKDIR-003"),
            ("/workspacex", "CRL-WORKDIR-003"),
            ("/workspace/etc", "CRL-WORKDIR-003"),
            ("/workspace/dangling", "CRL-WORKDIR-004"),
            ("/workspace/file", "CRL-WORKDIR-005"),
            ("none", "CRL-WORKDIR-005"),
            ("~/a", "CRL-WORKDIR-005"),
            ("$HOME", "CRL-WORKDIR-005"),
        ] {
            assert_eq!(code(&map(asked).unwrap_err()), wanted, "{asked:?}");
        }
        let text = map("~/a").unwrap_err().report().to_string();
        for part in ["\"~/a\"", "Nothing was executed", "not expanded", "leave workdir out"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn skills_come_first_and_cover_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let base = resolve::resolve(dir.path()).unwrap();
        for name in ["ws/skills/one", "ws/skills/deep/x", "laid/one/sub", "deep/x"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        symlink("skills/one", base.join("ws/link")).unwrap();
        symlink("/etc", base.join("laid/out")).unwrap();
        let mounted = |guest: &str, host: &str| Mounted { guest: guest.to_owned(), host: base.join(host) };
        let workspace = mounted("/workspace", "ws");
        let skills = [mounted("/workspace/skills", "laid"), mounted("/workspace/skills/deep", "deep")];
        let map = |asked: &str| guest_dir(Some(asked), &workspace, &skills);
        assert_eq!(map("skills/one/sub").unwrap().host, base.join("laid/one/sub"));
        assert_eq!(map("/workspace/skills/deep/x").unwrap().host, base.join("deep/x"));
        // Resolved in the workspace, seen in the mount that covers it.
        assert_eq!(
            map("link").unwrap(),
            GuestDir { guest: "/workspace/skills/one".to_owned(), host: base.join("laid/one") }
        );
        assert_eq!(code(&map("skills/out").unwrap_err()), "CRL-WORKDIR-003");
        let host = base.join("ws/skills/one").display().to_string();
        assert_eq!(map(&host).unwrap().host, base.join("laid/one"));
    }
}
