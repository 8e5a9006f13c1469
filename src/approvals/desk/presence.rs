//! Who could answer: surfaces that are connected, and a user interface that listens on the approval socket.

use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::{Desk, Place};

/// A surface that is connected and sees every question, as long as this lives.
#[derive(Debug)]
pub struct Watching {
    desk: Desk,
    /// Changes whenever a question begins or ends.
    pub news: watch::Receiver<u64>,
}

impl Desk {
    /// Connects a surface.
    pub fn watch(&self) -> Watching {
        let news = self.news();
        self.inner.watchers.fetch_add(1, Ordering::AcqRel);
        Watching { desk: self.clone(), news }
    }

    /// A question is on the screen of a user interface, as long as the result lives.
    pub(crate) fn listening(&self) -> Watching {
        self.watch()
    }

    /// Surfaces that are connected.
    pub fn watchers(&self) -> usize {
        self.inner.watchers.load(Ordering::Acquire)
    }

    /// Whether somebody is there who is shown a question now.
    pub fn reachable(&self) -> bool {
        self.watchers() > 0
            || !self.is_serving() && Place::of(&self.inner.state).is_some_and(|place| place.taken())
    }

    /// Whether the approval socket is this process's own: nobody else listens there.
    pub(crate) fn is_serving(&self) -> bool {
        self.inner.serving.load(Ordering::Acquire)
    }

    pub(crate) fn serves(&self, serves: bool) {
        self.inner.serving.store(serves, Ordering::Release);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.desk.inner.watchers.fetch_sub(1, Ordering::AcqRel);
        self.desk.end_unreachable();
    }
}
