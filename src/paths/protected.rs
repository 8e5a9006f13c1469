//! Directories of a workspace that its sandbox must not change (spec `sandbox.md` §4.4): instructions that the agent
//! will obey. A guest that could rewrite them would give orders to the next session.

use std::path::{Path, PathBuf};

use super::{lexical, resolve};

/// Below the workspace, on the host and in the container.
const DIRS: [&str; 2] = ["skills", ".agents/skills"];

/// Where the skills appear that the agent host lays out, below the workspace.
const LAID_OUT: &str = ".openclaw/sandbox-skills/skills";

/// A directory that is mounted over itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// On the host, resolved.
    pub source: PathBuf,
    /// In the container.
    pub target: String,
}

/// Those that exist in the workspace `root`, which appears at `workdir`. A link is no such directory, and neither is
/// what leads out of the workspace.
pub fn protected(root: &Path, workdir: &str) -> Vec<Protected> {
    let one = |dir: &&str| Some(Protected { source: below(root, dir)?, target: format!("{workdir}/{dir}") });
    DIRS.iter().filter_map(one).collect()
}

/// The directory `dir` below `root`, resolved: a real one that is inside.
pub fn below(root: &Path, dir: &str) -> Option<PathBuf> {
    let path = root.join(dir);
    if !std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let (root, source) = (resolve::resolve(root).ok()?, resolve::resolve(&path).ok()?);
    lexical::inside(&root, &source).then_some(source)
}

/// The directories between the workspace `root`, which appears at `workdir`, and a protected target below it: where one
/// could be renamed, another would take its place with everything in it. Those that exist, from above.
pub fn ways(root: &Path, workdir: &str, target: &str) -> Vec<Protected> {
    let Some(dir) = target.strip_prefix(workdir).and_then(|rest| rest.strip_prefix('/')) else {
        return Vec::new();
    };
    let one = |way: &str| Some(Protected { source: below(root, way)?, target: format!("{workdir}/{way}") });
    ways_of(dir).into_iter().filter_map(one).collect()
}

/// The parents of a relative path, from above.
fn ways_of(dir: &str) -> Vec<&str> {
    dir.match_indices('/').filter_map(|(at, _)| dir.get(..at)).collect()
}

/// Where the skills appear that the agent host lays out beside a workspace (spec `sandbox.md` §4.4).
pub fn laid_out(workdir: &str) -> String {
    format!("{workdir}/{LAID_OUT}")
}

/// Whether a mount shows this directory of the workspace at its own place.
fn is_own(mount: (&str, &str), workspace: (&str, &str), dir: &str) -> bool {
    mount.0 == format!("{}/{dir}", workspace.0) && mount.1 == format!("{}/{dir}", workspace.1)
}

/// Whether a mount is one of those of the workspace mounted from `source` at `workdir`.
pub fn is_protected(mount: (&str, &str), workspace: (&str, &str)) -> bool {
    DIRS.iter().any(|dir| is_own(mount, workspace, dir))
}

/// The same for the directories on the way to one.
pub fn is_way(mount: (&str, &str), workspace: (&str, &str)) -> bool {
    let all = DIRS.iter().chain([&LAID_OUT]);
    all.flat_map(|dir| ways_of(dir)).any(|way| is_own(mount, workspace, way))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_directories_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap();
        assert!(protected(&root, "/w").is_empty());
        std::fs::create_dir(root.join("other")).unwrap();
        std::os::unix::fs::symlink(root.join("other"), root.join("skills")).unwrap();
        assert!(protected(&root, "/w").is_empty(), "a link");
        std::fs::create_dir_all(root.join("ws/.agents/skills")).unwrap();
        std::fs::create_dir(root.join("ws/skills")).unwrap();
        let found = protected(&root.join("ws"), "/w");
        let targets: Vec<&str> = found.iter().map(|one| one.target.as_str()).collect();
        assert_eq!(targets, ["/w/skills", "/w/.agents/skills"]);
        std::fs::create_dir(root.join("ws2")).unwrap();
        std::os::unix::fs::symlink(root.join("ws/.agents"), root.join("ws2/.agents")).unwrap();
        assert!(protected(&root.join("ws2"), "/w").is_empty(), "leads out");
    }

    #[test]
    fn told_apart_from_other_mounts() {
        assert!(is_protected(("/ws/skills", "/w/skills"), ("/ws", "/w")));
        assert!(!is_protected(("/other/skills", "/w/skills"), ("/ws", "/w")));
        assert!(is_way(("/ws/.agents", "/w/.agents"), ("/ws", "/w")));
        assert!(is_way(("/ws/.openclaw/sandbox-skills", "/w/.openclaw/sandbox-skills"), ("/ws", "/w")));
        assert!(!is_way(("/ws/skills", "/w/skills"), ("/ws", "/w")));
    }

    #[test]
    fn the_way_is_every_directory_between() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve::resolve(dir.path()).unwrap();
        let found = |target: &str| -> Vec<String> {
            ways(&root, "/w", target).into_iter().map(|one| one.target).collect()
        };
        assert!(found("/w/a/b/c").is_empty());
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(found("/w/a/b/c"), ["/w/a", "/w/a/b"]);
        for none in ["/w/a", "/wa/b", "/x/a/b"] {
            assert!(found(none).is_empty(), "{none}");
        }
    }
}
