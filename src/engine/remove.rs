//! Removes a container.

use bollard::query_parameters::RemoveContainerOptions;

use super::{ContainerId, Engine, EngineError, EngineKind};

impl Engine {
    /// Removes the container with its anonymous volumes, running or not. One that is gone, or that somebody else is
    /// removing, is not an error.
    pub async fn remove(&self, id: &ContainerId) -> Result<(), EngineError> {
        let what = format!("removal of container {}", id.short());
        if self.facts().kind == EngineKind::Podman {
            // Podman's forced removal sends TERM and waits ten seconds; nothing is lost by killing first.
            match self.kill(id, "KILL").await {
                Ok(()) | Err(EngineError::Refused { .. }) => {}
                Err(EngineError::NotFound { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let options = RemoveContainerOptions { v: true, force: true, link: false };
        let call = self.docker().remove_container(&id.0, Some(options));
        match self.within(&what, self.deadlines().slow, call).await {
            Ok(()) | Err(EngineError::NotFound { .. }) => Ok(()),
            Err(EngineError::Refused { status: 409, message, .. })
                if message.contains("already in progress") =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
