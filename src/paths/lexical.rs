//! Rules on the text of a path; nothing here looks at the file system.

use std::path::{Path, PathBuf};

use path_clean::PathClean as _;

/// Resolves `.` and `..`, collapses slashes and strips trailing ones. `..` at the root stays at the root.
pub fn clean(path: impl AsRef<Path>) -> PathBuf {
    path.as_ref().clean()
}

/// The same for a path in a container, which is text.
pub fn clean_text(path: &str) -> String {
    let cleaned = clean(path);
    // Cleaning text only removes bytes between components, so it stays text.
    cleaned.to_string_lossy().into_owned()
}

/// Whether `path` is `root` or lies below it. Whole components: `/workspacex` is not inside `/workspace`.
///
/// Both must be clean.
pub fn inside(root: &Path, path: &Path) -> bool {
    path.starts_with(root)
}

/// Whether a host path is absolute on a host that creel runs on. Drive letters and namespace prefixes are not.
pub fn absolute(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//?/")
}

/// Why text cannot be a path in a mount, where it cannot: the engine, `ls` and a person would each read
/// something else.
pub fn unreadable(path: &str) -> Option<&'static str> {
    if path.chars().any(char::is_control) {
        return Some("a control character");
    }
    if path.trim() != path {
        return Some("white space at its edge");
    }
    None
}

/// `~` and `~/…` with the home directory in front; anything else unchanged.
pub fn expand_home(path: &str, home: Option<&Path>) -> PathBuf {
    let tail = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    match (tail, home) {
        (Some(tail), Some(home)) => home.join(tail),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_follows_the_spec() {
        for (given, wanted) in [
            ("/a//b/./c/", "/a/b/c"),
            ("/..", "/"),
            ("//", "/"),
            ("/a/../../b", "/b"),
            ("/a\\b", "/a\\b"),
            ("//server/share", "/server/share"),
        ] {
            assert_eq!(clean_text(given), wanted, "{given}");
        }
    }

    #[test]
    fn inside_is_by_component() {
        assert!(inside(Path::new("/"), Path::new("/x")));
        assert!(inside(Path::new("/workspace"), Path::new("/workspace")));
        assert!(inside(Path::new("/workspace"), Path::new("/workspace/x")));
        assert!(!inside(Path::new("/workspace"), Path::new("/workspacex")));
    }

    #[test]
    fn home_is_expanded_at_the_front_only() {
        let home = Some(Path::new("/home/u"));
        assert_eq!(expand_home("~", home), Path::new("/home/u"));
        assert_eq!(expand_home("~/x", home), Path::new("/home/u/x"));
        assert_eq!(expand_home("~x", home), Path::new("~x"));
        assert_eq!(expand_home("/a/~/x", home), Path::new("/a/~/x"));
        assert_eq!(expand_home("~/x", None), Path::new("~/x"));
    }
}
