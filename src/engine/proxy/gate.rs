//! Whose container a call is about: asked of the engine with every call, because names change hands.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::pins::Pins;
use super::{CLIENT_LABEL, Denial, Rules, forms};
use crate::engine::http::{self, HttpError};
use crate::engine::{Endpoint, EngineFacts};
use crate::sandbox::labels;

/// Why a call did not get through.
#[derive(Debug)]
pub(super) enum Failed {
    /// It is not let through.
    Denied(Denial),
    /// Too many others are served.
    Busy,
    /// The engine's own answer to a question about it.
    Answered(u16, String),
    /// The engine cannot be asked.
    Engine(String),
}

impl From<Denial> for Failed {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl From<HttpError> for Failed {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Connect(error) => Self::Engine(error.to_string()),
            HttpError::Broken(reason) => Self::Engine(reason),
        }
    }
}

/// Whose a container is.
#[derive(Debug)]
pub(super) enum Owner {
    /// A sandbox of the installation.
    Ours(Ours),
    /// A container in which creel runs, with what it may know of itself.
    Client(Value),
}

/// A sandbox of the installation.
#[derive(Debug)]
pub(super) struct Ours {
    /// Its full id.
    pub(super) id: String,
    /// What it mounts, `None` where that is not what the proxy lets through.
    pub(super) sources: Option<Vec<PathBuf>>,
}

/// The engine, and who may ask it what.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) upstream: Endpoint,
    /// The version of the engine's API in which it is spoken to, such as `1.41`: creel's own, for every call.
    version: String,
    pub(super) rules: Rules,
    /// Where sources are pinned, if they are.
    pub(super) pins: Option<Pins>,
    installation: OnceLock<String>,
}

impl Gate {
    pub(super) fn new(facts: &EngineFacts, rules: Rules, pins: Option<Pins>) -> Self {
        let EngineFacts { endpoint, api_version, .. } = facts;
        Self {
            upstream: endpoint.clone(),
            version: api_version.clone(),
            rules,
            pins,
            installation: OnceLock::new(),
        }
    }

    /// A path with the version before it.
    pub(super) fn versioned(&self, path: &str) -> String {
        format!("/v{}{path}", self.version)
    }

    /// The installation. Its id is read when it is needed first, and then stays: who can change the file later does not
    /// get at another installation's containers.
    pub(super) fn installation(&self) -> Result<&str, Denial> {
        if let Some(known) = self.installation.get() {
            return Ok(known);
        }
        let id = self.rules.state.known_installation().ok_or_else(|| {
            let place = self.rules.state.root().join("creel/installation");
            Denial::new(format!("{} holds no installation yet, or cannot be read", place.display()))
        })?;
        Ok(self.installation.get_or_init(|| id.as_str().to_owned()))
    }

    /// Finds out whose a container is; refuses all others. The engine takes a name, an id or the beginning of one, and
    /// answers with the id that this call goes on with.
    pub(super) async fn owner(&self, name: &str) -> Result<Owner, Failed> {
        let answer = self.ask(&format!("/containers/{name}/json")).await?;
        let label = |label: &str| answer.pointer(&format!("/Config/Labels/{label}")).and_then(Value::as_str);
        let id = answer.get("Id").and_then(Value::as_str);
        let whole = |id: &&str| forms::full_id(id);
        if label(labels::INSTALLATION) == Some(self.installation()?)
            && let Some(id) = id.filter(whole)
        {
            return Ok(Owner::Ours(Ours {
                id: id.to_owned(),
                sources: sources(&answer, self.rules.mounted_from()),
            }));
        }
        if label(CLIENT_LABEL).is_some() {
            return Ok(Owner::Client(reduced(&answer)));
        }
        Err(Denial::new(format!("container {name} is not a sandbox of this installation")).into())
    }

    /// The full id of one of our containers.
    pub(super) async fn ours(&self, name: &str) -> Result<String, Failed> {
        match self.owner(name).await? {
            Owner::Ours(ours) => Ok(ours.id),
            Owner::Client(_) => Err(Denial::new(format!("container {name} is creel's own")).into()),
        }
    }

    /// The full id of a command in one of our containers.
    pub(super) async fn our_exec(&self, exec: &str) -> Result<String, Failed> {
        let answer = self.ask(&format!("/exec/{exec}/json")).await?;
        let id = |key: &str| answer.get(key).and_then(Value::as_str).filter(|id| forms::full_id(id));
        let (Some(exec), Some(container)) = (id("ID"), id("ContainerID")) else {
            return Err(Failed::Engine("the engine names no container".to_owned()));
        };
        self.ours(container).await?;
        Ok(exec.to_owned())
    }

    async fn ask(&self, path: &str) -> Result<Value, Failed> {
        let answer = http::get(&self.upstream, &self.versioned(path)).await?;
        if !answer.status.is_success() {
            return Err(Failed::Answered(answer.status.as_u16(), answer.message()));
        }
        serde_json::from_slice(&answer.body).map_err(|error| Failed::Engine(error.to_string()))
    }
}

/// Sources of a container's mounts. `None` where one is not below a root, or is mounted in another way: such a container
/// was not made through here.
fn sources(answer: &Value, roots: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let host = answer.get("HostConfig")?;
    let absent = |key: &str| {
        host.get(key).is_none_or(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
    };
    if !absent("Binds") || !absent("VolumesFrom") {
        return None;
    }
    let mounts = host.get("Mounts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let source = |mount: &Value| {
        let source = PathBuf::from(mount.get("Source")?.as_str()?);
        roots.iter().any(|root| source.starts_with(root)).then_some(source)
    };
    mounts.iter().map(source).collect()
}

/// What a creel in a container has to know of it: where its mounts come from. Not its environment.
fn reduced(answer: &Value) -> Value {
    let part = |pointer: &str| answer.pointer(pointer).cloned().unwrap_or_default();
    let mounts = part("/Mounts");
    let mounts: Vec<Value> = mounts
        .as_array()
        .into_iter()
        .flatten()
        .map(|mount| {
            let part = |key: &str| mount.get(key).cloned().unwrap_or_default();
            json!({ "Type": part("Type"), "Source": part("Source"), "Destination": part("Destination"), "RW": part("RW") })
        })
        .collect();
    json!({
        "Id": part("/Id"),
        "Name": part("/Name"),
        "Image": part("/Image"),
        "State": { "Status": part("/State/Status") },
        "Config": { "Labels": {} },
        "Mounts": mounts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_learns_its_mounts_and_no_more() {
        let answer = json!({
            "Id": "a", "Name": "/creel", "State": {"Status": "running", "Pid": 7}, "HostConfig": {"Binds": ["x"]},
            "Config": {"Env": ["SECRET=1"], "Labels": {"a": "SECRET"}},
            "Mounts": [{"Type": "bind", "Source": "/s", "Destination": "/d", "RW": true, "Driver": "SECRET"}],
        });
        let text = reduced(&answer).to_string();
        assert!(
            text.contains(r#""Source":"/s""#) && !text.contains("SECRET") && !text.contains("HostConfig"),
            "{text}"
        );
    }
}
