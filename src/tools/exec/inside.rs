//! A command in the session's sandbox: directory, environment, permit, start (spec `exec.md` §1.3 from step 9).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::thrown;
use super::job::Job;
use super::open;
use super::shape::{Around, not_executed};
use super::{Started, guards};
use crate::approvals::Command;
use crate::approvals::policy::Target;
use crate::client::{Call, Sandbox, SandboxOptions};
use crate::config::mounts::{Kind, Managed};
use crate::paths::{GuestDir, Mounted, WorkdirError, guest_dir};
use crate::process::record::Place;
use crate::runner::host_plan::sandbox_call;
use crate::tools::{ToolError, Toolbox};

/// What is known before the sandbox is opened.
struct Ahead {
    workspace: Mounted,
    skills: Vec<Mounted>,
    env: Vec<(String, String)>,
}

/// Starts a command in the sandbox.
pub(super) async fn start(
    toolbox: &Toolbox,
    job: &Job<'_>,
    around: &mut Around,
) -> Result<Started, ToolError> {
    let ahead = look_ahead(job);
    // The workspace of a first call is made with its sandbox; one that is there is looked at before anything is made.
    let early = if ahead.workspace.host.is_dir() { Some(workdir(job, &ahead)) } else { None };
    let dir = match early {
        Some(Err(error)) => return Ok(Started::Not(not_executed(&error, asked(job)))),
        Some(Ok(dir)) => Some(dir),
        None => None,
    };
    let env = sandbox_call(&job.params.env(), &job.surroundings()).map_err(|error| thrown(&error))?;
    let ahead = Ahead { env, ..ahead };
    if let Some(dir) = &dir {
        guards::preflight(&job.params.command, &dir.host, Some(Path::new(&dir.guest)))?;
    }
    let sandbox = open(toolbox, job).await?;
    let dir = match dir.map_or_else(|| workdir(job, &ahead), Ok) {
        Ok(dir) => dir,
        Err(error) => return Ok(Started::Not(not_executed(&error, asked(job)))),
    };
    sandbox.image().clone_into(&mut around.image);
    around.detour = sandbox.detour().map(str::to_owned);
    run(toolbox, job, &sandbox, dir, ahead.env).await
}

async fn run(
    toolbox: &Toolbox,
    job: &Job<'_>,
    sandbox: &Arc<Sandbox>,
    dir: GuestDir,
    env: Vec<(String, String)>,
) -> Result<Started, ToolError> {
    let name = sandbox.ready().name.clone();
    let place = match sandbox.link() {
        Some(_) if sandbox.detour().is_none() => {
            Place::Sandbox { name, container: sandbox.container().0.clone() }
        }
        _ => Place::Engine { name },
    };
    let begin = job.begin(Target::Sandbox, place, dir.guest.clone());
    let (id, command) = toolbox.sessions.begin(begin).map_err(|error| thrown(&error))?;
    let call = Call {
        command: Command::Shell(job.params.command.clone()),
        workdir: Some(dir.guest),
        env,
        options: job.options(),
    };
    let session = job.gathered.subject.session.as_str();
    match sandbox.start_as(command, session, &call).await {
        Ok(running) => {
            toolbox.sessions.follow(&id, running).map_err(|error| thrown(&error))?;
            // The sandbox is leased for as long as the command lives.
            let _ = toolbox.sessions.hold(&id, Arc::clone(sandbox));
            Ok(Started::Session(id))
        }
        Err(failure) => {
            let _ = toolbox.sessions.abandon(&id);
            toolbox.open.drop_one(&key(job));
            Err(ToolError::of(failure.0))
        }
    }
}

fn asked<'j>(job: &'j Job<'_>) -> &'j str {
    job.params.workdir().unwrap_or_default()
}

fn workdir(job: &Job<'_>, ahead: &Ahead) -> Result<GuestDir, WorkdirError> {
    guest_dir(job.params.workdir(), &ahead.workspace, &ahead.skills)
}

fn look_ahead(job: &Job<'_>) -> Ahead {
    let sandbox = &job.gathered.sandbox;
    let session = &job.gathered.subject.session;
    let root: PathBuf = sandbox.host_workspace(session);
    let (workspace, beside) = sandbox.managed(session, &root);
    let mounted = |one: Managed| Mounted { guest: one.target, host: one.source };
    let skills = beside.into_iter().filter(|one| one.kind == Kind::ProtectedSkill);
    Ahead { skills: skills.map(mounted).collect(), workspace: mounted(workspace), env: Vec::new() }
}

fn key(job: &Job<'_>) -> String {
    let gathered = job.gathered;
    let place = &gathered.sandbox.agent_workspace;
    let scope = gathered.sandbox.scope_key(&gathered.subject.session, place);
    open::key(gathered.config.file(), &gathered.subject, &scope)
}

async fn open(toolbox: &Toolbox, job: &Job<'_>) -> Result<Arc<Sandbox>, ToolError> {
    // Before one that is open already is found.
    if let Some(refused) = toolbox.base.refused() {
        return Err(ToolError::of(refused.0));
    }
    let subject = &job.gathered.subject;
    let options: SandboxOptions = toolbox
        .base
        .clone()
        .agent(subject.agent.as_str())
        .session(subject.session.as_str())
        .stamp(subject.stamp.clone());
    let config = job.gathered.config.file();
    toolbox.open.get(&key(job), config, &options).await.map_err(|failure| ToolError::of(failure.0))
}
