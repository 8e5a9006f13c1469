//! `exec`: run a command (spec `exec.md` §1, §2, §5).
//!
//! | file | concern |
//! |---|---|
//! | [`params`] | the call |
//! | `gather` | what the decision needs, out of files |
//! | `decide` | where it runs, under which policy; pure |
//! | `guards` | what is not run anywhere |
//! | `job` | the record of its session, the options of its command; pure |
//! | `open` | sandboxes that are open |
//! | `inside`, `beside` | started in the sandbox, on the gateway's host |
//! | `look`, `lists` | what a host command runs, what covers it |
//! | `ask`, `reviewing` | somebody is asked about a host command |
//! | `later` | one that waits after its call has returned |
//! | `launch` | a permitted host command is started |
//! | [`waiting`] | what host commands share |
//! | `wait` | the caller waits |
//! | `shape` | results; pure |
//! | [`explain`] | what a call would come to, and why |
//! | [`error`] | what is thrown |
//!
//! The order of checks is the specification's: the first that fails decides the error.

mod ask;
mod beside;
mod decide;
pub mod error;
pub mod explain;
mod gather;
mod guards;
mod inside;
mod job;
mod later;
mod launch;
mod lists;
mod look;
mod open;
pub mod params;
mod reviewing;
mod shape;
mod wait;
pub mod waiting;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::decide::{Decided, decide};
use self::error::{ExecError, thrown};
use self::gather::Gathered;
use self::job::Job;
use self::params::Params;
use self::shape::{Around, not_executed};
use self::wait::{Stood, TAIL, Wait};
use super::{Context, ToolError, ToolResult, Toolbox};
use crate::approvals::policy::Target;
use crate::policy::Level;
use crate::process::record::{SessionId, View};
use crate::runner::{Asked, StartFailure};

pub use open::OpenSandboxes;
pub use waiting::Waiting;

/// What became of a start.
#[derive(Debug)]
enum Started {
    /// The command is on its way.
    Session(SessionId),
    /// Nothing was executed, and this says why.
    Not(ToolResult),
}

/// Runs a call.
///
/// # Errors
///
/// What the tool throws (spec `exec.md` §1.3): nothing ran, or the call was cancelled and its command ended.
pub async fn call(
    toolbox: &Toolbox,
    params: Value,
    context: &Context,
    partial: Option<mpsc::Sender<ToolResult>>,
    cancel: CancellationToken,
) -> Result<ToolResult, ToolError> {
    let gathered = Arc::new(gather(toolbox, context, "exec").await?);
    let params = params::read(params)?;
    let run = Run { toolbox, gathered: &gathered, params: &params, context, partial, cancel };
    Box::pin(run.run()).await
}

/// The context of a `process` call with its agent filled in, which is the scope of sessions; refused where the run does
/// not have the tool.
///
/// # Errors
///
/// When the tool is not there, or what decides that cannot be read.
pub(super) async fn process_context(toolbox: &Toolbox, context: &Context) -> Result<Context, ToolError> {
    let gathered = gather(toolbox, context, "process").await?;
    Ok(Context { agent: Some(gathered.subject.agent.to_string()), ..context.clone() })
}

async fn gather(toolbox: &Toolbox, context: &Context, tool: &'static str) -> Result<Gathered, ToolError> {
    let (base, context) = (toolbox.base.clone(), context.clone());
    let read = tokio::task::spawn_blocking(move || Gathered::read(&base, &context, tool)).await;
    match read {
        Ok(read) => read.map_err(|failure| ToolError::of(failure.0)),
        Err(_) => Err(ExecError::Aborted.into()),
    }
}

/// One call.
struct Run<'a> {
    toolbox: &'a Toolbox,
    gathered: &'a Arc<Gathered>,
    params: &'a Params,
    context: &'a Context,
    partial: Option<mpsc::Sender<ToolResult>>,
    cancel: CancellationToken,
}

impl Run<'_> {
    async fn run(&self) -> Result<ToolResult, ToolError> {
        let mut around = self.around();
        let Some(call) = self.call_key() else {
            let started = self.start(&mut around, None).await?;
            return self.answer(started, &around).await;
        };
        loop {
            // Of two calls with one id the second finds what the first has begun.
            let turn = self.toolbox.open.turn(&call).await;
            let Some(id) = self.toolbox.sessions.by_call(&call) else {
                // It waits for a person, or was denied.
                if let Some(result) = self.toolbox.waiting.known(&call) {
                    return Ok(result);
                }
                let started = self.start(&mut around, Some(call)).await?;
                drop(turn);
                return self.answer(started, &around).await;
            };
            drop(turn);
            match self.wait(&id, &around).stand(self.window()).await? {
                // A keeper was killed before it had started the command.
                Stood::NeverRan(_) => {}
                stood => return self.told(stood, &around).await,
            }
        }
    }

    fn around(&self) -> Around {
        let mut around = Around { process: self.gathered.process, ..Around::default() };
        if self.params.continues() && !self.gathered.process {
            around.warnings.push(
                "Warning: background and yieldMs are not available to this run, which has no process tool; the call \
                 waited for the end of the command."
                    .to_owned(),
            );
        }
        around
    }

    /// The call's name in the table: ids are told apart by their session and their command, because some models count
    /// anew in each turn.
    fn call_key(&self) -> Option<String> {
        let id = self.context.call_id.as_deref().filter(|id| !id.is_empty())?;
        let session = self.gathered.subject.session.as_str();
        let text = format!("{}\n{session}\n{}\n{id}\n{}", session.len(), id.len(), self.params.command);
        Some(crate::session::digest(&text))
    }

    /// Checks everything and starts the command; where a terminal cannot be had, again without one.
    async fn start(&self, around: &mut Around, call: Option<String>) -> Result<Started, ToolError> {
        let terminal = self.params.pty == Some(true);
        let started = self.start_with(around, call.clone(), terminal).await?;
        let Started::Session(id) = &started else { return Ok(started) };
        // The window begins with the process, and a result can name it.
        let view = self.wait(id, around).started(self.in_background()).await;
        let Some(reason) = view.filter(|_| terminal).and_then(|view| no_terminal(&view)) else {
            return Ok(started);
        };
        let _ = self.toolbox.sessions.remove(id).await;
        around.warnings.push(format!(
            "Warning: no terminal could be made ({reason}); {:?} was run without one.",
            crate::process::shorten::middle(&crate::shown::one_line(&self.params.command), 120)
        ));
        // Policy may have changed between the two: it is asked again.
        self.start_with(around, call, false).await
    }

    async fn start_with(
        &self,
        around: &mut Around,
        call: Option<String>,
        terminal: bool,
    ) -> Result<Started, ToolError> {
        let decided = self.decide()?;
        let job = Job {
            gathered: self.gathered,
            params: self.params,
            context: self.context,
            call,
            tty: terminal.then_some(job::TERMINAL),
            background: self.in_background(),
            approval: None,
        };
        guards::control(&self.params.command)?;
        if decided.level != Level::Off {
            let command = crate::process::shorten::middle(&crate::shown::one_line(&self.params.command), 120);
            let session = self.gathered.subject.session.as_str();
            tracing::info!(target: "exec/elevated", session, level = ?decided.level, %command, "elevated");
        }
        match decided.target {
            Target::Sandbox => inside::start(self.toolbox, &job, around).await,
            Target::Gateway => {
                let caller = beside::Caller { partial: self.partial.as_ref(), cancel: &self.cancel };
                beside::start(self.toolbox, &job, &decided, around, caller).await
            }
            Target::Node => Err(node(&job, &decided)),
        }
    }

    fn decide(&self) -> Result<Decided, ToolError> {
        Ok(decide(&self.gathered.known(self.context), self.params)?)
    }

    fn in_background(&self) -> bool {
        self.gathered.process && self.params.background == Some(true)
    }

    /// How long the caller waits; `None` to the end.
    fn window(&self) -> Option<Duration> {
        if !self.gathered.process {
            return None;
        }
        if self.in_background() {
            return Some(Duration::ZERO);
        }
        Some(Duration::from_millis(self.params.yield_ms().unwrap_or(self.gathered.exec.background_ms)))
    }

    fn wait<'w>(&'w self, id: &'w SessionId, around: &'w Around) -> Wait<'w> {
        Wait {
            sessions: &self.toolbox.sessions,
            id,
            around,
            partial: self.partial.as_ref(),
            cancel: &self.cancel,
            presence: &self.context.presence,
        }
    }

    /// Waits as the call wants it, and tells what became of the command.
    async fn answer(&self, started: Started, around: &Around) -> Result<ToolResult, ToolError> {
        let id = match started {
            Started::Session(id) => id,
            Started::Not(result) => return Ok(result),
        };
        let stood = self.wait(&id, around).stand(self.window()).await?;
        self.told(stood, around).await
    }

    async fn told(&self, stood: Stood, around: &Around) -> Result<ToolResult, ToolError> {
        match stood {
            Stood::Background(view) => {
                let tail = self.toolbox.sessions.tail(&view.id, TAIL).unwrap_or_default();
                Ok(around.background(&view, &tail))
            }
            Stood::Ended(view) => self.ended(&view, around).await,
            Stood::Overdue(view) => {
                let output = self.toolbox.sessions.aggregate(&view.id).map_err(|error| thrown(&error))?;
                around.finished(&view, output).ok_or_else(|| ExecError::Aborted.into())
            }
            Stood::NeverRan(error) => Err(error),
        }
    }

    async fn ended(&self, view: &View, around: &Around) -> Result<ToolResult, ToolError> {
        let sessions = &self.toolbox.sessions;
        let output = sessions.aggregate(&view.id).map_err(|error| thrown(&error))?;
        let result = match Self::never_ran(view, around) {
            Some(result) => result,
            None => around.finished(view, output).ok_or_else(|| ExecError::Aborted.into()),
        };
        // A call with an id may be said again: its result is kept for that.
        if view.begin.call.is_none() && !view.backgrounded {
            let _ = sessions.remove(&view.id).await;
        }
        // It is forgotten when the result has reached the caller.
        result
            .map(|result| ToolResult { kept: Some(view.id.clone()).filter(|_| !view.backgrounded), ..result })
    }

    /// What kept the command from running: its directory and what was exchanged are results, everything else is thrown.
    fn never_ran(view: &View, around: &Around) -> Option<Result<ToolResult, ToolError>> {
        let outcome = &view.end.as_ref()?.outcome;
        let failure = outcome.start_failure?;
        let asked = Asked {
            program: "/bin/sh".to_owned(),
            workdir: view.begin.cwd.clone(),
            image: around.image.clone(),
            ..Asked::default()
        };
        let report = outcome.describe(&asked)?;
        if failure.denied() {
            return Some(Ok(shape::exchanged(view, &report)));
        }
        let error = ToolError::of(report);
        Some(match failure {
            StartFailure::Workdir => Ok(not_executed(&error, &view.begin.cwd)),
            _ => Err(error),
        })
    }
}

/// Why a terminal could not be made, where that is what kept a command from running.
fn no_terminal(view: &View) -> Option<String> {
    let outcome = &view.end.as_ref()?.outcome;
    let setup = outcome.start_failure == Some(StartFailure::Setup);
    setup.then(|| match outcome.errno {
        0 => "the terminal or its session could not be set up".to_owned(),
        errno => std::io::Error::from_raw_os_error(errno).to_string(),
    })
}

/// A paired machine: what the call may not set is refused first, then that there is none.
fn node(job: &Job<'_>, decided: &Decided) -> ToolError {
    match crate::runner::host_plan::host_call(&job.params.env()) {
        Err(error) => thrown(&error),
        Ok(_) => ExecError::NoNode(decided.node.clone()).into(),
    }
}
