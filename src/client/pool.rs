//! Pools as the front door sees them: which options they are for, and what fills them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::prepare::Prepare;
use super::{SandboxOptions, assemble};
use crate::error::Failure;
use crate::sandbox::pool::{Slot, leave_wish};
use crate::sandbox::{InitBinary, Layout, SandboxError, SandboxRequest, Sandboxes};

/// Options that a pool is wanted for, without what differs between sessions and without any value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    config: Option<PathBuf>,
    engine: Option<String>,
    agent: String,
    image: Option<String>,
    binds: Vec<String>,
}

impl Wish {
    pub(super) fn of(options: &SandboxOptions, agent: &str) -> Self {
        let SandboxOptions { config, engine, image, binds, .. } = options;
        // Another process reads it, from another directory.
        let config = config.as_ref().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        Self {
            config,
            engine: engine.clone(),
            agent: agent.to_owned(),
            image: image.clone(),
            binds: binds.clone(),
        }
    }

    pub(super) fn leave(&self, layout: &Layout) -> Result<(), SandboxError> {
        let text = serde_json::to_string(self).unwrap_or_default();
        leave_wish(layout, &text)
    }

    /// Reads a wish back; `None` for what another version of creel wrote.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The engine that was named; `None` is the one that is found.
    pub fn engine(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    /// The options, with state directory and variables of `base`.
    #[must_use]
    pub fn options(&self, base: &SandboxOptions) -> SandboxOptions {
        let Self { config, engine, agent, image, binds } = self.clone();
        SandboxOptions {
            config,
            engine,
            agent: Some(agent),
            image,
            binds,
            session: None,
            workspace: None,
            env: Vec::new(),
            ..base.clone()
        }
    }
}

/// A pool that is wanted, and all that fills it.
pub struct Pool {
    pub(super) key: String,
    pub(super) size: usize,
    pub(super) request: SandboxRequest,
    pub(super) init: InitBinary,
    pub(super) meet: Prepare,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("key", &self.key).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Pool {
    /// What its containers have in common.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How many wait.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes the container of one place.
    ///
    /// # Errors
    ///
    /// As opening a sandbox.
    pub async fn fill(&self, sandboxes: &Sandboxes, number: usize) -> Result<(), Failure> {
        let slot = Slot { key: &self.key, number };
        Ok(sandboxes.fill(&self.request, slot, &self.init, &self.meet).await?)
    }
}

impl SandboxOptions {
    /// The pool that such a sandbox draws from; `None` where the configuration wants none.
    ///
    /// # Errors
    ///
    /// As [`SandboxOptions::open`], before a container is made.
    pub async fn pool(&self, sandboxes: &Sandboxes) -> Result<Option<Pool>, Failure> {
        assemble::pool(self, sandboxes).await
    }
}
