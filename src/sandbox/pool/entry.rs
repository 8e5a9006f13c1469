//! What is kept about a container that waits: `pool/<name>.json`. It is written before anything is made, so that
//! whatever was made can be found.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::error::SandboxError;
use super::super::files::{Layout, replace};
use super::super::record::Record;
use super::super::request::SandboxName;
use crate::state::InstallationId;

/// What the names of containers in pools begin with.
const PREFIX: &str = "creel-pool-";
/// What the names of their workspaces begin with; a dot, because they are nobody's yet.
const WORKSPACE_PREFIX: &str = ".pool-";
/// Digits of a pool's key that its names carry.
const DIGITS: usize = 16;

/// A place in a pool. Places are used again, so that the files kept by name stay few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot<'a> {
    /// The pool's key.
    pub key: &'a str,
    /// Which place, from 0.
    pub number: usize,
}

impl Slot<'_> {
    /// Whether this is the place of something that waits.
    pub fn holds(&self, waiting: &Waiting) -> bool {
        let key = self.key.get(..DIGITS).unwrap_or(self.key);
        let start = format!("{PREFIX}{key}-{}-", self.number);
        self.key == waiting.key && waiting.name.as_str().starts_with(&start)
    }

    /// The name of the container that waits there.
    pub(in crate::sandbox) fn name(
        &self,
        installation: &InstallationId,
    ) -> Result<SandboxName, SandboxError> {
        let key = self.key.get(..DIGITS).unwrap_or(self.key);
        SandboxName::parse(&format!("{PREFIX}{key}-{}-{}", self.number, installation.short()))
    }
}

/// A place that is taken: its container waits, is being made, or was left by a creel that died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The container's name.
    pub name: SandboxName,
    /// The pool's key.
    pub key: String,
    /// A session can have it now, as far as the files tell.
    pub ready: bool,
    pub(super) workspace: Option<PathBuf>,
}

#[cfg(test)]
impl Waiting {
    /// One for tests of what decides over it.
    pub(crate) fn of(name: SandboxName, key: &str, ready: bool) -> Self {
        Self { name, key: key.to_owned(), ready, workspace: None }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    key: String,
    workspace: Option<PathBuf>,
}

/// The directory that a container in a pool works in, beside the sandboxes' own.
pub(super) fn workspace(root: &Path, name: &SandboxName) -> PathBuf {
    root.join(format!("{WORKSPACE_PREFIX}{name}"))
}

/// All places that are taken, by name, for inspection: writes nothing where there is no state yet.
pub fn waiting(layout: &Layout) -> Vec<Waiting> {
    let there = layout.state().root().join("creel/pool").is_dir();
    if there { all(layout).unwrap_or_default() } else { Vec::new() }
}

/// All places that are taken, by name.
pub(in crate::sandbox) fn all(layout: &Layout) -> Result<Vec<Waiting>, SandboxError> {
    let dir = layout.pool()?;
    let entries = std::fs::read_dir(&dir).map_err(SandboxError::io(&dir, "list"))?;
    let names = entries.flatten().filter_map(|entry| {
        let file = entry.file_name();
        SandboxName::parse(file.to_str()?.strip_suffix(".json")?).ok()
    });
    let mut all: Vec<Waiting> = names.filter_map(|name| one(layout, &name)).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// One by its name. An entry that cannot be read keeps its name: it can still be taken away.
pub(super) fn one(layout: &Layout, name: &SandboxName) -> Option<Waiting> {
    let text = std::fs::read(path(layout, name).ok()?).ok()?;
    let File { key, workspace } =
        serde_json::from_slice(&text).unwrap_or(File { key: String::new(), workspace: None });
    // What is removed with the entry is a pool's workspace and nothing else.
    let made = |path: &PathBuf| {
        path.file_name().is_some_and(|file| file.to_str() == Some(&format!("{WORKSPACE_PREFIX}{name}")))
    };
    let ready = Record::load(layout, name).is_some();
    Some(Waiting { name: name.clone(), key, ready, workspace: workspace.filter(made) })
}

/// Writes an entry.
pub(super) fn store(
    layout: &Layout,
    name: &SandboxName,
    key: &str,
    workspace: Option<&Path>,
) -> Result<(), SandboxError> {
    let path = path(layout, name)?;
    let file = File { key: key.to_owned(), workspace: workspace.map(Path::to_owned) };
    let bytes = serde_json::to_vec(&file)
        .map_err(|error| SandboxError::io(&path, "encode")(std::io::Error::other(error)))?;
    replace(&path, &bytes)
}

/// Removes an entry; one that is gone already is fine.
pub(super) fn remove(layout: &Layout, name: &SandboxName) -> Result<(), SandboxError> {
    let path = path(layout, name)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SandboxError::io(path, "remove")(error))
        }
        _ => Ok(()),
    }
}

fn path(layout: &Layout, name: &SandboxName) -> Result<PathBuf, SandboxError> {
    Ok(layout.pool()?.join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    #[test]
    fn an_entry_names_nothing_but_a_workspace_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("s"));
        let layout = Layout::new(&state);
        let slot = Slot { key: &"a".repeat(64), number: 3 };
        let name = slot.name(&state.installation().unwrap()).unwrap();
        assert!(name.as_str().starts_with("creel-pool-aaaaaaaaaaaaaaaa-3-"));
        let own = workspace(Path::new("/r"), &name);
        store(&layout, &name, slot.key, Some(&own)).unwrap();
        let found = all(&layout).unwrap();
        assert_eq!(
            found,
            [Waiting { name: name.clone(), key: "a".repeat(64), ready: false, workspace: Some(own) }]
        );
        store(&layout, &name, slot.key, Some(Path::new("/etc"))).unwrap();
        assert_eq!(one(&layout, &name).unwrap().workspace, None);
        std::fs::write(path(&layout, &name).unwrap(), "{").unwrap();
        assert_eq!(one(&layout, &name).unwrap().key, "");
        remove(&layout, &name).unwrap();
        remove(&layout, &name).unwrap();
        assert!(all(&layout).unwrap().is_empty());
    }
}
