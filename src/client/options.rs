//! What to open.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Owners, Preview, Sandbox, assemble};
use crate::config::{Config, Located, Places, locate};
use crate::error::{Failure, Report};
use crate::session::Stamp;
use crate::state::StateDir;

/// Looks a variable of the environment up.
pub(super) type Var = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Which road commands take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoadChoice {
    /// The sandbox's init; where it cannot be met, the engine's exec API.
    #[default]
    Auto,
    /// The sandbox's init and nothing else.
    Init,
    /// The engine's exec API.
    Engine,
}

/// Which sandbox to open. What is not set comes from the configuration file, then from hard defaults.
#[derive(Clone)]
pub struct SandboxOptions {
    pub(super) config: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) engine: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) session: Option<String>,
    pub(super) image: Option<String>,
    pub(super) workspace: Option<PathBuf>,
    pub(super) binds: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) road: RoadChoice,
    pub(super) apart: Option<String>,
    pub(super) stamp: Stamp,
    pub(super) refused: Option<Report>,
    pub(super) var: Var,
}

impl std::fmt::Debug for SandboxOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of the environment stay out: they may be secrets.
        f.debug_struct("SandboxOptions")
            .field("config", &self.config)
            .field("state", &self.state)
            .field("agent", &self.agent)
            .field("session", &self.session)
            .field("image", &self.image)
            .field("workspace", &self.workspace)
            .field("binds", &self.binds)
            .field("road", &self.road)
            .field("apart", &self.apart)
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            config: None,
            state: None,
            engine: None,
            agent: None,
            session: None,
            image: None,
            workspace: None,
            binds: Vec::new(),
            env: Vec::new(),
            road: RoadChoice::Auto,
            apart: None,
            stamp: Stamp::None,
            refused: None,
            var: Arc::new(|name| std::env::var(name).ok()),
        }
    }
}

impl SandboxOptions {
    /// The configuration file; by default `$CREEL_CONFIG`, `$OPENCLAW_CONFIG_PATH`, `openclaw.json` in the state
    /// directory.
    #[must_use]
    pub fn config(mut self, file: impl Into<PathBuf>) -> Self {
        self.config = Some(file.into());
        self
    }

    /// The state directory; by default `$CREEL_STATE_DIR`, `$OPENCLAW_STATE_DIR`, `~/.openclaw`.
    #[must_use]
    pub fn state(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state = Some(dir.into());
        self
    }

    /// The engine's address; by default it is looked for as the docker client does.
    #[must_use]
    pub fn engine(mut self, address: impl Into<String>) -> Self {
        self.engine = Some(address.into());
        self
    }

    /// The agent; by default the configured default agent.
    #[must_use]
    pub fn agent(mut self, id: impl Into<String>) -> Self {
        self.agent = Some(id.into());
        self
    }

    /// The session key; by default the agent's main session.
    #[must_use]
    pub fn session(mut self, key: impl Into<String>) -> Self {
        self.session = Some(key.into());
        self
    }

    /// What the agent host stamped onto the session. One that is `required` gets a sandbox of its own, of scope
    /// `agent`, in which no workspace that others see is writable.
    #[must_use]
    pub fn stamp(mut self, stamp: Stamp) -> Self {
        self.stamp = stamp;
        self
    }

    /// The image, instead of the configured one.
    #[must_use]
    pub fn image(mut self, reference: impl Into<String>) -> Self {
        self.image = Some(reference.into());
        self
    }

    /// A directory of the host as the workspace, writable, instead of the configured access.
    #[must_use]
    pub fn workspace(mut self, dir: impl Into<PathBuf>) -> Self {
        self.workspace = Some(dir.into());
        self
    }

    /// One more bind, `host:container[:ro]`. Whoever calls this is the operator: the source may lie outside the
    /// workspace, never on a denied path.
    #[must_use]
    pub fn bind(mut self, spec: impl Into<String>) -> Self {
        self.binds.push(spec.into());
        self
    }

    /// A variable for every command of this sandbox; it never shows in the engine's inspect output.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The road for commands.
    #[must_use]
    pub fn road(mut self, road: RoadChoice) -> Self {
        self.road = road;
        self
    }

    /// A sandbox of the same configuration that shares nothing with any other: whoever gives another `nonce` gets
    /// another one, with a workspace of its own where creel makes the workspace. That workspace goes when the sandbox is
    /// stopped; a directory of the caller's never does.
    #[must_use]
    pub fn apart(mut self, nonce: impl Into<String>) -> Self {
        self.apart = Some(nonce.into());
        self
    }

    /// Where variables are looked up, instead of the process's own environment.
    #[must_use]
    pub fn vars(mut self, var: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.var = Arc::new(var);
        self
    }

    /// The configuration file that is read, and who named it.
    ///
    /// # Errors
    ///
    /// When there is no state directory.
    pub fn located(&self) -> Result<Located, Failure> {
        let state = match &self.state {
            Some(dir) => StateDir::at(std::path::absolute(dir).unwrap_or_else(|_| dir.clone())),
            None => StateDir::locate(|name| (self.var)(name))?,
        };
        Ok(locate(self.config.as_deref(), &|name| (self.var)(name), &state))
    }

    /// Reads this file, whatever the variables say; `None` is the default place, which may be empty.
    #[must_use]
    pub(crate) fn reading(mut self, file: Option<PathBuf>) -> Self {
        let var = Arc::clone(&self.var);
        self.config = file;
        self.var = Arc::new(move |name| match name {
            "CREEL_CONFIG" | "OPENCLAW_CONFIG_PATH" => None,
            _ => var(name),
        });
        self
    }

    /// No sandbox is opened with these, and this is said instead.
    #[must_use]
    pub(crate) fn refusing(mut self, refused: Report) -> Self {
        self.refused = Some(refused);
        self
    }

    /// Why no sandbox is opened with these.
    pub(crate) fn refused(&self) -> Option<Failure> {
        self.refused.clone().map(Failure)
    }

    /// The engine's address, where one was given.
    pub fn engine_address(&self) -> Option<String> {
        self.engine.clone()
    }

    /// Whether the session's tool calls run in a sandbox, by the configuration and its stamp. [`Self::open`] always
    /// means one; nothing of it ever runs on the host instead.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be read or is not sound.
    pub fn is_sandboxed(&self) -> Result<bool, Failure> {
        assemble::is_sandboxed(self)
    }

    /// The state directory, the configuration that is meant, and the places that its paths are relative to.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be read or is not sound.
    pub fn configuration(&self) -> Result<(StateDir, Config, Places), Failure> {
        assemble::load(self)
    }

    /// A variable, from where this looks variables up.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.var)(name)
    }

    /// What [`Self::open`] would ask an engine for. Nothing is written, made or asked.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], as far as configuration and file system decide.
    pub fn preview(&self) -> Result<Preview, Failure> {
        assemble::preview(self)
    }

    /// The owners of sandboxes, by the configuration.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be read or is not sound.
    pub fn owners(&self) -> Result<Owners, Failure> {
        assemble::owners(self)
    }

    /// Opens the sandbox: makes it, or joins the one that is there.
    ///
    /// # Errors
    ///
    /// Each with what was refused, the rule and the fix. Nothing is left half made, and nothing runs on the host
    /// instead.
    pub async fn open(&self) -> Result<Sandbox, Failure> {
        if let Some(refused) = self.refused() {
            return Err(refused);
        }
        // It holds every step of a start: too large to lie in each caller's own future.
        Box::pin(assemble::open(self)).await
    }
}
