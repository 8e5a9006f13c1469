//! The workspace directory of a sandbox goes through the same deny list as every bind.

use std::path::{Path, PathBuf};

use super::deny::{DenyHit, DenyList, Meets};
use super::lexical;
use super::places::MountHit;
use super::resolve::{self, ResolveError};
use crate::error::{Diagnose, Report};

/// Why a directory cannot be a workspace.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WorkspaceError {
    /// It leads nowhere.
    #[error("workspace {written}: {source}")]
    Unresolved {
        /// As written.
        written: PathBuf,
        /// Why.
        source: ResolveError,
    },
    /// It is, or contains, a denied path.
    #[error("workspace {written}{} is refused: {}", which(written, resolved), deny_text(hit))]
    Denied {
        /// As written.
        written: PathBuf,
        /// With every link resolved.
        resolved: PathBuf,
        /// What it met.
        hit: DenyHit,
    },
    /// What is mounted there or below it is, or contains, a denied path under another name.
    #[error("workspace {written} is refused: {}", hit.why("it"))]
    DeniedByMount {
        /// As written.
        written: PathBuf,
        /// What it met.
        hit: MountHit,
    },
    /// It is missing or no directory.
    #[error("workspace {0} is not an existing directory")]
    NotADirectory(PathBuf),
    /// The path is not text and cannot be told to the engine.
    #[error("workspace {0} is not UTF-8 text, or contains a control character")]
    NotText(PathBuf),
}

/// Where a path leads, unless that is what was written.
fn which(written: &Path, resolved: &Path) -> String {
    if written == resolved { String::new() } else { format!(" (which is {})", resolved.display()) }
}

fn deny_text(hit: &DenyHit) -> String {
    let verb = if hit.meets == Meets::Covers { "brings along" } else { "lies in" };
    format!("it {verb} {}, a denied host path", hit.blocked.display())
}

impl Diagnose for WorkspaceError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Unresolved { .. } => ("CRL-WORKSPACE-001", "name a directory that exists".to_owned()),
            Self::Denied { .. } => {
                ("CRL-WORKSPACE-002", "name the project directory itself, outside the denied path".to_owned())
            }
            Self::NotADirectory(path) => {
                ("CRL-WORKSPACE-003", format!("make it: mkdir -p {}", path.display()))
            }
            Self::NotText(_) => ("CRL-WORKSPACE-004", "rename the directory".to_owned()),
            Self::DeniedByMount { hit, .. } => ("CRL-WORKSPACE-005", hit.fix()),
        };
        let rule = match self {
            Self::Denied { hit, .. } => format!("workspace-denied-{}", hit.group.name()),
            Self::DeniedByMount { .. } => "workspace-denied-by-mount".to_owned(),
            _ => "workspace".to_owned(),
        };
        Report { code, message: self.to_string(), rule: Some(rule), fix }
    }
}

/// Checks a directory that a user wants as workspace and returns it resolved. It must exist.
///
/// `own` are as for [`check_place`].
pub fn check_workspace(dir: &Path, deny: &DenyList, own: &[PathBuf]) -> Result<PathBuf, WorkspaceError> {
    let resolved = check_place(dir, deny, own)?;
    if resolved.is_dir() { Ok(resolved) } else { Err(WorkspaceError::NotADirectory(resolved)) }
}

/// Checks a place where workspaces may be made, such as the configured root of sandboxes, and returns it
/// resolved. It may be missing still.
///
/// `own` are places that the state directory holds by design (an agent's workspace, the root of sandboxes);
/// they are exempt from the rule about the state directory, from no other.
pub fn check_place(dir: &Path, deny: &DenyList, own: &[PathBuf]) -> Result<PathBuf, WorkspaceError> {
    let written = std::path::absolute(dir).map_err(|_| WorkspaceError::NotADirectory(dir.to_owned()))?;
    let clean = lexical::clean(&written);
    let own = super::deny::both_spellings(own.iter());
    let judge = |resolved: &Path| match deny.hit(resolved, &own) {
        None => Ok(()),
        Some(hit) => {
            Err(WorkspaceError::Denied { written: dir.to_owned(), resolved: resolved.to_owned(), hit })
        }
    };
    judge(&clean)?;
    let resolved = resolve::resolve(&clean)
        .map_err(|source| WorkspaceError::Unresolved { written: dir.to_owned(), source })?;
    judge(&resolved)?;
    if let Some(hit) = deny.by_mount(&resolved, &own) {
        return Err(WorkspaceError::DeniedByMount { written: dir.to_owned(), hit });
    }
    if resolved.to_str().is_none_or(|text| lexical::unreadable(text).is_some()) {
        return Err(WorkspaceError::NotText(resolved));
    }
    Ok(resolved)
}

/// Checks what is mounted below a directory (resolved) that is mounted without a question about the directory itself:
/// one that the state directory holds by design. `own` as for [`check_place`].
pub fn check_below(dir: &Path, deny: &DenyList, own: &[PathBuf]) -> Result<(), WorkspaceError> {
    let own = super::deny::both_spellings(own.iter());
    let refused = |hit| Err(WorkspaceError::DeniedByMount { written: dir.to_owned(), hit });
    deny.by_mount_below(dir, &own).map_or(Ok(()), refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::deny::DenyEnv;

    #[test]
    fn same_deny_list_as_binds() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap();
        for name in ["home/project", "home/.openclaw/workspace", "home/.openclaw/creel"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join("home/project/e")).unwrap();
        let home = root.join("home");
        let state = home.join(".openclaw");
        let deny = DenyList::new(&DenyEnv {
            homes: vec![home.clone()],
            state_dir: Some(state.clone()),
            named: vec![],
        });
        let check = |path: &Path| check_workspace(path, &deny, &[state.join("workspace")]);
        assert_eq!(check(&home.join("project")).unwrap(), home.join("project"));
        assert_eq!(check(&state.join("workspace")).unwrap(), state.join("workspace"));
        for refused in ["/", "/etc", "/proc/self/cwd"] {
            assert!(matches!(check(Path::new(refused)), Err(WorkspaceError::Denied { .. })), "{refused}");
        }
        let told = check(Path::new("/etc")).unwrap_err().to_string();
        assert!(told.starts_with("workspace /etc is refused"), "{told}");
        let told = check(&home.join("project/e")).unwrap_err().to_string();
        assert!(told.contains("(which is /etc) is refused"), "{told}");
        for refused in [&home, &home.join("project/e"), &state, &state.join("creel"), &root] {
            assert!(matches!(check(refused), Err(WorkspaceError::Denied { .. })), "{refused:?}");
        }
        let root = state.join("sandboxes");
        assert_eq!(check_place(&root, &deny, std::slice::from_ref(&root)).unwrap(), root);
        assert!(check_place(&root, &deny, &[]).is_err());
        assert!(matches!(check(&home.join("none")), Err(WorkspaceError::NotADirectory(_))));
    }
}
