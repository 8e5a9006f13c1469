//! The keeper's side of its socket. Every connection has a reader, a writer with a bounded queue, and a task for each
//! request: whoever does not read holds up itself.
//!
//! | file | concern |
//! |---|---|
//! | `connection` | one connection |
//! | `methods` | what can be asked |
//! | `calls` | tool calls under way, which outlive a connection for a while |
//! | `delivered` | what follows once an answer has reached its caller |
//! | `attach` | a session's output as it comes |
//! | `events` | events as they come |
//! | `rows` | sessions as people see them |
//! | `approvals`, `raised` | questions for people, those that programs raise |

mod approvals;
mod attach;
mod calls;
mod connection;
mod delivered;
mod events;
mod methods;
pub(super) mod raised;
mod rows;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::caller::{self, Caller};
use super::socket::Socket;
use crate::approvals::desk::Desk;
use crate::engine::Discovery;
use crate::process::sessions::Sessions;
use crate::tools::{Context, ToolError, ToolResult, Toolbox};
pub(super) use calls::Calls;
pub use rows::Row;

/// Connections served at once.
pub(super) const CONNECTIONS: usize = 256;
/// Requests of one connection served at once.
pub(super) const REQUESTS: usize = 256;
/// How long the caller of a foreground command may be away (design §10).
pub const GRACE: Duration = Duration::from_secs(30);

/// What the keeper serves: the tools, and the sessions behind them.
pub trait Service: Send + Sync + 'static {
    /// Calls a tool as an agent does.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        params: serde_json::Value,
        context: &'a Context,
        partial: mpsc::Sender<ToolResult>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;

    /// Does what the `process` tool does, for a person: the run's tool policy is the agent's, not the person's.
    fn act<'a>(
        &'a self,
        params: serde_json::Value,
        context: &'a Context,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;

    /// As this caller means it, where that is not how it is: with another configuration.
    fn meant_by(&self, _caller: &Caller) -> Option<Arc<dyn Service>> {
        None
    }

    /// What it was started with, for people.
    fn about(&self) -> Value {
        Value::Null
    }

    /// The sessions; `None` where there are none to be had.
    fn sessions(&self) -> Option<&Sessions>;

    /// Where questions are put; `None` where there are none.
    fn desk(&self) -> Option<&Desk> {
        None
    }

    /// What is done beside requests, until `stop`: questions end in their time, the approval socket is served.
    fn attend<'a>(&'a self, stop: &'a CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(stop.cancelled())
    }

    /// Something goes on that ends with the keeper.
    fn busy(&self) -> bool {
        false
    }

    /// Lets go of what nobody used for a while. Called about once a minute.
    fn tidy(&self) {}
}

impl Service for Toolbox {
    fn call<'a>(
        &'a self,
        tool: &'a str,
        params: serde_json::Value,
        context: &'a Context,
        partial: mpsc::Sender<ToolResult>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(self.carry(tool, params, context, Some(partial), cancel))
    }

    fn act<'a>(
        &'a self,
        params: serde_json::Value,
        context: &'a Context,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(crate::tools::process::carry(&self.sessions, &self.polls, params, context, cancel))
    }

    fn meant_by(&self, caller: &Caller) -> Option<Arc<dyn Service>> {
        caller.tools(self)
    }

    fn about(&self) -> Value {
        let engine = Discovery::from_process(self.base.engine_address()).named().unwrap_or_default();
        let config = self.base.located().ok().map(|located| located.path);
        json!({ "config": config, "engine": caller::engine(&engine) })
    }

    fn busy(&self) -> bool {
        self.waiting.is_busy()
    }

    fn tidy(&self) {
        self.open.sweep();
    }

    fn sessions(&self) -> Option<&Sessions> {
        Some(&self.sessions)
    }

    fn desk(&self) -> Option<&Desk> {
        Some(&self.desk)
    }

    fn attend<'a>(&'a self, stop: &'a CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(super::approvals::attend(self, stop))
    }
}

/// What all connections share.
pub(super) struct Shared {
    /// The tools.
    pub(super) service: Arc<dyn Service>,
    /// Calls under way.
    pub(super) calls: Calls,
    /// Asked for the keeper's end.
    pub(super) stop: CancellationToken,
    /// The keeper's own build.
    pub(super) build: String,
    /// The state directory.
    pub(super) state: PathBuf,
    /// When it began.
    pub(super) since: Instant,
    clients: AtomicUsize,
    quiet: Notify,
}

impl Shared {
    /// For one keeper. `grace`: how long a caller may be away.
    pub(super) fn new(
        service: Arc<dyn Service>,
        stop: CancellationToken,
        state: PathBuf,
        build: String,
        grace: Duration,
    ) -> Self {
        Self {
            calls: Calls::new(service.clone(), grace),
            service,
            stop,
            build,
            state,
            since: Instant::now(),
            clients: AtomicUsize::new(0),
            quiet: Notify::new(),
        }
    }

    /// Connections that are open.
    pub(super) fn clients(&self) -> usize {
        self.clients.load(Ordering::Acquire)
    }

    /// Returns when a connection has ended since the last return.
    pub(super) async fn left(&self) {
        self.quiet.notified().await;
    }
}

/// Serves until `stop`; connections and calls end with it, commands do not.
pub(super) async fn serve(socket: &Socket, shared: &Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let open = Open::new(shared);
                    connections.spawn(async move { connection::run(stream, &open.0).await });
                }
                Err(error) => {
                    // Out of descriptors: those that are open end some time.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    connections.shutdown().await;
    shared.calls.shutdown().await;
}

/// Counts a connection as long as it lives.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.clients.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::AcqRel);
        self.0.quiet.notify_one();
    }
}
