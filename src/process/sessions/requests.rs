//! What is asked of a session: input, size, end, removal.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::entry::{Entry, Order};
use super::finish::lost_outcome;
use super::insist::insist;
use super::{ProcessError, Sessions};
use crate::process::record::{End, Phase, SessionId, View};
use crate::process::store::now_ms;
use crate::runner::{Death, Outcome};

/// How long a request to write may wait: for a program that does not read, or an init that is being found again.
const WRITE_WITHIN: Duration = Duration::from_secs(15);

impl Sessions {
    /// A session that takes requests.
    fn live(&self, id: &SessionId) -> Result<Arc<Entry>, ProcessError> {
        let entry = self.entry(id)?;
        {
            let state = entry.lock();
            if state.phase == Phase::Finished {
                return Err(ProcessError::Ended { id: id.clone() });
            }
            if state.finalizing {
                return Err(ProcessError::Finalizing { id: id.clone() });
            }
        }
        Ok(entry)
    }

    /// Sends bytes to the input, and ends it. Returns when they are on their way to the program.
    ///
    /// # Errors
    ///
    /// For a session that is unknown, over, or takes no input; and when its program does not read.
    pub async fn write(&self, id: &SessionId, data: Vec<u8>, eof: bool) -> Result<(), ProcessError> {
        let entry = self.live(id)?;
        if !entry.lock().takes_input(&entry.begin) {
            return Err(ProcessError::InputClosed { id: id.clone() });
        }
        let (answer, answered) = oneshot::channel();
        let ended = || ProcessError::Ended { id: id.clone() };
        entry.orders.send(Order::Write { data, eof, answer }).map_err(|_| ended())?;
        if let Ok(answer) = tokio::time::timeout(WRITE_WITHIN, answered).await {
            return answer.map_err(|_| ended())?;
        }
        let reason = entry.lock().trouble.clone().unwrap_or_else(|| "no answer".to_owned());
        Err(ProcessError::Unreachable { id: id.clone(), reason })
    }

    /// Asks for the end: TERM, KILL after the grace, nothing left. Said again it succeeds again.
    ///
    /// # Errors
    ///
    /// For a session that is unknown or over.
    #[expect(clippy::unused_async, reason = "part of the contract")]
    pub async fn kill(&self, id: &SessionId) -> Result<(), ProcessError> {
        let entry = self.live(id)?;
        self.end(&entry, false);
        Ok(())
    }

    /// Notes who wanted the end, then asks for it. A full disk does not keep a command alive.
    fn end(&self, entry: &Arc<Entry>, hidden: bool) {
        {
            let mut state = entry.lock();
            state.requested = true;
            state.hidden |= hidden;
        }
        self.inner.core.store.note_requested(&entry.id, hidden);
        let _ = entry.orders.send(Order::Kill);
        insist(entry, Duration::ZERO);
        entry.touch();
    }

    /// Gives a command up whose time limit passed without a word of its init: it is ended as soon as that can be, and is no
    /// longer shown. The session as if the limit had ended it.
    ///
    /// # Errors
    ///
    /// For a session that is unknown or over.
    pub fn give_up(&self, id: &SessionId) -> Result<View, ProcessError> {
        let entry = self.live(id)?;
        let mut view = entry.view();
        let at_ms = now_ms();
        let wall = Duration::from_millis(at_ms.saturating_sub(entry.started_ms));
        let outcome = Outcome { wall, ..lost_outcome(&entry, Death::Timeout) };
        view.end = Some(End { outcome, at_ms, requested: false, lost: None });
        self.end(&entry, true);
        Ok(view)
    }

    /// Gives the terminal a new size.
    ///
    /// # Errors
    ///
    /// For a session that is unknown or over.
    #[expect(clippy::unused_async, reason = "part of the contract")]
    pub async fn resize(&self, id: &SessionId, rows: u16, cols: u16) -> Result<(), ProcessError> {
        let entry = self.live(id)?;
        let _ = entry.orders.send(Order::Resize { rows, cols });
        Ok(())
    }

    /// As [`Self::resize`], for those who cannot wait; one that has ended needs no size.
    pub(crate) fn restore_size(&self, id: &SessionId, (rows, cols): (u16, u16)) {
        if let Ok(entry) = self.live(id) {
            let _ = entry.orders.send(Order::Resize { rows, cols });
        }
    }

    /// Takes a record away: a finished one for good; a running one is ended and no longer shown.
    ///
    /// # Errors
    ///
    /// For a session that is unknown or is being finalized.
    #[expect(clippy::unused_async, reason = "part of the contract")]
    pub async fn remove(&self, id: &SessionId) -> Result<(), ProcessError> {
        let entry = self.entry(id)?;
        if entry.is_finished() {
            return self.inner.core.delete(&[entry]);
        }
        self.end(&self.live(id)?, true);
        Ok(())
    }

    /// Takes a finished record away.
    ///
    /// # Errors
    ///
    /// For a session that is unknown or runs.
    pub fn clear(&self, id: &SessionId) -> Result<(), ProcessError> {
        let entry = self.entry(id)?;
        if !entry.is_finished() {
            return Err(ProcessError::Running { id: id.clone() });
        }
        self.inner.core.delete(&[entry])
    }

    /// The result of a foreground session was delivered: nothing is kept of it. One that is in the background, or has
    /// not ended, stays.
    ///
    /// # Errors
    ///
    /// For an unknown session.
    pub fn forget(&self, id: &SessionId) -> Result<(), ProcessError> {
        let entry = self.entry(id)?;
        let done = {
            let state = entry.lock();
            state.phase == Phase::Finished && !state.backgrounded
        };
        if done { self.inner.core.delete(&[entry]) } else { Ok(()) }
    }

    /// The result of a foreground session was delivered to a caller who may ask for it again: it is kept for a while.
    ///
    /// # Errors
    ///
    /// For an unknown session.
    pub fn delivered(&self, id: &SessionId) -> Result<(), ProcessError> {
        self.entry(id)?.lock().delivered = true;
        Ok(())
    }

    /// A conversation was reset: its finished records go, running ones stay (spec `exec.md` §5.1). How many went.
    ///
    /// # Errors
    ///
    /// When they cannot be removed.
    pub fn reset(&self, session_key: &str) -> Result<usize, ProcessError> {
        let its = |entry: &Arc<Entry>| entry.begin.session_key.as_deref() == Some(session_key);
        let gone: Vec<_> = self.inner.core.all().into_iter().filter(|e| its(e) && e.is_finished()).collect();
        self.inner.core.delete(&gone)?;
        Ok(gone.len())
    }
}
