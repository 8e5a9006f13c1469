//! `process`: look at, feed and end commands in the background (spec `exec.md` §7).
//!
//! | file | concern |
//! |---|---|
//! | [`params`] | the call |
//! | `desk` | the sessions of one agent, and which of them an action can have |
//! | `reply` | the answer |
//! | `polls` | what is remembered between polls |
//! | `notes` | notes before and after an output |
//! | `deliver` | input on its way |
//! | `eyes` | the screen that the output draws |
//! | the others | one action each |

mod clear;
mod deliver;
mod desk;
mod eyes;
mod kill;
mod list;
mod log;
mod notes;
pub mod params;
mod paste;
mod poll;
mod polls;
mod remove;
mod reply;
mod screen;
mod send_keys;
mod submit;
mod wait;
mod write;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Context, ToolError, ToolResult, args};
use crate::error::Diagnose;
use crate::process::record::SessionId;
use crate::process::sessions::Sessions;
use crate::session::{AgentId, SessionError, SessionKey};
use desk::Desk;
use params::{Action, Params};
use reply::Reply;

pub use polls::Polls;

/// What the tool is, for the model.
pub const DESCRIPTION: &str = "Commands that exec left running: list, poll (new output and state), log (lines of the kept output), write, \
     send-keys, submit, paste, kill, clear, remove, screen (what the terminal shows), wait (for a text, a pattern, quiet \
     or the exit). Poll for a state when you need it, not in a loop: the end of a command is announced where that is \
     enabled and it printed something or failed. Work for a later time belongs to a schedule. timeout is in \
     milliseconds.";

/// The JSON Schema of the parameters.
pub fn schema() -> Value {
    args::schema_of::<Params>()
}

/// Runs a call. The context's agent is the scope; sessions of others are as unknown.
///
/// # Errors
///
/// Parameters that do not fit the schema, and a context whose agent or session cannot be read. Everything else is a
/// result.
pub async fn call(
    sessions: &Sessions,
    polls: &Polls,
    params: Value,
    context: &Context,
    cancel: CancellationToken,
) -> Result<ToolResult, ToolError> {
    carry(sessions, polls, params, context, cancel).await.map(ToolResult::delivered)
}

/// The same for whoever carries the result on, and says himself when it was delivered.
///
/// # Errors
///
/// As for [`call`].
pub(crate) async fn carry(
    sessions: &Sessions,
    polls: &Polls,
    params: Value,
    context: &Context,
    cancel: CancellationToken,
) -> Result<ToolResult, ToolError> {
    let params: Params = args::parse("process", params)?;
    let agent = scope(context).map_err(|error| ToolError::of(error.report()))?;
    let (call, presence) = (context.call_id.as_deref(), &context.presence);
    let desk = Desk { sessions, polls, agent, call, presence, cancel };
    Ok(run(&desk, params).await.unwrap_or_else(|refusal| refusal).into())
}

async fn run(desk: &Desk<'_>, params: Params) -> Result<Reply, Reply> {
    if params.action == Action::List {
        return Ok(list::run(desk));
    }
    let named = params.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
    let id = named.map(|id| SessionId(id.to_owned()));
    let id = id.ok_or_else(|| Reply::failed("sessionId is required for this action."))?;
    match params.action {
        Action::List => Ok(list::run(desk)),
        Action::Poll => poll::run(desk, &id, &params).await,
        Action::Log => log::run(desk, &id, &params),
        Action::Write => write::run(desk, &id, params).await,
        Action::SendKeys => send_keys::run(desk, &id, params).await,
        Action::Submit => submit::run(desk, &id).await,
        Action::Paste => paste::run(desk, &id, params).await,
        Action::Kill => kill::run(desk, &id).await,
        Action::Clear => clear::run(desk, &id),
        Action::Remove => remove::run(desk, &id).await,
        Action::Screen => screen::run(desk, &id).await,
        Action::Wait => wait::run(desk, &id, &params).await,
    }
}

/// The agent of a call: the one that is named, else that of the session key.
fn scope(context: &Context) -> Result<AgentId, SessionError> {
    let agent = context.agent.as_deref().map(AgentId::parse).transpose()?;
    match (agent, context.session.as_deref()) {
        (Some(agent), None) => Ok(agent),
        (Some(agent), Some(key)) => Ok(SessionKey::parse_for(key, &agent)?.agent().clone()),
        (None, Some(key)) => Ok(SessionKey::parse(key, &AgentId::main())?.agent().clone()),
        (None, None) => Ok(AgentId::main()),
    }
}

#[cfg(test)]
mod schema_tests;
