//! What surrounds a command on this machine: PATH, shell, environment.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::Files;
use crate::approvals::{Command, Permit};
use crate::client::SandboxOptions;
use crate::config::exec::ExecEnv;
use crate::error::Failure;
use crate::runner::Plan;
use crate::runner::host_plan::{HostCall, HostProbes, HostSetting, HostSide, Surroundings, Vars};
use crate::tools::Context;

/// How long the login shell may take: whoever asks why wants an answer now. A call waits longer.
const PATIENCE: Duration = Duration::from_millis(30);

/// What surrounds a command.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// PATH.
    pub(super) path: String,
    /// What is planned with; none where PATH was given.
    pub(super) setting: Option<Arc<HostSetting>>,
    /// The login shell did not answer in time: its directories are missing from PATH.
    pub(super) guessed: bool,
}

impl Side {
    /// With a given PATH and nothing of this machine.
    pub(super) fn with_path(path: &str) -> Self {
        Self { path: path.to_owned(), setting: None, guessed: false }
    }

    /// What would be started.
    pub(super) fn plan(&self, command: &Command, cwd: &str, env: &[(String, String)]) -> Option<Plan> {
        let permit = Permit::sandbox(String::new(), command.clone(), Some(cwd.to_owned()), env.to_vec());
        Some(self.setting.as_ref()?.plan(&permit, false))
    }
}

/// `pathPrepend`, and what was looked up for it.
type Known = (Vec<String>, Side);

/// What was looked up, for each `pathPrepend` once.
#[derive(Debug, Clone, Default)]
pub(super) struct Sides {
    probes: HostProbes,
    known: Arc<Mutex<Vec<Known>>>,
}

impl Sides {
    /// For the agent of a call.
    pub(super) async fn of(
        &self,
        base: &SandboxOptions,
        files: &Files,
        context: &Context,
    ) -> Result<Side, Failure> {
        let subject = files.config.subject(context.agent.as_deref(), context.session.as_deref())?;
        let env = ExecEnv::read(&|name| base.variable(name));
        let prepend = files.config.exec_in(&subject.agent, &env).path_prepend;
        let mut known = self.known.lock().await;
        if let Some((_, side)) = known.iter().find(|(other, _)| *other == prepend) {
            return Ok(side.clone());
        }
        let side = self.gather(files, &prepend).await;
        known.push((prepend, side.clone()));
        Ok(side)
    }

    async fn gather(&self, files: &Files, prepend: &[String]) -> Side {
        let env: Vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let home = files.places.home.as_deref();
        let side = HostSide { env: &env, home, state: files.state.root(), path_prepend: prepend };
        let surroundings = Surroundings::default();
        // Aliases and functions of the user's are not looked up: that starts a shell of its own.
        let call = HostCall { workdir: Path::new("/"), store: &[], surroundings: &surroundings, exact: true };
        let asked = tokio::time::timeout(PATIENCE, HostSetting::gather(&self.probes, &side, &call)).await;
        let guessed = asked.is_err();
        let setting = match asked {
            Ok((setting, _)) => setting,
            Err(_) => HostSetting::gather(&HostProbes::without_login(), &side, &call).await.0,
        };
        let setting = Arc::new(setting);
        let mut side = Side { path: String::new(), setting: Some(setting), guessed };
        let plan = side.plan(&Command::Argv(vec![String::new()]), "/", &[]);
        let path = plan.and_then(|plan| plan.env.into_iter().find(|(name, _)| name == "PATH"));
        side.path = path.map(|(_, path)| path).unwrap_or_default();
        side
    }
}
