//! What every action works with: the sessions of one agent. Those of others do not exist here (design §1, `process`
//! scope).

use tokio_util::sync::CancellationToken;

use super::{Polls, Reply};
use crate::process::record::{Phase, SessionId, View};
use crate::process::sessions::{ProcessError, Sessions};
pub(super) use crate::process::store::now_ms;
use crate::process::{name, shorten};
use crate::session::AgentId;
use crate::shown;
use crate::tools::Presence;

/// The way out where a terminal's input was ended: the text of the refusal itself is fixed.
const AFTER_EOF: &str = "Its input was ended with eof. Kill it and start it anew to type more; to send end-of-input and \
                         go on typing, use send-keys with C-d instead of eof.";
/// Characters of an id that a refusal repeats.
const MAX_ID: usize = 120;

/// One call's view of the table.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) polls: &'a Polls,
    /// The scope.
    pub(super) agent: AgentId,
    /// The caller's id of the call.
    pub(super) call: Option<&'a str>,
    /// Whether the caller is there.
    pub(super) presence: &'a Presence,
    pub(super) cancel: CancellationToken,
}

/// What an id names.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing, a session of another agent, or one whose `exec` has given its result.
    Nothing,
    /// One that its `exec` still waits for.
    Foreground,
    /// One in the background.
    Running(View),
    /// One that ended there.
    Finished(View),
}

impl Desk<'_> {
    /// What an id names, as far as this agent may know.
    pub(super) fn find(&self, id: &SessionId) -> Found {
        match self.sessions.view(id).filter(|view| self.owns(view)) {
            None => Found::Nothing,
            Some(view) => match (backgrounded(&view), over(&view)) {
                (true, true) => Found::Finished(view),
                (true, false) => Found::Running(view),
                (false, true) => Found::Nothing,
                (false, false) => Found::Foreground,
            },
        }
    }

    /// Everything that a list shows, newest start first.
    pub(super) fn listed(&self) -> Vec<View> {
        let mut views = self.sessions.views();
        views.retain(|view| self.owns(view) && backgrounded(view));
        views
    }

    /// A running session that takes input, or the refusal (spec `exec.md` §7.7, in its order).
    pub(super) fn writable(&self, id: &SessionId) -> Result<View, Reply> {
        let view = self.active(id)?;
        if view.stdin_writable {
            Ok(view)
        } else {
            let refusal = format!("Session {} stdin is not writable.", told(id));
            Err(Reply::failed(if view.begin.tty.is_some() {
                format!("{refusal}\n{AFTER_EOF}")
            } else {
                refusal
            }))
        }
    }

    /// A running session, or the refusal of the actions that need one.
    pub(super) fn active(&self, id: &SessionId) -> Result<View, Reply> {
        match self.find(id) {
            Found::Running(view) if view.finalizing => Err(finalizing(id)),
            Found::Running(view) => Ok(view),
            Found::Foreground => Err(not_backgrounded(id)),
            Found::Nothing | Found::Finished(_) => {
                Err(Reply::failed(format!("No active session found for {}", told(id))))
            }
        }
    }

    /// A running or finished session, or the refusal of the actions that need either.
    pub(super) fn any(&self, id: &SessionId) -> Result<View, Reply> {
        match self.find(id) {
            Found::Running(view) | Found::Finished(view) => Ok(view),
            Found::Foreground => Err(not_backgrounded(id)),
            Found::Nothing => Err(Reply::failed(format!("No session found for {}", told(id)))),
        }
    }

    fn owns(&self, view: &View) -> bool {
        view.begin.agent == self.agent.as_str()
    }
}

/// Its end is being stored: nothing can be done with it for a moment.
pub(super) fn finalizing(id: &SessionId) -> Reply {
    Reply::failed(format!("Session {} is finalizing.", told(id)))
}

fn not_backgrounded(id: &SessionId) -> Reply {
    Reply::failed(format!("Session {} is not backgrounded.", told(id)))
}

fn backgrounded(view: &View) -> bool {
    view.backgrounded || view.phase == Phase::Background
}

/// Whether it has ended.
pub(super) fn over(view: &View) -> bool {
    view.end.is_some()
}

/// An id as a text repeats it: those that creel gives come out unchanged.
pub(super) fn told(id: &SessionId) -> String {
    shorten::middle(&shown::one_line(&id.0), MAX_ID)
}

/// A failure of the table itself.
pub(super) fn trouble(doing: &str, id: &SessionId, error: &ProcessError) -> Reply {
    if let ProcessError::Finalizing { .. } = error {
        return finalizing(id);
    }
    Reply::failed(format!("Unable to {doing} session {}: {}.", told(id), shown::one_line(&error.to_string())))
}

/// The label of a session.
pub(super) fn label(view: &View) -> Option<String> {
    name::derived(&view.begin.command)
}
