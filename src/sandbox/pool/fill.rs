//! Makes a container that waits, by the same steps as any other: made, started, met, proven, set up.

use std::path::Path;

use super::super::error::SandboxError;
use super::super::init_binary::InitBinary;
use super::super::meet::Meet;
use super::super::request::{PoolRole, SandboxRequest};
use super::super::spec::{self, Context};
use super::super::{Sandboxes, identities, lock, preview};
use super::entry::{self, Slot};
use crate::engine::{EngineError, ImageFacts};

/// Where creel makes the workspaces of such sandboxes; `None` where the workspace is somebody's own directory.
pub(super) fn root(request: &SandboxRequest) -> Option<&Path> {
    request.workspace.owned_by_creel.then(|| request.workspace.dir.parent()).flatten()
}

impl Sandboxes {
    /// The key of the pool that such a sandbox draws from; `None` for one that stays apart.
    ///
    /// # Errors
    ///
    /// When the engine does not answer or the image is missing.
    pub async fn pool_key(
        &self,
        request: &SandboxRequest,
        init: &InitBinary,
    ) -> Result<Option<String>, SandboxError> {
        let image = self.engine.image(&request.image).await?;
        let image = image.ok_or_else(|| EngineError::ImageMissing { image: request.image.clone() })?;
        self.key_with(request, init, &image).await
    }

    /// The same for an image that was looked up.
    pub(super) async fn key_with(
        &self,
        request: &SandboxRequest,
        init: &InitBinary,
        image: &ImageFacts,
    ) -> Result<Option<String>, SandboxError> {
        let PoolRole::Draws { context } = &request.pool else { return Ok(None) };
        let nonce = self.place().await?.is_container();
        let root = root(request);
        let mut identities = identities(request);
        if root.is_none() {
            let Ok(held) = super::super::workspace::identity(&request.workspace.dir) else { return Ok(None) };
            identities.insert(request.workspace.target.clone(), held);
        }
        let user = preview::user(request, self.rootless());
        let inputs =
            spec::inputs(request, &Context { image, init, user: &user, identities: &identities, nonce });
        Ok(Some(inputs.pool_key(root.map(|root| root.to_string_lossy()).as_deref(), context)))
    }

    /// Fills a place: whatever is left there is taken away first.
    ///
    /// # Errors
    ///
    /// As [`Sandboxes::ensure`]; nothing of it stays then but its entry.
    pub async fn fill<M: Meet>(
        &self,
        request: &SandboxRequest,
        slot: Slot<'_>,
        init: &InitBinary,
        meet: &M,
    ) -> Result<(), SandboxError> {
        let name = slot.name(&self.installation)?;
        let mut member = request.clone();
        member.name = name.clone();
        member.pool = PoolRole::Waits { key: slot.key.to_owned() };
        if let Some(root) = root(request) {
            member.workspace.dir = entry::workspace(root, &name);
        }
        self.drain(&name).await?;
        let own = member.workspace.owned_by_creel.then_some(member.workspace.dir.as_path());
        {
            let _lock = lock::exclusive(&self.layout, &name, lock::PATIENCE).await?;
            entry::store(&self.layout, &name, slot.key, own)?;
        }
        // Boxed: the future holds a whole plan, and `claim` inside it is never taken for a member.
        let ready = Box::pin(self.ensure(&member, init, meet)).await?;
        drop(ready);
        Ok(())
    }
}
