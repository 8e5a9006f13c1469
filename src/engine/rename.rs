//! Renames a container.

use bollard::query_parameters::RenameContainerOptions;

use super::classify::create_refused;
use super::{ContainerId, Engine, EngineError, name};

impl Engine {
    /// Gives the container another name.
    ///
    /// # Errors
    ///
    /// [`EngineError::NameConflict`] where another container has it.
    pub async fn rename(&self, id: &ContainerId, new: &str) -> Result<(), EngineError> {
        let what = format!("rename of container {}", id.short());
        let options = RenameContainerOptions { name: name::container(new)?.to_owned() };
        let call = self.docker().rename_container(&id.0, options);
        let result = self.within(&what, self.deadlines().quick, call).await;
        result.map_err(|error| create_refused(error, new, ""))
    }
}
