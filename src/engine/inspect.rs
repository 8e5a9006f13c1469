//! Looks at one container.

use bollard::models::{ContainerInspectResponse, MountPoint};

use super::{ContainerFacts, ContainerId, Engine, EngineError, Mount, name};

impl Engine {
    /// The container of this name or id, `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`EngineError::BadValue`] for what cannot be a name.
    pub async fn inspect(&self, name_or_id: &str) -> Result<Option<ContainerFacts>, EngineError> {
        let what = format!("inspect of container {name_or_id}");
        let call = self.docker().inspect_container(name::container(name_or_id)?, None);
        match self.within(&what, self.deadlines().quick, call).await {
            Ok(response) => Ok(Some(facts(response))),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The engine's answer in our words.
fn facts(response: ContainerInspectResponse) -> ContainerFacts {
    let state = response.state.unwrap_or_default();
    let status = state.status.map(|status| status.to_string()).unwrap_or_default();
    let running = status == "running";
    let ended = matches!(status.as_str(), "exited" | "dead");
    ContainerFacts {
        id: ContainerId(response.id.unwrap_or_default()),
        name: response.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        image_id: response.image.unwrap_or_default(),
        labels: response.config.and_then(|config| config.labels).unwrap_or_default().into_iter().collect(),
        running,
        pid: state.pid.filter(|_| running).and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0),
        started_at: state.started_at.unwrap_or_default(),
        exit_code: state.exit_code.filter(|_| ended),
        oom_killed: state.oom_killed.unwrap_or(false),
        error: state.error.unwrap_or_default(),
        mounts: response.mounts.unwrap_or_default().into_iter().map(mount).collect(),
        status,
    }
}

/// A mount as the engine reports it.
pub(super) fn mount(point: MountPoint) -> Mount {
    Mount {
        source: point.source.unwrap_or_default(),
        target: point.destination.unwrap_or_default(),
        read_only: !point.rw.unwrap_or(true),
    }
}
