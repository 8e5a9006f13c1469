//! Takes a container away that waits, with its workspace and what is kept about it.

use std::collections::BTreeSet;

use super::super::error::SandboxError;
use super::super::request::SandboxName;
use super::super::{Sandboxes, ensure::run_of, labels, lease, lock};
use super::entry::{self, Waiting};
use crate::engine::ContainerFacts;

impl Sandboxes {
    /// The containers that wait, are being made or were left behind.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be read.
    pub fn waiting(&self) -> Result<Vec<Waiting>, SandboxError> {
        entry::all(&self.layout)
    }

    /// Names of this installation's running containers.
    ///
    /// # Errors
    ///
    /// When the engine does not answer.
    pub async fn running(&self) -> Result<BTreeSet<String>, SandboxError> {
        let all = self.containers().await?.into_iter().filter(|one| one.running);
        Ok(all.map(|one| one.name).collect())
    }

    /// Empties a place. One that somebody is just claiming is left to them; false then.
    ///
    /// # Errors
    ///
    /// When the engine does not remove it, or the container there is not ours.
    pub async fn drain(&self, name: &SandboxName) -> Result<bool, SandboxError> {
        let Some(_lock) = lock::try_exclusive(&self.layout, name)? else { return Ok(false) };
        if lease::count(&self.layout, name)? > 0 {
            return Ok(false);
        }
        self.empty(name).await?;
        Ok(true)
    }

    /// Call it under the lock of the place.
    pub(in crate::sandbox) async fn empty(&self, name: &SandboxName) -> Result<(), SandboxError> {
        if let Some(facts) = self.engine.inspect(name.as_str()).await? {
            self.own(&facts)?;
            if !waits(&facts) {
                return Ok(());
            }
            self.engine.remove(&facts.id).await?;
            self.layout.forget(name, run_of(&facts.labels).as_ref())?;
        } else {
            self.forget_removed(name).await?;
        }
        self.forget_place(name)
    }

    /// Removes the entry of a place and the workspace that was made for it. Call it when no container mounts that.
    pub(in crate::sandbox) fn forget_place(&self, name: &SandboxName) -> Result<(), SandboxError> {
        let Some(waiting) = entry::one(&self.layout, name) else { return Ok(()) };
        if let Some(dir) = &waiting.workspace {
            match std::fs::remove_dir_all(dir) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(SandboxError::io(dir, "remove")(error));
                }
                _ => {}
            }
        }
        entry::remove(&self.layout, name)
    }
}

/// It was made for a pool.
pub(in crate::sandbox) fn waits(facts: &ContainerFacts) -> bool {
    facts.labels.contains_key(labels::POOL)
}
