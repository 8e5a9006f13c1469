//! Makes, watches and resizes commands through the engine's exec API.

use bollard::models::{ExecConfig, ExecInspectResponse};
use bollard::query_parameters::ResizeExecOptions;

use super::{ContainerId, Engine, EngineError, ExecFacts, ExecId, ExecSpec, name};

impl Engine {
    /// Makes a command in a running container, without starting it.
    ///
    /// # Errors
    ///
    /// [`EngineError::NotFound`] where the container is gone, [`EngineError::Refused`] where it does not run.
    pub async fn exec_create(&self, id: &ContainerId, spec: &ExecSpec) -> Result<ExecId, EngineError> {
        let what = format!("exec in container {}", id.short());
        let config = ExecConfig {
            attach_stdin: Some(spec.stdin),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(spec.tty.is_some()),
            env: Some(spec.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            cmd: Some(spec.argv.clone()),
            user: spec.user.clone(),
            working_dir: spec.workdir.clone(),
            ..Default::default()
        };
        let call = self.docker().create_exec(&id.0, config);
        Ok(ExecId(self.within(&what, self.deadlines().quick, call).await?.id))
    }

    /// The command's state. The exit code of a command that just ended may take a moment to appear.
    ///
    /// # Errors
    ///
    /// [`EngineError::NotFound`]: engines forget commands some minutes after their end, and all on a restart.
    pub async fn exec_inspect(&self, exec: &ExecId) -> Result<ExecFacts, EngineError> {
        let call = self.docker().inspect_exec(name::container(&exec.0)?);
        Ok(facts(&self.within("inspect of a command", self.deadlines().quick, call).await?))
    }

    /// Tells a command's terminal its size.
    ///
    /// # Errors
    ///
    /// [`EngineError::NotFound`] after the command's end.
    pub async fn exec_resize(&self, exec: &ExecId, rows: u16, columns: u16) -> Result<(), EngineError> {
        let options = ResizeExecOptions { h: i32::from(rows), w: i32::from(columns) };
        let call = self.docker().resize_exec(name::container(&exec.0)?, options);
        self.within("resize of a terminal", self.deadlines().quick, call).await
    }
}

/// The engine's answer in our words: a running command has no exit code, whatever some engines report.
fn facts(response: &ExecInspectResponse) -> ExecFacts {
    let running = response.running.unwrap_or(false);
    ExecFacts {
        running,
        exit_code: response.exit_code.filter(|_| !running),
        pid: response.pid.and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0),
    }
}
