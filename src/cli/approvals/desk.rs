//! The way to the questions: the keeper of this state directory.

use serde_json::{Value, json};

use crate::approvals::desk::{Record, id::from_terminal_form};
use crate::error::{Failure, Report};
use crate::keeper::{KeeperError, Keepers, Repeat, own_program};
use crate::state::StateDir;

/// Requests about questions.
pub(in crate::cli) struct Desk {
    pub(in crate::cli) keepers: Keepers,
}

impl Desk {
    pub(super) fn open() -> Result<Self, Failure> {
        let state = StateDir::locate(|name| std::env::var(name).ok())?;
        Ok(Self { keepers: Keepers::new(&state, &own_program()?) })
    }

    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        Ok(self.keepers.request(method, params, Repeat::Safe).await?)
    }

    /// The question that an id, the beginning of one, or its terminal-safe form means (16.02).
    pub(super) async fn record(&self, id: &str) -> Result<Record, Failure> {
        let Some(decoded) = from_terminal_form(id) else { return self.found(id).await };
        match (self.found(id).await, self.found(&decoded).await) {
            (Ok(one), Ok(other)) if one.id != other.id => Err(Failure(Report {
                code: "CRL-CLI-034",
                message: format!("{id} is the id of one approval and the terminal-safe form of another"),
                rule: Some("built-in: an answer goes to one question".to_owned()),
                fix: "answer it where it is shown: creel approvals watch".to_owned(),
            })),
            (_, Ok(record)) | (Ok(record), Err(_)) => Ok(record),
            (Err(error), Err(_)) => Err(error),
        }
    }

    async fn found(&self, id: &str) -> Result<Record, Failure> {
        read(self.ask("approvals.get", json!({ "id": id })).await?)
    }
}

pub(in crate::cli) fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    Ok(serde_json::from_value(value).map_err(|error| KeeperError::Strange(error.to_string()))?)
}
