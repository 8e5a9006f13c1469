//! `process`: look at, feed and end commands in the background (spec `exec.md` §7).

mod polls;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Context, ToolError, ToolResult};
use crate::process::sessions::Sessions;

pub use polls::Polls;

/// Runs a call. The context's agent is the scope; sessions of others are as unknown.
#[expect(clippy::todo, clippy::unused_async, unused_variables, reason = "skeleton")]
pub async fn call(
    sessions: &Sessions,
    polls: &Polls,
    params: Value,
    context: &Context,
    cancel: CancellationToken,
) -> Result<ToolResult, ToolError> {
    todo!()
}
