//! An installation of its own with a toolbox over it, and the clean-up after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use creel::approvals::desk::Desk;
use creel::engine::{Discovery, Engine};
use creel::process::record::Place;
use creel::process::sessions::{Reach, Sessions, Unreached};
use creel::runner::Link;
use creel::sandbox::{InUse, Sandboxes};
use creel::state::StateDir;
use creel::tools::exec::{OpenSandboxes, Waiting};
use creel::tools::process::Polls;
use creel::tools::{Context, ToolError, ToolResult, Toolbox};
use creel::{Sandbox, SandboxOptions};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The image of the sandboxes.
pub(crate) const IMAGE: &str = "creel-minimal:latest";

/// The lab. What it made goes with it, also after a failed assertion.
pub(crate) struct Lab {
    pub(crate) tools: Toolbox,
    dir: tempfile::TempDir,
    owned: Vec<PathBuf>,
}

/// Nothing of these tests is found again: they hold no command over a restart.
struct Nowhere;

impl Reach for Nowhere {
    fn reach(&self, _: &Place) -> futures_util::future::BoxFuture<'_, Result<Link, Unreached>> {
        Box::pin(async { Err(Unreached::Gone("nobody looks for it".to_owned())) })
    }
}

impl Lab {
    /// A lab whose main session runs in a sandbox, with these keys under `tools`.
    pub(crate) async fn sandboxed(tools: &str) -> Self {
        Self::configured(&format!(
            "{{agents: {{defaults: {{sandbox: {{mode: 'all', docker: {{image: '{IMAGE}'}}}}}}}}, tools: {{{tools}}}}}"
        ))
        .await
    }

    /// A lab without sandboxes.
    pub(crate) async fn direct(tools: &str) -> Self {
        Self::configured(&format!("{{tools: {{{tools}}}}}")).await
    }

    /// A lab with this configuration.
    pub(crate) async fn configured(text: &str) -> Self {
        Self::with_vars(text, &[]).await
    }

    /// As [`Self::configured`], with variables of the gateway.
    pub(crate) async fn with_vars(text: &str, vars: &[(&str, &str)]) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-exec-tool-").tempdir_in("/tmp").unwrap();
        let state = dir.path().join("s");
        std::fs::create_dir_all(&state).unwrap();
        std::fs::write(state.join("openclaw.json"), text).unwrap();
        let base = options(&state, dir.path(), vars);
        let state = StateDir::at(state);
        let sessions = Sessions::open(&state, Arc::new(Nowhere)).await.unwrap();
        let open = Arc::new(OpenSandboxes::default());
        let desk = Desk::over(&state, sessions.events()).unwrap();
        let tools = Toolbox {
            sessions,
            state,
            base,
            open,
            polls: Polls::default(),
            desk,
            waiting: Waiting::default(),
        };
        Self { tools, dir, owned: Vec::new() }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// Takes a directory that goes with the lab.
    pub(crate) fn own(&mut self, dir: &Path) {
        self.owned.push(dir.to_owned());
    }

    /// Such directories.
    pub(crate) fn owned(&self) -> &[PathBuf] {
        &self.owned
    }

    /// Writes a file of the state directory.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.state().join(name), text).unwrap();
    }

    /// Calls `exec` without a context.
    pub(crate) async fn exec(&self, params: Value) -> Result<ToolResult, ToolError> {
        self.exec_as(params, &Context::default()).await
    }

    pub(crate) async fn exec_as(&self, params: Value, context: &Context) -> Result<ToolResult, ToolError> {
        self.tools.call("exec", params, context, None, CancellationToken::new()).await
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, command: &str) -> ToolResult {
        self.exec(json!({"command": command})).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn process(&self, params: Value) -> ToolResult {
        let context = Context::default();
        self.tools.call("process", params, &context, None, CancellationToken::new()).await.unwrap()
    }

    /// Waits for the end of a session in the background.
    pub(crate) async fn until_ended(&self, result: &ToolResult) {
        let id = creel::process::record::SessionId(text(result, "sessionId"));
        let view = self.tools.sessions.ended(&id, None).await.unwrap();
        assert!(view.end.is_some());
    }
}

impl Drop for Lab {
    /// A drop cannot await, so a thread with a runtime of its own does it. Commands on the host have limits of their own.
    fn drop(&mut self) {
        for dir in &self.owned {
            let _ = std::fs::remove_dir_all(dir);
        }
        let state = StateDir::at(self.state());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let Ok(engine) = Engine::discover(&Discovery::from_process(None)).await else { return };
                let Ok(sandboxes) = Sandboxes::open(engine, &state) else { return };
                let _ = sandboxes.stop_all(InUse::Remove).await;
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

fn options(state: &Path, home: &Path, vars: &[(&str, &str)]) -> SandboxOptions {
    let home = home.to_string_lossy().into_owned();
    let vars: Vec<(String, String)> =
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Sandbox::options().state(state).vars(move |name| {
        if let Some((_, value)) = vars.iter().find(|(known, _)| known == name) {
            return Some(value.clone());
        }
        match name {
            "HOME" => Some(home.clone()),
            "CREEL_INIT" | "PATH" | "DOCKER_HOST" => std::env::var(name).ok(),
            _ => None,
        }
    })
}

/// A text of a result's details.
pub(crate) fn text(result: &ToolResult, name: &str) -> String {
    result.details[name].as_str().unwrap_or_else(|| panic!("{name}: {:#}", result.details)).to_owned()
}

/// A context of a message in a channel.
pub(crate) fn message(channel: &str, sender: &str) -> Context {
    serde_json::from_value(json!({"channel": channel, "sender": {"id": sender, "authorized": true}})).unwrap()
}
