//! Lists containers by label.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::inspect::{Point, mount, status};
use super::{ContainerId, ContainerSummary, Engine, EngineError};

impl Engine {
    /// Every container, running or not, that has all these labels with these values.
    pub async fn list(&self, labels: &[(String, String)]) -> Result<Vec<ContainerSummary>, EngineError> {
        let filters = encode(&serde_json::json!(label_filter(labels)).to_string());
        let path = format!("/containers/json?all=true&filters={filters}");
        let found: Vec<Row> = self.get_json("list of containers", &path).await?;
        Ok(found.into_iter().map(summary).collect())
    }
}

/// What is read of a row of the engine's answer.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    id: String,
    names: Option<Vec<String>>,
    image: Option<String>,
    #[serde(rename = "ImageID")]
    image_id: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    state: String,
    created: Option<i64>,
    mounts: Option<Vec<Point>>,
    ports: Option<Vec<Port>>,
}

/// A port of a row; one that is not published has no public side.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Port {
    #[serde(rename = "IP")]
    address: Option<String>,
    public_port: Option<u16>,
}

/// The engine's filter for labels, all of which must be there.
pub(super) fn label_filter(labels: &[(String, String)]) -> HashMap<String, Vec<String>> {
    if labels.is_empty() {
        return HashMap::new();
    }
    let pairs = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    HashMap::from([("label".to_owned(), pairs)])
}

/// Text as a value in a query: everything but letters and digits is escaped.
pub(super) fn encode(text: &str) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(byte).collect()
}

/// The engine's row in our words.
fn summary(row: Row) -> ContainerSummary {
    let status = status(&row.state);
    let name = row.names.unwrap_or_default().into_iter().next().unwrap_or_default();
    ContainerSummary {
        id: ContainerId(row.id),
        name: name.trim_start_matches('/').to_owned(),
        image: row.image.unwrap_or_default(),
        image_id: row.image_id.unwrap_or_default(),
        labels: row.labels.unwrap_or_default(),
        running: status == "running",
        status,
        created_unix_s: row.created.unwrap_or(0),
        mounts: row.mounts.unwrap_or_default().into_iter().map(mount).collect(),
        published: row.ports.unwrap_or_default().into_iter().filter_map(published).collect(),
    }
}

/// An address that the engine leaves out is every address.
fn published(port: Port) -> Option<String> {
    let address = port.address.filter(|address| !address.is_empty()).unwrap_or_else(|| "0.0.0.0".to_owned());
    port.public_port.map(|number| format!("{address}:{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_ports() {
        let row = |ports: serde_json::Value| {
            let json = serde_json::json!({ "Id": "a", "State": "running", "Ports": ports });
            summary(serde_json::from_value(json).unwrap()).published
        };
        let ports = serde_json::json!([
            { "IP": "127.0.0.1", "PrivatePort": 1, "PublicPort": 2, "Type": "tcp" },
            { "PrivatePort": 3, "Type": "tcp" },
            { "PrivatePort": 3, "PublicPort": 4, "Type": "tcp" },
        ]);
        assert_eq!(row(ports), ["127.0.0.1:2", "0.0.0.0:4"]);
        assert!(row(serde_json::Value::Null).is_empty());
    }

    #[test]
    fn nothing_of_a_label_leaves_its_value() {
        assert_eq!(encode("a&b=1 ü"), "a%26b%3D1%20%C3%BC");
        assert!(label_filter(&[]).is_empty());
    }
}
