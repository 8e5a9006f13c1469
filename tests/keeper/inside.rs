//! A keeper in this process, over a tool of the test's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use creel::keeper::{Connection, Ended, Keeper, Service, connect_to_running};
use creel::process::sessions::Sessions;
use creel::state::StateDir;
use creel::tools::{Context, ToolError, ToolResult};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A tool that tells what was done with it.
#[derive(Default)]
pub(crate) struct Tool {
    pub(crate) begun: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) release: Notify,
    pub(crate) changed: Notify,
}

impl Tool {
    pub(crate) async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if so(self) {
                    return;
                }
                let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{what} did not come"));
    }

    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }
}

impl Service for Tool {
    fn call<'a>(
        &'a self,
        tool: &'a str,
        params: Value,
        context: &'a Context,
        partial: mpsc::Sender<ToolResult>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            self.begun.fetch_add(1, Ordering::SeqCst);
            self.changed.notify_waiters();
            match tool {
                "echo" => {}
                "flood" => {
                    let big = "x".repeat(100_000);
                    for _ in 0..200 {
                        let _ = partial.send(ToolResult::new(big.as_str(), json!({}))).await;
                    }
                }
                "wait" => {
                    let _ = partial.send(ToolResult::new("on the way", json!({}))).await;
                    tokio::select! {
                        () = self.release.notified() => {}
                        () = cancel.cancelled() => {
                            self.cancelled.fetch_add(1, Ordering::SeqCst);
                            self.changed.notify_waiters();
                            return Err(ToolError::unknown("aborted"));
                        }
                    }
                }
                other => return Err(ToolError::unknown(other)),
            }
            let details = json!({ "status": "completed", "params": params, "agent": context.agent });
            Ok(ToolResult::new("done", details))
        })
    }

    fn act<'a>(
        &'a self,
        _params: Value,
        _context: &'a Context,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async { Err(ToolError::unknown("process")) })
    }

    fn sessions(&self) -> Option<&Sessions> {
        None
    }
}

/// A keeper that runs in this process.
pub(crate) struct Inside {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) state: StateDir,
    pub(crate) tool: Arc<Tool>,
    pub(crate) stop: CancellationToken,
    pub(crate) life: JoinHandle<Ended>,
}

impl Inside {
    /// With this grace for callers who are away.
    pub(crate) async fn start(grace: Duration, linger: Duration) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-keeper-").tempdir_in("/tmp").unwrap();
        let state = StateDir::at(dir.path().join("s"));
        let (tool, stop) = (Arc::new(Tool::default()), CancellationToken::new());
        let served: Arc<dyn Service> = tool.clone();
        let open: creel::keeper::Open = Box::new(move || {
            let served = served.clone();
            Box::pin(async move { Ok(served) })
        });
        let base = creel::Sandbox::options().state(state.root());
        let mut keeper = Keeper::new(&state, base, None, Duration::from_mins(1), open).times(grace, linger);
        let ending = stop.clone();
        let life = tokio::spawn(async move { keeper.run(&ending).await.unwrap() });
        let inside = Self { dir, state, tool, stop, life };
        // A keeper without anything to do ends: the first caller has to be there at once.
        while inside.socket().is_none() && !inside.life.is_finished() {
            tokio::task::yield_now().await;
        }
        inside
    }

    pub(crate) fn socket(&self) -> Option<std::path::PathBuf> {
        Some(self.state.root().join("creel/keeper.sock")).filter(|path| path.exists())
    }

    pub(crate) async fn connect(&self) -> Connection {
        connect_to_running(&self.state).await.unwrap().expect("a keeper")
    }

    /// A bare connection, with the greeting read.
    pub(crate) async fn raw(&self) -> tokio::io::BufReader<tokio::net::UnixStream> {
        use tokio::io::AsyncBufReadExt as _;
        let stream = tokio::net::UnixStream::connect(self.socket().unwrap()).await.unwrap();
        let mut stream = tokio::io::BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(line.contains("hello") && line.contains(env!("CARGO_PKG_VERSION")), "{line}");
        stream
    }

    pub(crate) async fn end(self) -> Ended {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.life).await.expect("it ends").unwrap()
    }
}
