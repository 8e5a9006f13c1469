//! Starts a permitted command beside the gateway: its record, its surroundings, its supervisor.

use std::path::{Path, PathBuf};

use super::beside::Fixed;
use super::error::thrown;
use super::job::Job;
use super::shape::Around;
use crate::approvals::policy::Target;
use crate::approvals::{Ground, HostPermit};
use crate::error::{Failure, Report};
use crate::paths::hold::HeldSource;
use crate::process::record::{Place, SessionId};
use crate::process::shorten;
use crate::runner::host_plan::{HostCall, HostSetting, HostSide, Vars};
use crate::runner::{self, Link, RunError};
use crate::sandbox::{InitSearch, Layout, locate_and_install};
use crate::state::random_hex;
use crate::tools::{ToolError, Toolbox};
use crate::wire::CommandId;

/// Characters of a command in the log.
const LOGGED: usize = 120;

/// Code and fix of a directory that was exchanged.
pub(super) const MOVED: (&str, &str) =
    ("CRL-WORKDIR-008", "leave the directory alone while commands are started, and try again");

/// A session that is recorded and does not run yet.
struct Begun {
    id: SessionId,
    command: CommandId,
    dir: PathBuf,
}

/// Starts it. `detached`: nobody waits for it, so that it is in the background from its first moment.
pub(super) async fn run(
    toolbox: &Toolbox,
    job: &Job<'_>,
    fixed: &Fixed,
    permit: &HostPermit,
    setting: &HostSetting,
    detached: bool,
) -> Result<SessionId, Failure> {
    log(job, permit);
    let begun = begin(toolbox, job, &fixed.cwd).map_err(|error| Failure(error.report))?;
    let started = async {
        if detached {
            toolbox.sessions.background(&begun.id)?;
        }
        launch(toolbox, job, permit, setting, &begun, &fixed.held).await
    };
    match started.await {
        Ok(()) => Ok(begun.id),
        Err(failure) => {
            let _ = toolbox.sessions.abandon(&begun.id);
            Err(failure)
        }
    }
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

/// What surrounds a command. Nothing of this fails; what is left out is told. `exact`: no alias or function of the user's
/// takes the place of a program.
pub(super) async fn setting(
    toolbox: &Toolbox,
    job: &Job<'_>,
    workdir: &Path,
    exact: bool,
    around: &mut Around,
) -> HostSetting {
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
    let call = HostCall { workdir, store: &[], surroundings: &surroundings, exact };
    let (setting, warnings) = HostSetting::gather(toolbox.open.probes(), &side, &call).await;
    for warning in warnings {
        if !around.warnings.contains(&warning) {
            around.warnings.push(warning);
        }
    }
    setting
}

/// Leaving isolation leaves a trace. No secret stands in it: logs are read by others.
fn log(job: &Job<'_>, permit: &HostPermit) {
    let command = shorten::middle(&crate::approvals::display::noted(&job.params.command), LOGGED);
    let session = job.gathered.subject.session.as_str();
    let digest = permit.digest();
    match permit.ground() {
        Ground::ElevatedFull => {
            tracing::info!(target: "exec/elevated", session, permit = digest, %command, "full");
        }
        ground => tracing::info!(target: "exec/host", session, permit = digest, ?ground, %command, "run"),
    }
}
