//! A call that waits for its command: until its end, until the window is over, or until the caller gives up (spec
//! `exec.md` §5.1).

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::{ExecError, thrown};
use super::shape::Around;
use crate::process::record::{SessionId, View};
use crate::process::sessions::{ProcessError, Sessions};
use crate::process::store::now_ms;
use crate::tools::{Presence, ToolError, ToolResult};

/// Characters of the tail in results.
pub(super) const TAIL: usize = 2000;
/// Most characters of one update.
const UPDATE: usize = 8192;
/// Updates do not come faster: each is a look at what is stored.
const UPDATE_PAUSE: Duration = Duration::from_millis(100);
/// How long the end of a command is awaited that was asked to end, beyond its grace.
const END_WITHIN: Duration = Duration::from_secs(10);
/// How long the process is awaited before a result names it that is wanted at once.
const STARTED_WITHIN: Duration = Duration::from_secs(5);

/// How a call's waiting ended.
#[derive(Debug)]
pub(super) enum Stood {
    /// The command has ended.
    Ended(Box<View>),
    /// Its limit passed without a word of its init; it is ended as soon as it can be.
    Overdue(Box<View>),
    /// It goes on in the background.
    Background(Box<View>),
    /// It was recorded and never started: the creel that would have died before.
    NeverRan(ToolError),
}

/// A call that waits.
pub(super) struct Wait<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) id: &'a SessionId,
    pub(super) around: &'a Around,
    pub(super) partial: Option<&'a mpsc::Sender<ToolResult>>,
    pub(super) cancel: &'a CancellationToken,
    pub(super) presence: &'a Presence,
}

impl Wait<'_> {
    /// Waits for the end, at most `window`; then the command goes on by itself. Without a window it is waited for.
    pub(super) async fn stand(&self, window: Option<Duration>) -> Result<Stood, ToolError> {
        // The window begins with the process.
        tokio::select! {
            biased;
            // Looked at first: it also tells why a session is gone.
            ended = self.sessions.ended(self.id, None) => if let Err(error) = ended {
                return never_ran(&error);
            },
            _ = self.started(window == Some(Duration::ZERO)) => {}
        }
        if self.is_late()
            && !self.cancel.is_cancelled()
            && let Ok(view) = self.sessions.give_up(self.id)
        {
            return Ok(Stood::Overdue(Box::new(view)));
        }
        let view = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(self.abort().await),
            view = self.ended(window) => match view {
                Ok(view) => view,
                Err(error) => return never_ran(&error),
            },
            never = self.updates() => match never {},
            () = self.overrun() => match self.sessions.give_up(self.id) {
                Ok(view) => return Ok(Stood::Overdue(Box::new(view))),
                Err(_) => self.sessions.ended(self.id, None).await.map_err(|error| thrown(&error))?,
            },
        };
        if view.end.is_some() {
            return Ok(Stood::Ended(Box::new(view)));
        }
        if self.sessions.background(self.id).map_err(|error| thrown(&error))? {
            let view = self.sessions.view(self.id).unwrap_or(view);
            return Ok(Stood::Background(Box::new(view)));
        }
        // It ended just now; its result is being stored.
        let ended = self.sessions.ended(self.id, None).await.map_err(|error| thrown(&error))?;
        Ok(Stood::Ended(Box::new(ended)))
    }

    /// Waits for the end, at most `window`. Beyond it while nobody waits: whoever is gone would not learn the name of what
    /// goes on, and the call is soon cancelled.
    async fn ended(&self, window: Option<Duration>) -> Result<View, ProcessError> {
        let view = self.sessions.ended(self.id, window).await?;
        if view.end.is_some() || self.presence.is_here() {
            return Ok(view);
        }
        tokio::select! {
            ended = self.sessions.ended(self.id, None) => ended,
            () = self.presence.here() => Ok(view),
        }
    }

    /// What is left of the time limit, which covers a slow start; `None` without one.
    fn left(&self) -> Option<Duration> {
        let view = self.sessions.view(self.id)?;
        let gone = now_ms().saturating_sub(view.started_at_ms);
        view.begin.timeout_ms.map(|limit| Duration::from_millis(limit.saturating_sub(gone)))
    }

    /// The limit passed before the process existed.
    fn is_late(&self) -> bool {
        let waits = |view: View| view.pid.is_none() && view.end.is_none();
        self.left() == Some(Duration::ZERO) && self.sessions.view(self.id).is_some_and(waits)
    }

    /// Returns when init should long have ended the command at its limit, and did not.
    async fn overrun(&self) {
        let Some(left) = self.left() else { return std::future::pending().await };
        let grace = self.sessions.view(self.id).map_or(0, |view| view.begin.grace_ms);
        tokio::time::sleep(left + Duration::from_millis(grace) + END_WITHIN).await;
    }

    /// Waits until the process exists or has ended, so that the window begins with it and a result can name it; no longer
    /// than the time limit, and only a moment where the result is wanted `soon`.
    pub(super) async fn started(&self, soon: bool) -> Option<View> {
        let within =
            self.left().unwrap_or(Duration::MAX).min(if soon { STARTED_WITHIN } else { Duration::MAX });
        let up = async {
            let mut changes = self.sessions.watch(self.id)?;
            loop {
                changes.mark_unchanged();
                let view = self.sessions.view(self.id)?;
                if view.pid.is_some() || view.end.is_some() {
                    return Some(view);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => None,
            view = tokio::time::timeout(within, up) => view.ok().flatten(),
        }
    }

    /// Ends the command with its call.
    async fn abort(&self) -> ToolError {
        match self.sessions.kill(self.id).await {
            Ok(()) | Err(ProcessError::Finalizing { .. }) => {
                let grace = self.sessions.view(self.id).map_or(0, |view| view.begin.grace_ms);
                let within = Duration::from_millis(grace) + END_WITHIN;
                let _ = self.sessions.ended(self.id, Some(within)).await;
            }
            Err(_) => {}
        }
        let _ = self.sessions.remove(self.id).await;
        ExecError::Aborted.into()
    }

    /// Tells what the command prints, for as long as somebody waits. A receiver that is slow misses updates, not output.
    async fn updates(&self) -> std::convert::Infallible {
        let (Some(partial), Some(mut changes)) = (self.partial, self.sessions.watch(self.id)) else {
            return std::future::pending().await;
        };
        let mut written = 0;
        loop {
            changes.mark_unchanged();
            if let Some(view) = self.sessions.view(self.id)
                && view.written > written
                && view.end.is_none()
                && let Ok(tail) = self.sessions.tail(self.id, TAIL.min(UPDATE))
            {
                written = view.written;
                let _ = partial.try_send(self.around.update(&view, &tail));
            }
            tokio::time::sleep(UPDATE_PAUSE).await;
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

/// A session that is gone: whose command never ran, or that somebody took away.
fn never_ran(error: &ProcessError) -> Result<Stood, ToolError> {
    match error {
        ProcessError::NeverRan { .. } => Ok(Stood::NeverRan(thrown(error))),
        _ => Err(thrown(error)),
    }
}
