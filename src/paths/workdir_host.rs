//! The working directory of a command on the gateway's host (spec `exec.md` §1.4), opened as it was found.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::hold::{HeldSource, hold};
use super::resolve;
use super::workdir::{WorkdirError, asked_for};

/// The directory to start in, resolved and held open, so that the spawn can be compared with what was judged.
///
/// What is asked for, else the session's directory, else that of the gateway's process. A relative path starts at the
/// real place of the session's directory. `~` and `$VARIABLES` are taken as written.
pub fn host_dir(
    asked: Option<&str>,
    session: Option<&Path>,
    process: &Path,
) -> Result<HeldSource, WorkdirError> {
    let base = session.unwrap_or(process);
    let Some(asked) = asked_for(asked)? else { return session_dir(base) };
    if asked.starts_with('/') {
        return opened(Path::new(asked), asked);
    }
    opened(&session_dir(base)?.path().join(asked), asked)
}

/// The session's directory: where it is missing, it is named and not what the call wrote.
fn session_dir(path: &Path) -> Result<HeldSource, WorkdirError> {
    let shown = path.display().to_string();
    opened(path, &shown).map_err(|error| {
        let reason = match error {
            WorkdirError::Unresolved { source, .. } => source.to_string(),
            WorkdirError::Closed { reason, .. } => reason,
            _ => "it is not an existing directory".to_owned(),
        };
        WorkdirError::Session { path: shown.clone(), reason }
    })
}

fn opened(path: &Path, asked: &str) -> Result<HeldSource, WorkdirError> {
    if asked.contains('\0') {
        return Err(WorkdirError::Unreadable { path: asked.to_owned(), what: "a NUL byte" });
    }
    let real = resolve::resolve(path)
        .map_err(|source| WorkdirError::Unresolved { path: asked.to_owned(), source })?;
    if real.to_str().is_none() {
        return Err(WorkdirError::Unreadable { path: asked.to_owned(), what: "bytes that are not text" });
    }
    if !real.is_dir() {
        return Err(WorkdirError::NotADirectory(asked.to_owned()));
    }
    let closed = |reason: String| WorkdirError::Closed { path: asked.to_owned(), reason };
    accessat(CWD, &real, Access::EXEC_OK, AtFlags::EACCESS).map_err(|errno| closed(errno.to_string()))?;
    let held = hold(&real).map_err(|error| closed(error.to_string()))?;
    if held.identity().is_dir { Ok(held) } else { Err(WorkdirError::NotADirectory(asked.to_owned())) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::error::Diagnose as _;

    #[test]
    fn table() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap();
        for name in ["real/sub", "other", "~", "$HOME", "a b;c"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join("file"), "").unwrap();
        symlink("real", root.join("session")).unwrap();
        let session = root.join("session");
        let at =
            |asked: Option<&str>| host_dir(asked, Some(&session), &root).map(|held| held.path().to_owned());
        let absolute = root.join("other").display().to_string();
        for (asked, wanted) in [
            (None, "real"),
            (Some(""), "real"),
            (Some("."), "real"),
            (Some(" sub "), "real/sub"),
            // Relative to the real place, not to the link.
            (Some("../other"), "other"),
            (Some(absolute.as_str()), "other"),
        ] {
            assert_eq!(at(asked).unwrap(), root.join(wanted), "{asked:?}");
        }
        let literal = |asked| host_dir(Some(asked), None, &root).unwrap().path().to_owned();
        for name in ["~", "$HOME", "a b;c"] {
            assert_eq!(literal(name), root.join(name));
        }
        for (asked, wanted) in [
            (" ", "CRL-WORKDIR-001"),
            ("a\0b", "CRL-WORKDIR-002"),
            ("none", "CRL-WORKDIR-005"),
            ("~/x", "CRL-WORKDIR-005"),
            ("../file", "CRL-WORKDIR-005"),
            ("../file/x", "CRL-WORKDIR-004"),
            ("/proc/self/fd/7777", "CRL-WORKDIR-005"),
        ] {
            assert_eq!(at(Some(asked)).unwrap_err().report().code, wanted, "{asked:?}");
        }
    }

    #[test]
    fn a_session_without_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap();
        let gone = root.join("gone");
        for asked in [None, Some("sub")] {
            let error = host_dir(asked, Some(&gone), &root).unwrap_err();
            assert_eq!(error.report().code, "CRL-WORKDIR-006");
            assert!(error.to_string().contains("gone"), "{error}");
        }
        assert!(host_dir(Some(&root.display().to_string()), Some(&gone), &root).is_ok());
    }

    #[test]
    fn what_was_found_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        let held = host_dir(Some("d"), None, &root).unwrap();
        std::fs::rename(root.join("d"), root.join("e")).unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        assert!(!held.still_there());
    }
}
