//! Makes a container, without starting it.

use bollard::query_parameters::CreateContainerOptions;
use rustix::process::{Resource, getrlimit};

use super::classify::create_refused;
use super::{ContainerId, ContainerSpec, Engine, EngineError, EngineKind, Ulimit, name, translate};

impl Engine {
    /// Makes the container. Nothing of it runs yet.
    ///
    /// # Errors
    ///
    /// [`EngineError::ImageMissing`], [`EngineError::NameConflict`], and [`EngineError::Refused`] where the engine
    /// does not accept an option (a bind mount's missing source among them).
    pub async fn create(&self, spec: &ContainerSpec) -> Result<ContainerId, EngineError> {
        let what = format!("create of container {}", spec.name);
        name::container(&spec.name)?;
        name::image(&spec.image)?;
        let defaults = if self.facts().kind == EngineKind::Podman { own_rlimits() } else { Vec::new() };
        let body = translate::create_body(spec.clone(), defaults)?;
        let options = CreateContainerOptions { name: Some(spec.name.clone()), ..Default::default() };
        let call = self.docker().create_container(Some(options), body);
        match self.within(&what, self.deadlines().slow, call).await {
            Ok(made) => Ok(ContainerId(made.id)),
            Err(error) => Err(create_refused(error, &spec.name, &spec.image)),
        }
    }
}

/// Podman asks for its own high defaults where none are given, which fails where its hard limits are lower. A local
/// engine can grant what this process may have.
fn own_rlimits() -> Vec<Ulimit> {
    let all = [("nofile", Resource::Nofile), ("nproc", Resource::Nproc)];
    all.into_iter()
        .map(|(name, resource)| {
            let limit = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok()).unwrap_or(-1);
            let own = getrlimit(resource);
            Ulimit { name: name.to_owned(), soft: limit(own.current), hard: limit(own.maximum) }
        })
        .collect()
}
