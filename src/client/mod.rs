//! The library's front door: open a sandbox, run commands in it, stop it. The command line uses nothing else.
//!
//! ```no_run
//! # async fn example() -> Result<(), creel::error::Failure> {
//! use creel::Sandbox;
//!
//! let sandbox = Sandbox::options().workspace("/srv/project").open().await?;
//! let result = sandbox.exec("echo hello; exit 3").await?;
//! assert_eq!(result.stdout, b"hello\n");
//! assert_eq!(result.outcome.code, Some(3));
//! sandbox.stop().await?;
//! # Ok(())
//! # }
//! ```

mod assemble;
mod collect;
mod gone;
mod inventory;
mod options;
mod owners;
mod pool;
mod prepare;

use std::path::PathBuf;
use std::time::Duration;

pub use assemble::Preview;
pub use collect::{Collected, MAX_COLLECTED};
pub use inventory::{Runtime, inventory};
pub use options::{RoadChoice, SandboxOptions};
pub use owners::Owners;
pub use pool::{Pool, Wish};
pub use prepare::Way;

use crate::approvals::{Command, Names, Permit};
use crate::engine::{ContainerId, Engine};
use crate::error::Failure;
use crate::runner::{self, Link, Options, Road, Running, Setting, Transport};
use crate::sandbox::{InUse, Layout, Ready, SandboxError, SandboxName, Sandboxes};
use crate::wire::CommandId;

/// A sandbox that is running, proven and leased: nobody prunes or replaces it while this value lives.
#[derive(Debug)]
pub struct Sandbox {
    sandboxes: Sandboxes,
    ready: Ready<Way>,
    setting: Setting,
    session: String,
    timeout: Option<Duration>,
    transport: Transport,
    image: String,
    pool_size: usize,
    /// The workspace, where it goes with the sandbox: creel made it, and nobody else has it.
    own_workspace: Option<PathBuf>,
}

/// One call: what, where, with what around it.
#[derive(Clone, PartialEq, Eq)]
pub struct Call {
    /// Shell text or argv.
    pub command: Command,
    /// Directory in the container; `None` is the workspace.
    pub workdir: Option<String>,
    /// Environment over the configured one.
    pub env: Vec<(String, String)>,
    /// Limits, input, terminal.
    pub options: Options,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("command", &self.command)
            .field("workdir", &self.workdir)
            .field("env", &Names(&self.env))
            .field("options", &self.options)
            .finish()
    }
}

impl Sandbox {
    /// What to open; every option has a default.
    pub fn options() -> SandboxOptions {
        SandboxOptions::default()
    }

    /// Shell text as a call with this sandbox's defaults.
    pub fn call(&self, text: impl Into<String>) -> Call {
        self.call_of(Command::Shell(text.into()))
    }

    /// Any command as a call with this sandbox's defaults.
    pub fn call_of(&self, command: Command) -> Call {
        let options = Options { timeout: self.timeout, ..Options::default() };
        Call { command, workdir: None, env: Vec::new(), options }
    }

    /// Runs shell text to its end and returns what it printed.
    ///
    /// # Errors
    ///
    /// Only when creel could not run it or lost it; whatever the command itself does is a result. `CRL-SANDBOX-031`
    /// where somebody stopped the sandbox since it was opened: open it again.
    pub async fn exec(&self, text: impl Into<String>) -> Result<Collected, Failure> {
        self.run(&self.call(text)).await
    }

    /// Runs a call to its end and returns what it printed, of each stream at most the last [`MAX_COLLECTED`] bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::exec`].
    pub async fn run(&self, call: &Call) -> Result<Collected, Failure> {
        self.follow(self.start(call).await?).await
    }

    /// Starts a call and hands over its events: output as it comes, input, kill, result.
    ///
    /// # Errors
    ///
    /// As [`Self::exec`].
    pub async fn start(&self, call: &Call) -> Result<Running, Failure> {
        let permit =
            Permit::sandbox(&self.session, call.command.clone(), call.workdir.clone(), call.env.clone());
        match runner::start(&permit, &self.setting, &call.options, &self.road()).await {
            Ok(running) => Ok(running),
            Err(error) => Err(self.told(error).await),
        }
    }

    /// As [`Self::start`], under an id that was recorded before, for any session that shares the sandbox.
    ///
    /// # Errors
    ///
    /// As [`Self::exec`].
    pub async fn start_as(&self, id: CommandId, session: &str, call: &Call) -> Result<Running, Failure> {
        let permit = Permit::sandbox(session, call.command.clone(), call.workdir.clone(), call.env.clone());
        match runner::start_as(id, &permit, &self.setting, &call.options, &self.road()).await {
            Ok(running) => Ok(running),
            Err(error) => Err(self.told(error).await),
        }
    }

    fn road(&self) -> Road {
        match (&self.ready.link, self.transport) {
            (Way::Init(link), Transport::Init) => Road::Init(link.clone()),
            _ => Road::Engine(self.sandboxes.engine().clone(), self.ready.id.clone()),
        }
    }

    /// The same sandbox with its commands on another road; without an init there is only the engine's.
    #[must_use]
    pub fn over(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// How the sandbox came to be: names, warnings, drift, hardening as read back, timings.
    pub fn ready(&self) -> &Ready<Way> {
        &self.ready
    }

    /// How many containers should wait for sessions like this one; where it is not 0, [`crate::keeper`] has work.
    pub fn pool_size(&self) -> usize {
        self.pool_size
    }

    /// The files of this installation's sandboxes.
    pub fn layout(&self) -> &Layout {
        self.sandboxes.layout()
    }

    /// The container.
    pub fn container(&self) -> &ContainerId {
        &self.ready.id
    }

    /// The image as it was asked for; [`Ready::image`] is its id.
    pub fn image(&self) -> &str {
        &self.image
    }

    /// The engine it runs on.
    pub fn engine(&self) -> &Engine {
        self.sandboxes.engine()
    }

    /// The connection to its init, where it could be met.
    pub fn link(&self) -> Option<&Link> {
        match &self.ready.link {
            Way::Init(link) => Some(link),
            Way::Engine { .. } => None,
        }
    }

    /// Why commands do not go over init, where they do not.
    pub fn detour(&self) -> Option<&str> {
        match &self.ready.link {
            Way::Init(_) if self.transport == Transport::Init => None,
            Way::Init(_) => Some("asked for"),
            Way::Engine { reason, .. } => Some(reason),
        }
    }

    /// The road that commands take.
    pub fn transport(&self) -> Transport {
        self.road().transport()
    }

    /// What surrounds every command.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Stops the sandbox and removes its container; commands of others in it end too. The workspace stays, except
    /// where creel made it for a sandbox of one caller ([`SandboxOptions::apart`]).
    ///
    /// # Errors
    ///
    /// When the engine does not remove it, or such a workspace cannot be removed.
    pub async fn stop(self) -> Result<(), Failure> {
        let name = SandboxName::parse(&self.ready.name)?;
        drop(self.ready);
        self.sandboxes.stop_with(&name, InUse::Remove, self.own_workspace.as_deref()).await?;
        Ok(())
    }

    /// Stops the sandbox unless somebody else uses it; false when it stays.
    ///
    /// # Errors
    ///
    /// As [`Self::stop`].
    pub async fn stop_unless_used(self) -> Result<bool, Failure> {
        let name = SandboxName::parse(&self.ready.name)?;
        drop(self.ready);
        match self.sandboxes.stop_with(&name, InUse::Refuse, self.own_workspace.as_deref()).await {
            Ok(_) => Ok(true),
            Err(SandboxError::Leased { .. } | SandboxError::Busy { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
