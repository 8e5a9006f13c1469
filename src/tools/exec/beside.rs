//! A command on the gateway's host: guards, directory, environment, decision, start (spec `exec.md` §1.3 from step 9,
//! `approvals.md` §20).

use std::path::PathBuf;
use std::sync::Arc;

use super::ask;
use super::decide::Decided;
use super::error::{ExecError, thrown};
use super::job::Job;
use super::launch::{self, MOVED};
use super::look;
use super::shape::{self, Around, Reason, not_executed};
use super::{Started, guards};
use crate::approvals::binding::Binding;
use crate::approvals::host::{self, Cleared, HostDenied, Launch, Next};
use crate::approvals::policy::Target;
use crate::approvals::store;
use crate::approvals::{Command, Ground, HostCommand};
use crate::config::exec::{Ask, Security};
use crate::error::Failure;
use crate::paths::hold::HeldSource;
use crate::paths::host_dir;
use crate::process::record::SessionId;
use crate::runner::host_plan::host_call;
use crate::tools::{ToolError, ToolResult, Toolbox};

/// What of a command is fixed before anything is decided about it.
#[derive(Debug, Clone)]
pub(super) struct Fixed {
    /// The directory, held.
    pub(super) held: Arc<HeldSource>,
    /// Its path.
    pub(super) cwd: String,
    /// The call's variables that passed the filter.
    pub(super) env: Vec<(String, String)>,
}

/// The call around a question: who waits for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    /// Where a question is shown to a caller that can ask a person.
    pub(super) partial: Option<&'a tokio::sync::mpsc::Sender<ToolResult>>,
    /// The caller gave up.
    pub(super) cancel: &'a tokio_util::sync::CancellationToken,
}

/// Starts a command beside the gateway, or asks about it.
pub(super) async fn start(
    toolbox: &Toolbox,
    job: &Job<'_>,
    decided: &Decided,
    around: &mut Around,
    caller: Caller<'_>,
) -> Result<Started, ToolError> {
    let fixed = match fix(job)? {
        Ok(fixed) => fixed,
        Err(result) => return Ok(Started::Not(result)),
    };
    let standing = decided.standing();
    let Some(next) = host::ahead(Target::Gateway, &standing) else {
        let look = Arc::new(look::look(toolbox, job, decided, &fixed, around).await?);
        let case = ask::Case { toolbox, job, decided, fixed: &fixed, look: &look };
        return match host::decide(Target::Gateway, &standing, &look.looked()) {
            Next::Deny(denied) => Err(ExecError::Host(denied).into()),
            Next::Run(cleared) => listed(&case, cleared, around).await,
            Next::Ask(asking) => Box::pin(ask::ask(&case, *asking, around, caller)).await,
        };
    };
    match next {
        Next::Run(cleared) => {
            let way = Way { cleared, binding: None, detached: false };
            begin(toolbox, job, decided, &fixed, way, around).await
        }
        Next::Deny(denied) => Err(ExecError::Host(denied).into()),
        // Nothing is asked about a command that nobody has looked at.
        Next::Ask(_) => Err(ExecError::Aborted.into()),
    }
}

/// Directory and environment, or the result that says why there are none.
fn fix(job: &Job<'_>) -> Result<Result<Fixed, ToolResult>, ToolError> {
    let session = session_dir(job)?;
    let process = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let held = match host_dir(job.params.workdir(), Some(&session), &process) {
        Ok(held) => held,
        Err(error) => return Ok(Err(not_executed(&error, job.params.workdir().unwrap_or_default()))),
    };
    let cwd = held.path().to_string_lossy().into_owned();
    guards::live_state(&job.params.command, job.gathered, held.path())?;
    let env = host_call(&job.params.env()).map_err(|error| thrown(&error))?;
    Ok(Ok(Fixed { held: Arc::new(held), cwd, env }))
}

/// The agent's workspace. The one that creel has by itself is made when it is first used; a configured one must be there.
fn session_dir(job: &Job<'_>) -> Result<PathBuf, ToolError> {
    let gathered = job.gathered;
    let place = gathered.config.agent_workspace(&gathered.subject.agent, &gathered.places);
    let place = place.map_err(|error| thrown(&error))?;
    if place.starts_with(gathered.state.root())
        && !place.exists()
        && let Err(error) = std::fs::create_dir_all(&place)
    {
        tracing::warn!(%error, dir = %place.display(), "the workspace could not be made");
    }
    Ok(place)
}

/// How a command that may run is run.
pub(super) struct Way<'a> {
    /// That it may.
    pub(super) cleared: Cleared,
    /// What was bound: that is what runs, looked at again by whoever starts it.
    pub(super) binding: Option<&'a Binding>,
    /// Nobody waits for it.
    pub(super) detached: bool,
}

/// All of it is listed: it runs as it was matched.
async fn listed(case: &ask::Case<'_>, cleared: Cleared, around: &mut Around) -> Result<Started, ToolError> {
    let ask::Case { toolbox, job, decided, fixed, look } = case;
    if cleared.launch() == Launch::AsWritten {
        let way = Way { cleared, binding: None, detached: false };
        return begin(toolbox, job, decided, fixed, way, around).await;
    }
    let refused = |reason: Reason, around: &Around| {
        Ok(Started::Not(shape::denied(job, &fixed.cwd, None, &reason, around)))
    };
    let pinned = match look::pinned(look, fixed).await? {
        Some(Ok(binding)) => binding,
        Some(Err(error)) => return refused(Reason::of(&error), around),
        None => return refused("allowlist-miss".into(), around),
    };
    if store::read(&job.gathered.state).revision() != job.gathered.document.revision()
        && let Err(reason) = ask::unchanged(toolbox, job, decided).await
    {
        return refused(reason, around);
    }
    for grant in look.grants() {
        if let Err(error) = toolbox.desk.use_grant(grant) {
            return refused(Reason::shown(&error), around);
        }
    }
    let way = Way { cleared, binding: Some(&pinned), detached: false };
    let started = begin(toolbox, job, decided, fixed, way, around).await?;
    if matches!(started, Started::Session(_)) {
        look::touch(toolbox, job, look.uses());
    }
    Ok(started)
}

/// Starts a command that may run, with its caller waiting.
async fn begin(
    toolbox: &Toolbox,
    job: &Job<'_>,
    decided: &Decided,
    fixed: &Fixed,
    way: Way<'_>,
    around: &mut Around,
) -> Result<Started, ToolError> {
    preflight(job, decided, fixed, way.cleared.ground())?;
    match go(toolbox, job, fixed, way, around).await {
        Ok(id) => Ok(Started::Session(id)),
        Err(failure) if failure.0.code == MOVED.0 => {
            Ok(Started::Not(not_executed(&ToolError::of(failure.0), &fixed.cwd)))
        }
        Err(failure) => Err(ToolError::of(failure.0)),
    }
}

/// Scripts that would fail half-way: looked at after the decision, where there was one to take (spec `exec.md` §13.1).
pub(super) fn preflight(
    job: &Job<'_>,
    decided: &Decided,
    fixed: &Fixed,
    ground: &Ground,
) -> Result<(), ToolError> {
    let open = (decided.policy.security, decided.policy.ask) == (Security::Full, Ask::Off);
    if open || *ground == Ground::ElevatedFull {
        return Ok(());
    }
    guards::preflight(&job.params.command, fixed.held.path(), None)
}

/// Makes the permit and starts the command.
pub(super) async fn go(
    toolbox: &Toolbox,
    job: &Job<'_>,
    fixed: &Fixed,
    way: Way<'_>,
    around: &mut Around,
) -> Result<SessionId, Failure> {
    let exact = way.cleared.launch() != Launch::AsWritten;
    let setting = launch::setting(toolbox, job, fixed.held.path(), exact, around).await;
    let command = HostCommand {
        command: Command::Shell(job.params.command.clone()),
        host: Target::Gateway,
        workdir: fixed.cwd.clone(),
        env: fixed.env.clone(),
        session: job.gathered.subject.session.as_str().to_owned(),
        agent: job.gathered.subject.agent.to_string(),
    };
    let permit = way.cleared.permit(command, way.binding).ok_or_else(|| Failure::from(ExecError::Aborted))?;
    launch::run(toolbox, job, fixed, &permit, &setting, way.detached).await
}

/// Nobody can be asked: what is thrown, or the result that says so.
pub(super) fn nobody(
    job: &Job<'_>,
    refused: HostDenied,
    cwd: &str,
    around: &Around,
) -> Result<Started, ToolError> {
    if job.context.cron {
        return Err(ExecError::CannotWait(refused).into());
    }
    let command = &job.params.command;
    let warnings = &around.warnings;
    let result = shape::unavailable(&refused, Target::Gateway, command, cwd, job.context, warnings);
    Ok(Started::Not(result))
}
