//! The standard input of a container's first process.

use std::pin::Pin;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::classify::{classify_http, refusal};
use super::http::{self, Upgrade};
use super::{ContainerId, Engine, EngineError, name};

/// An open standard input. Dropping it ends the input.
pub struct Input {
    socket: Pin<Box<dyn AsyncWrite + Send + Sync>>,
    limit: std::time::Duration,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl Engine {
    /// Attaches to the input of a container that was made for that and, best, not started yet.
    ///
    /// # Errors
    ///
    /// [`EngineError::UpgradeRefused`] where a proxy or an incompatible engine keeps the connection.
    pub async fn attach_input(&self, id: &ContainerId) -> Result<Input, EngineError> {
        let what = format!("attach to the input of container {}", id.short());
        let api = &self.facts().api_version;
        let path = format!("/v{api}/containers/{}/attach?stream=1&stdin=1", name::container(&id.0)?);
        let limit = self.deadlines().quick;
        let call = http::upgrade(&self.facts().endpoint, &path, String::new());
        match tokio::time::timeout(limit, call).await {
            Err(_) => Err(EngineError::NotResponding { what, after: limit }),
            Ok(Err(error)) => Err(classify_http(&what, error)),
            Ok(Ok(Upgrade::Done(socket, _))) => Ok(Input { socket: Box::pin(socket), limit }),
            Ok(Ok(Upgrade::Refused(answer))) => {
                let (status, message) = (answer.status.as_u16(), answer.message());
                if answer.status.is_success() {
                    return Err(EngineError::UpgradeRefused { what, status, message });
                }
                Err(refusal(what, status, &message))
            }
        }
    }
}

impl Input {
    /// Writes everything and ends the input.
    ///
    /// # Errors
    ///
    /// [`EngineError::Lost`] where the container or the engine does not take it.
    pub async fn write(mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let what = "the input of a container".to_owned();
        let limit = self.limit;
        let write = async {
            self.socket.write_all(bytes).await?;
            self.socket.shutdown().await
        };
        match tokio::time::timeout(limit, write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(EngineError::Lost { what, reason: error.to_string() }),
            Err(_) => Err(EngineError::NotResponding { what, after: limit }),
        }
    }
}
