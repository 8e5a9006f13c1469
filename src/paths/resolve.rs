//! The one resolver: where a path leads, through its deepest existing ancestor.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::lexical;

/// Why a path leads nowhere that can be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A symbolic link on the way points at nothing. What it will point at later cannot be judged now.
    #[error("{0} is a symbolic link whose target does not exist")]
    Dangling(PathBuf),
    /// Links on the way lead in a circle.
    #[error("{0} is a loop of symbolic links")]
    Loop(PathBuf),
    /// The operating system refuses to say.
    #[error("{path} cannot be resolved: {reason}")]
    Unresolvable {
        /// The path concerned.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
}

/// Resolves every link in `path`, which must be absolute.
///
/// Where the end of the path does not exist yet, the deepest ancestor that exists is resolved and the rest is
/// appended as written (spec `sandbox.md` §6.2). A link that leads to nothing is an error: upstream takes it
/// for a missing leaf, and whoever makes its target later chooses what gets mounted.
pub fn resolve(path: &Path) -> Result<PathBuf, ResolveError> {
    let clean = lexical::clean(path);
    let mut tail: Vec<OsString> = Vec::new();
    let mut head = clean.clone();
    loop {
        match real_path(&head) {
            Ok(mut real) => {
                real.extend(tail.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => must_be_absent(&head)?,
            Err(error) => return Err(classify(&head, &error)),
        }
        let Some(name) = head.file_name() else { return Err(no_ancestor(&clean)) };
        tail.push(name.to_owned());
        if !head.pop() {
            return Err(no_ancestor(&clean));
        }
    }
}

/// The only call of `canonicalize` in the house.
#[expect(clippy::disallowed_methods, reason = "this is the one resolver that the rule names")]
fn real_path(path: &Path) -> std::io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// `path` did not resolve because something is missing: fine if it is `path` itself, not if it is a link.
fn must_be_absent(path: &Path) -> Result<(), ResolveError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(ResolveError::Dangling(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(classify(path, &error)),
    }
}

fn classify(path: &Path, error: &std::io::Error) -> ResolveError {
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return ResolveError::Loop(path.to_owned());
    }
    ResolveError::Unresolvable { path: path.to_owned(), reason: error.to_string() }
}

fn no_ancestor(path: &Path) -> ResolveError {
    ResolveError::Unresolvable { path: path.to_owned(), reason: "no ancestor exists".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn through_the_deepest_existing_ancestor() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        assert_eq!(resolve(&root.join("link/new/deep")).unwrap(), root.join("real/new/deep"));
        assert_eq!(resolve(&root.join("missing")).unwrap(), root.join("missing"));
        assert_eq!(resolve(Path::new("/")).unwrap(), Path::new("/"));
    }

    #[test]
    fn links_that_lead_nowhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        symlink("nope", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        assert_eq!(resolve(&root.join("dangling")), Err(ResolveError::Dangling(root.join("dangling"))));
        assert_eq!(resolve(&root.join("dangling/x/y")), Err(ResolveError::Dangling(root.join("dangling"))));
        assert!(matches!(resolve(&root.join("loop")), Err(ResolveError::Loop(_))));
        assert!(matches!(resolve(&root.join("file/x")), Err(ResolveError::Unresolvable { .. })));
        assert!(matches!(resolve(Path::new("/a\0b")), Err(ResolveError::Unresolvable { .. })));
        assert!(matches!(resolve(Path::new("relative/none")), Err(ResolveError::Unresolvable { .. })));
    }
}
