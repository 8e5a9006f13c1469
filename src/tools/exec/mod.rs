//! `exec`: run a command (spec `exec.md` §1, §2, §5).

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Context, ToolError, ToolResult, Toolbox};

/// Sandboxes that are open, by what they were opened with.
#[derive(Debug, Default)]
pub struct OpenSandboxes {}

/// Runs a call.
#[expect(clippy::todo, clippy::unused_async, unused_variables, reason = "skeleton")]
pub async fn call(
    toolbox: &Toolbox,
    params: Value,
    context: &Context,
    partial: Option<tokio::sync::mpsc::Sender<ToolResult>>,
    cancel: CancellationToken,
) -> Result<ToolResult, ToolError> {
    todo!()
}
