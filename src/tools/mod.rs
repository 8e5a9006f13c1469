//! The tools as an agent calls them (spec `exec.md`): parameters in, result out, for whatever carries the call.
//!
//! | file | concern |
//! |---|---|
//! | [`args`] | the arguments as they come, repaired and checked |
//! | [`context`] | who calls, from where |
//! | [`presence`] | whether somebody waits for a call |
//! | [`result`] | what a call gives back |
//! | [`exec`] | run a command |
//! | [`process`] | look at, feed and end commands in the background |

pub mod args;
pub mod context;
pub mod exec;
pub mod presence;
pub mod process;
pub mod result;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::approvals::desk::Desk;
use crate::client::SandboxOptions;
use crate::process::sessions::Sessions;
use crate::state::StateDir;
pub use context::Context;
pub use presence::Presence;
pub use result::{ToolError, ToolResult};

/// Everything that calls need. One for each keeper or gateway; clones share it.
#[derive(Debug, Clone)]
pub struct Toolbox {
    /// The process sessions.
    pub sessions: Sessions,
    /// The state directory.
    pub state: StateDir,
    /// State directory, engine, variables: what every sandbox is opened with.
    pub base: SandboxOptions,
    /// Sandboxes that are open.
    pub open: Arc<exec::OpenSandboxes>,
    /// What polls remember between calls.
    pub polls: process::Polls,
    /// Where questions about host commands are put.
    pub desk: Desk,
    /// What host commands share, and those that wait for a person.
    pub waiting: exec::Waiting,
}

impl Toolbox {
    /// Calls a tool as an agent does. `partial` gets what a running command prints while its caller waits; cancelled,
    /// a foreground command is ended and the call fails as aborted.
    ///
    /// # Errors
    ///
    /// What the tool throws (spec `exec.md` §1.3); everything else is a result.
    pub async fn call(
        &self,
        tool: &str,
        params: serde_json::Value,
        context: &Context,
        partial: Option<tokio::sync::mpsc::Sender<ToolResult>>,
        cancel: CancellationToken,
    ) -> Result<ToolResult, ToolError> {
        let result = Box::pin(self.carry(tool, params, context, partial, cancel)).await;
        result.map(ToolResult::delivered)
    }

    /// The same for whoever carries the result on, and says himself when it was delivered.
    ///
    /// # Errors
    ///
    /// As for [`Self::call`].
    pub(crate) async fn carry(
        &self,
        tool: &str,
        params: serde_json::Value,
        context: &Context,
        partial: Option<tokio::sync::mpsc::Sender<ToolResult>>,
        cancel: CancellationToken,
    ) -> Result<ToolResult, ToolError> {
        match tool {
            "exec" | "bash" => Box::pin(exec::call(self, params, context, partial, cancel)).await,
            "process" => {
                let context = exec::process_context(self, context).await?;
                process::carry(&self.sessions, &self.polls, params, &context, cancel).await
            }
            other => Err(ToolError::unknown(other)),
        }
    }
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ToolSchema {
    /// Its name.
    pub name: &'static str,
    /// What it does, and how it is meant to be used.
    pub description: String,
    /// JSON Schema of its parameters.
    pub parameters: serde_json::Value,
}

/// The tools that a run has. Without `process` nothing of `exec` goes on in the background, and its schema and
/// description say so.
pub fn schemas(process: bool) -> Vec<ToolSchema> {
    let exec = ToolSchema {
        name: "exec",
        description: exec::params::description(process),
        parameters: exec::params::schema(process),
    };
    let process = process.then(|| ToolSchema {
        name: "process",
        description: process::DESCRIPTION.to_owned(),
        parameters: process::schema(),
    });
    std::iter::once(exec).chain(process).collect()
}
