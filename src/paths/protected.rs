//! Directories of a workspace that its sandbox must not change (spec `sandbox.md` §4.4): instructions that the agent
//! will obey. A guest that could rewrite them would give orders to the next session.

use std::path::{Path, PathBuf};

use super::{lexical, resolve};

/// Below the workspace, on the host and in the container.
const DIRS: [&str; 2] = ["skills", ".agents/skills"];

/// A directory that is mounted read-only over itself.
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

/// Where the skills appear that the agent host lays out beside a workspace (spec `sandbox.md` §4.4).
pub fn laid_out(workdir: &str) -> String {
    format!("{workdir}/.openclaw/sandbox-skills/skills")
}

/// Whether a mount is one of those of the workspace mounted from `source` at `workdir`.
pub fn is_protected(mount: (&str, &str), workspace: (&str, &str)) -> bool {
    DIRS.iter()
        .any(|dir| mount.0 == format!("{}/{dir}", workspace.0) && mount.1 == format!("{}/{dir}", workspace.1))
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
    }
}
