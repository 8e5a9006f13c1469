//! The tree of files that a file of vectors asks for, and the textual placeholders.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A tree on disk, removed when dropped.
#[derive(Debug)]
pub(crate) struct Fixture {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Fixture {
    /// Makes the tree of `file["fixture"]`, below `/tmp` as the recordings assume, at a path without links.
    pub(crate) fn new(file: &Value) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-vectors-").tempdir_in("/tmp").unwrap();
        let root = creel::paths::resolve::resolve(dir.path()).unwrap();
        for entry in file["fixture"].as_array().map_or(&[][..], Vec::as_slice) {
            make(&root, entry);
        }
        Self { _dir: dir, root }
    }

    /// The root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A value with `${ROOT}` filled in, everywhere.
    pub(crate) fn fill(&self, value: &Value) -> Value {
        let text = value.to_string().replace("${ROOT}", &self.root.display().to_string());
        serde_json::from_str(&text).unwrap()
    }
}

fn make(root: &Path, entry: &Value) {
    let path = root.join(entry["path"].as_str().unwrap());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match entry["type"].as_str().unwrap() {
        "dir" => std::fs::create_dir_all(&path).unwrap(),
        "file" => std::fs::write(&path, entry["content"].as_str().unwrap_or_default()).unwrap(),
        "symlink" => return symlink(entry["target"].as_str().unwrap(), &path).unwrap(),
        other => panic!("unknown type of fixture {other}"),
    }
    let mode = entry["mode"].as_str().map_or(0o755, |mode| u32::from_str_radix(mode, 8).unwrap());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}
