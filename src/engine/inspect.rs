//! Looks at one container.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ContainerFacts, ContainerId, Engine, EngineError, Mount, name};

impl Engine {
    /// The container of this name or id, `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`EngineError::BadValue`] for what cannot be a name.
    pub async fn inspect(&self, name_or_id: &str) -> Result<Option<ContainerFacts>, EngineError> {
        let what = format!("inspect of container {name_or_id}");
        let path = format!("/containers/{}/json", name::container(name_or_id)?);
        match self.get_json::<Answer>(&what, &path).await {
            Ok(answer) => Ok(Some(facts(answer))),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What is read of the engine's answer; engines leave out or null what they do not know.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    id: String,
    name: String,
    image: Option<String>,
    state: State,
    config: Option<Config>,
    mounts: Option<Vec<Point>>,
}

/// See [`Answer`].
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    status: String,
    pid: Option<i64>,
    exit_code: Option<i64>,
    error: Option<String>,
    started_at: Option<String>,
    #[serde(rename = "OOMKilled")]
    oom_killed: Option<bool>,
}

/// See [`Answer`].
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    labels: Option<BTreeMap<String, String>>,
}

/// A mount as the engine reports it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Point {
    source: Option<String>,
    destination: Option<String>,
    #[serde(rename = "RW")]
    writable: Option<bool>,
}

/// Docker's word for a state: Podman says `stopped` for an ended container that it has not cleaned up yet.
pub(super) fn status(word: &str) -> String {
    if word == "stopped" { "exited".to_owned() } else { word.to_owned() }
}

/// The engine's answer in our words.
fn facts(answer: Answer) -> ContainerFacts {
    let state = answer.state;
    let status = status(&state.status);
    let running = status == "running";
    let ended = matches!(status.as_str(), "exited" | "dead");
    ContainerFacts {
        id: ContainerId(answer.id),
        name: answer.name.trim_start_matches('/').to_owned(),
        image_id: answer.image.unwrap_or_default(),
        labels: answer.config.and_then(|config| config.labels).unwrap_or_default(),
        running,
        pid: state.pid.filter(|_| running).and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0),
        started_at: state.started_at.unwrap_or_default(),
        exit_code: state.exit_code.filter(|_| ended),
        oom_killed: state.oom_killed.unwrap_or(false),
        error: state.error.unwrap_or_default(),
        mounts: answer.mounts.unwrap_or_default().into_iter().map(mount).collect(),
        status,
    }
}

/// The same in our words.
pub(super) fn mount(point: Point) -> Mount {
    Mount {
        source: point.source.unwrap_or_default(),
        target: point.destination.unwrap_or_default(),
        read_only: !point.writable.unwrap_or(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(state: &serde_json::Value) -> ContainerFacts {
        let json = serde_json::json!({ "Id": "a", "Name": "/b", "State": state, "Mounts": null });
        facts(serde_json::from_value(json).unwrap())
    }

    #[test]
    fn words_of_every_engine() {
        let stopped = read(&serde_json::json!({ "Status": "stopped", "ExitCode": 3, "Pid": 9 }));
        assert_eq!((stopped.status.as_str(), stopped.exit_code, stopped.pid), ("exited", Some(3), 0));
        let running = read(&serde_json::json!({ "Status": "running", "ExitCode": 0, "Pid": 9 }));
        assert_eq!((running.running, running.exit_code, running.pid), (true, None, 9));
        assert_eq!(running.name, "b");
        assert!(!read(&serde_json::json!({ "Status": "some new word" })).running);
    }
}
