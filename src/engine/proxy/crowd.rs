//! How many may wait and how many are served: bounded, so that nobody keeps the proxy from the others.
//!
//! Who has connected and not asked yet waits. When too many wait, the one that has waited longest goes: whoever means to
//! ask does it at once, so it is never an honest one for long. Who has asked has a seat until the answer has gone
//! out; without a free one it is told so instead of being kept waiting.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Connections that have not asked yet.
pub(super) const MAX_WAITING: usize = 128;
/// Calls at a time. Each needs two descriptors, and 1024 are what a process may have by default.
pub(super) const MAX_SERVED: usize = 320;

/// A place among those who are served, until the last copy is dropped.
pub(super) type Seat = Arc<OwnedSemaphorePermit>;

/// Who waits, and who is served.
#[derive(Debug)]
pub(super) struct Crowd {
    waiting: Mutex<Waiting>,
    seats: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    all: VecDeque<(u64, AbortHandle)>,
}

impl Crowd {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::default(), seats: Arc::new(Semaphore::new(MAX_SERVED)) }
    }

    /// Starts a connection's task, which gets its number. The one that has waited longest ends when too many wait.
    pub(super) fn enter(&self, start: impl FnOnce(u64) -> AbortHandle) {
        // Held over the start, so that the task cannot leave before it is in.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waiting.next;
        waiting.next += 1;
        let task = start(number);
        waiting.all.push_back((number, task));
        if waiting.all.len() > MAX_WAITING
            && let Some((_, longest)) = waiting.all.pop_front()
        {
            longest.abort();
        }
    }

    /// It has asked, or is gone.
    pub(super) fn leave(&self, number: u64) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.all.retain(|(other, _)| *other != number);
    }

    /// A seat; `None` when all are taken.
    pub(super) fn seat(&self) -> Option<Seat> {
        Arc::clone(&self.seats).try_acquire_owned().ok().map(Arc::new)
    }
}

/// The body of an answer, and the seat of who gets it.
#[derive(Debug)]
pub(super) struct Seated {
    body: Either<Full<Bytes>, Incoming>,
    _seat: Option<Seat>,
}

impl Seated {
    /// A text of the proxy's own.
    pub(super) fn text(text: String) -> Self {
        Self { body: Either::Left(Full::new(Bytes::from(text))), _seat: None }
    }

    /// What the engine answers; the seat is kept for as long as it does.
    pub(super) fn engines(body: Incoming, seat: Seat) -> Self {
        Self { body: Either::Right(body), _seat: Some(seat) }
    }
}

impl Body for Seated {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_has_waited_longest_goes() {
        let crowd = Crowd::new();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..=MAX_WAITING {
            crowd.enter(|_| tasks.spawn(std::future::pending::<()>()));
        }
        assert!(tasks.join_next().await.unwrap().unwrap_err().is_cancelled());
        crowd.leave(1);
        crowd.enter(|_| tasks.spawn(std::future::pending::<()>()));
        assert!(tasks.try_join_next().is_none(), "one had left: there was room");
    }

    #[test]
    fn seats_are_counted_and_come_back() {
        let crowd = Crowd::new();
        let mut seats: Vec<Seat> = std::iter::from_fn(|| crowd.seat()).collect();
        assert_eq!(seats.len(), MAX_SERVED);
        seats.pop();
        assert!(crowd.seat().is_some());
    }
}
