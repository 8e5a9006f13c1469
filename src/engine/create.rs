//! Makes a container, without starting it.

use bollard::query_parameters::CreateContainerOptions;
use rustix::process::{Resource, getrlimit};

use super::classify::create_refused;
use super::{ContainerId, ContainerSpec, Engine, EngineError, EngineKind, Mount, Ulimit, name, translate};

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
        let podman = self.facts().kind == EngineKind::Podman;
        if podman && self.facts().local {
            sources_exist(&spec.mounts)?;
        }
        let defaults = if podman { own_rlimits() } else { Vec::new() };
        let body = translate::create_body(spec.clone(), defaults)?;
        let options = CreateContainerOptions { name: Some(spec.name.clone()), ..Default::default() };
        let call = self.docker().create_container(Some(options), body);
        match self.within(&what, self.deadlines().slow, call).await {
            Ok(made) => Ok(ContainerId(made.id)),
            Err(error) => Err(create_refused(error, &spec.name, &spec.image)),
        }
    }
}

/// Podman makes a missing source as a directory of root, where Docker refuses it.
fn sources_exist(mounts: &[Mount]) -> Result<(), EngineError> {
    match mounts.iter().find(|mount| std::fs::symlink_metadata(&mount.source).is_err()) {
        None => Ok(()),
        Some(mount) => Err(EngineError::BadValue {
            what: "source of a bind mount",
            value: mount.source.clone(),
            reason: "it does not exist, or creel may not look at it",
        }),
    }
}

/// Podman asks for high defaults of its own where one of these is not given, which fails where its hard limits are
/// lower. A local engine can grant what this process may have; Podman 4 lowers its own limit of processes to 32768,
/// whatever it was started with.
fn own_rlimits() -> Vec<Ulimit> {
    let all = [("nofile", Resource::Nofile, 1 << 20), ("nproc", Resource::Nproc, 1 << 15)];
    all.into_iter()
        .map(|(name, resource, most)| {
            let limit =
                |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok()).unwrap_or(most);
            let own = getrlimit(resource);
            let hard = limit(own.maximum).min(most);
            Ulimit { name: name.to_owned(), soft: limit(own.current).min(hard), hard }
        })
        .collect()
}
