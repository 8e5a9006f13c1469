//! A command on the gateway's host: guards, directory, environment, permit, start (spec `exec.md` §1.3 from step 9).

use std::path::{Path, PathBuf};

use super::decide::Decided;
use super::error::{ExecError, thrown};
use super::job::Job;
use super::shape::{Around, not_executed, unavailable};
use super::{Started, guards};
use crate::approvals::host::{self, HostDenied};
use crate::approvals::policy::Target;
use crate::approvals::{Command, Ground, HostCommand, HostPermit};
use crate::error::{Failure, Report};
use crate::paths::hold::HeldSource;
use crate::paths::host_dir;
use crate::process::record::{Place, SessionId};
use crate::process::shorten;
use crate::runner::host_plan::{HostCall, HostSetting, HostSide, Vars, host_call};
use crate::runner::{self, Link, RunError};
use crate::sandbox::{InitSearch, Layout, locate_and_install};
use crate::state::random_hex;
use crate::tools::{ToolError, Toolbox};
use crate::wire::CommandId;

/// Characters of a command in the log.
const LOGGED: usize = 120;

/// Starts a command beside the gateway.
pub(super) async fn start(
    toolbox: &Toolbox,
    job: &Job<'_>,
    decided: &Decided,
    around: &mut Around,
) -> Result<Started, ToolError> {
    let session = session_dir(job)?;
    let process = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let held = match host_dir(job.params.workdir(), Some(&session), &process) {
        Ok(held) => held,
        Err(error) => {
            return Ok(Started::Not(not_executed(&error, job.params.workdir().unwrap_or_default())));
        }
    };
    let cwd = held.path().to_string_lossy().into_owned();
    guards::live_state(&job.params.command, job.gathered, held.path())?;
    let env = host_call(&job.params.env()).map_err(|error| thrown(&error))?;
    let permit = match permit(job, decided, &cwd, env) {
        Ok(permit) => permit,
        Err(denied) => return refused(job, &denied, &cwd, around),
    };
    if *permit.ground() != Ground::ElevatedFull {
        guards::preflight(&job.params.command, held.path(), None)?;
    }
    log(job, &permit);
    let setting = setting(toolbox, job, held.path(), around).await;
    let begun = begin(toolbox, job, &cwd)?;
    match launch(toolbox, job, &permit, &setting, &begun, &held).await {
        Ok(()) => Ok(Started::Session(begun.id)),
        Err(error) => {
            let _ = toolbox.sessions.abandon(&begun.id);
            if error.0.code == MOVED.0 {
                return Ok(Started::Not(not_executed(&ToolError::of(error.0), &cwd)));
            }
            Err(ToolError::of(error.0))
        }
    }
}

/// A session that is recorded and does not run yet.
struct Begun {
    id: SessionId,
    command: CommandId,
    dir: PathBuf,
}

fn begin(toolbox: &Toolbox, job: &Job<'_>, cwd: &str) -> Result<Begun, ToolError> {
    let dir = job.gathered.state.own("host").map_err(|error| thrown(&error))?;
    let name = random_hex::<8>().map_err(|error| thrown(&RunError::Random { reason: error.to_string() }))?;
    let dir = dir.join(name);
    let begin = job.begin(Target::Gateway, Place::Host { dir: dir.clone() }, cwd.to_owned());
    let (id, command) = toolbox.sessions.begin(begin).map_err(|error| thrown(&error))?;
    Ok(Begun { id, command, dir })
}

/// Starts the supervisor, then the command under it.
async fn launch(
    toolbox: &Toolbox,
    job: &Job<'_>,
    permit: &HostPermit,
    setting: &HostSetting,
    begun: &Begun,
    held: &HeldSource,
) -> Result<(), Failure> {
    let search = InitSearch::from_process(|name| toolbox.base.variable(name));
    let init = locate_and_install(&Layout::new(&job.gathered.state), &search)?;
    let link: Link = runner::host::launch(&init.path, &begun.dir).await?;
    // What was judged is the directory, not its name: another one under the name was judged by nobody.
    if !held.still_there() {
        return Err(moved(held.path()));
    }
    let running = runner::start_on_host(begun.command, permit, setting, &job.options(), &link).await?;
    toolbox.sessions.follow(&begun.id, running)?;
    Ok(())
}

/// Code and fix of a directory that was exchanged.
const MOVED: (&str, &str) =
    ("CRL-WORKDIR-008", "leave the directory alone while commands are started, and try again");

fn moved(path: &Path) -> Failure {
    Failure(Report {
        code: MOVED.0,
        message: format!(
            "the working directory {:?} was exchanged while the command was being started; nothing was executed",
            path.display().to_string()
        ),
        rule: Some("built-in: a command starts in the directory that was judged".to_owned()),
        fix: MOVED.1.to_owned(),
    })
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

/// What surrounds it. Nothing of this fails; what is left out is told.
async fn setting(toolbox: &Toolbox, job: &Job<'_>, workdir: &Path, around: &mut Around) -> HostSetting {
    let env: Vars = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let side = HostSide {
        env: &env,
        home: job.gathered.places.home.as_deref(),
        state: job.gathered.state.root(),
        path_prepend: &job.gathered.exec.path_prepend,
    };
    let surroundings = job.surroundings();
    let call = HostCall { workdir, store: &[], surroundings: &surroundings, exact: false };
    let (setting, warnings) = HostSetting::gather(toolbox.open.probes(), &side, &call).await;
    around.warnings.extend(warnings);
    setting
}

fn permit(
    job: &Job<'_>,
    decided: &Decided,
    cwd: &str,
    env: Vec<(String, String)>,
) -> Result<HostPermit, HostDenied> {
    let command = HostCommand {
        command: Command::Shell(job.params.command.clone()),
        host: Target::Gateway,
        workdir: cwd.to_owned(),
        env,
        session: job.gathered.subject.session.as_str().to_owned(),
        agent: job.gathered.subject.agent.to_string(),
    };
    // Whether a command carries code in an argument is not looked for yet: each may.
    host::permit(command, &decided.standing(job.gathered.exec.strict_inline_eval))
}

fn refused(job: &Job<'_>, denied: &HostDenied, cwd: &str, around: &Around) -> Result<Started, ToolError> {
    match denied {
        HostDenied::Person { .. } if job.context.cron => Err(ExecError::CannotWait(denied.clone()).into()),
        HostDenied::Person { .. } => {
            let command = &job.params.command;
            let host = Target::Gateway;
            Ok(Started::Not(unavailable(denied, host, command, cwd, job.context, &around.warnings)))
        }
        _ => Err(ExecError::Host(denied.clone()).into()),
    }
}

/// Leaving isolation leaves a trace.
fn log(job: &Job<'_>, permit: &HostPermit) {
    let command = shorten::middle(&crate::shown::one_line(&job.params.command), LOGGED);
    let session = job.gathered.subject.session.as_str();
    match permit.ground() {
        Ground::ElevatedFull => {
            tracing::info!(target: "exec/elevated", session, permit = permit.digest(), %command, "full");
        }
        Ground::Written(key) => {
            tracing::info!(target: "exec/host", session, permit = permit.digest(), %key, %command, "run");
        }
        ground => {
            tracing::info!(target: "exec/host", session, permit = permit.digest(), ?ground, %command, "run");
        }
    }
}
