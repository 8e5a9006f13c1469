//! Ends a container's first process.

use std::time::Duration;

use bollard::query_parameters::{KillContainerOptions, StopContainerOptions};

use super::{ContainerId, Engine, EngineError};

impl Engine {
    /// Sends a signal (`KILL`, `SIGTERM`) to PID 1. A container that does not run is not an error.
    pub async fn kill(&self, id: &ContainerId, signal: &str) -> Result<(), EngineError> {
        let what = format!("kill of container {}", id.short());
        let options = KillContainerOptions { signal: signal.to_owned() };
        let call = self.docker().kill_container(&id.0, Some(options));
        match self.within(&what, self.deadlines().slow, call).await {
            // Docker says 409, Podman 409 or 500 with the container's state.
            Err(EngineError::Refused { status: 409 | 500, message, .. }) if not_running(&message) => Ok(()),
            other => other,
        }
    }

    /// Sends the stop signal, and KILL after `grace_s` seconds. A container that does not run is not an error.
    pub async fn stop(&self, id: &ContainerId, grace_s: u32) -> Result<(), EngineError> {
        let what = format!("stop of container {}", id.short());
        let options = StopContainerOptions { t: i32::try_from(grace_s).ok(), ..Default::default() };
        let limit = self.deadlines().slow + Duration::from_secs(u64::from(grace_s));
        self.within(&what, limit, self.docker().stop_container(&id.0, Some(options))).await
    }
}

/// The engine's words for a container whose PID 1 has ended or never started.
fn not_running(message: &str) -> bool {
    message.contains("is not running") || message.contains("can only kill running containers")
}
