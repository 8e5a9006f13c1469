//! Starts a container.

use super::{ContainerId, Engine, EngineError};

/// Lines of the log that a failed start reports.
const LOG_LINES: u32 = 20;

impl Engine {
    /// Starts the container's first process. A container that runs already is left alone.
    ///
    /// # Errors
    ///
    /// [`EngineError::StartFailed`] with the engine's reason and the end of the log; [`EngineError::NotFound`].
    pub async fn start(&self, id: &ContainerId) -> Result<(), EngineError> {
        let what = format!("start of container {}", id.short());
        let call = self.docker().start_container(&id.0, None);
        match self.within(&what, self.deadlines().slow, call).await {
            Err(EngineError::Refused { status, message, .. }) if status != 403 => {
                let log_tail = self.log_tail(id, LOG_LINES).await.unwrap_or_default();
                Err(EngineError::StartFailed { id: id.short().to_owned(), reason: message, log_tail })
            }
            other => other,
        }
    }
}
