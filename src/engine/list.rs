//! Lists containers by label.

use std::collections::HashMap;

use bollard::models::ContainerSummary as EngineSummary;
use bollard::query_parameters::ListContainersOptions;

use super::inspect::mount;
use super::{ContainerId, ContainerSummary, Engine, EngineError};

impl Engine {
    /// Every container, running or not, that has all these labels with these values.
    pub async fn list(&self, labels: &[(String, String)]) -> Result<Vec<ContainerSummary>, EngineError> {
        let options = ListContainersOptions {
            all: true,
            filters: Some(label_filter(labels)),
            ..ListContainersOptions::default()
        };
        let call = self.docker().list_containers(Some(options));
        let found = self.within("list of containers", self.deadlines().quick, call).await?;
        Ok(found.into_iter().map(summary).collect())
    }
}

/// The engine's filter for labels, all of which must be there.
pub(super) fn label_filter(labels: &[(String, String)]) -> HashMap<String, Vec<String>> {
    if labels.is_empty() {
        return HashMap::new();
    }
    let pairs = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    HashMap::from([("label".to_owned(), pairs)])
}

/// The engine's row in our words.
fn summary(row: EngineSummary) -> ContainerSummary {
    let status = row.state.map(|state| state.to_string()).unwrap_or_default();
    let name = row.names.unwrap_or_default().into_iter().next().unwrap_or_default();
    ContainerSummary {
        id: ContainerId(row.id.unwrap_or_default()),
        name: name.trim_start_matches('/').to_owned(),
        image: row.image.unwrap_or_default(),
        image_id: row.image_id.unwrap_or_default(),
        labels: row.labels.unwrap_or_default().into_iter().collect(),
        running: status == "running",
        status,
        created_unix_s: row.created.unwrap_or(0),
        mounts: row.mounts.unwrap_or_default().into_iter().map(mount).collect(),
    }
}
