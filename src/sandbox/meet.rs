//! What `sandbox` needs from the connection to creel-init; `runner` provides it.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use crate::runner::Awaited;
use crate::wire::Facts;

/// Why init could not be met or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MeetError {
    /// What happened, naming what was waited for.
    pub reason: String,
    /// Nothing happened before the deadline, in contrast to a definite refusal.
    pub timed_out: bool,
}

/// Meets the init of a started container.
pub trait Meet: Sync {
    /// The connection to one init.
    type Link: Probe + Send;

    /// Binds a socket in the rendezvous directory and waits until the container's PID 1 dials it. Who else dials is
    /// refused (design §3, "Meeting").
    fn meet(
        &self,
        rendezvous: &Path,
        peer: Awaited,
        deadline: Duration,
    ) -> impl Future<Output = Result<Self::Link, MeetError>> + Send;

    /// Meets a container again that was proven before; `outside` tells that its init could not be met then.
    fn again(
        &self,
        rendezvous: &Path,
        peer: Awaited,
        deadline: Duration,
        outside: bool,
    ) -> impl Future<Output = Result<Self::Link, MeetError>> + Send {
        let _ = outside;
        self.meet(rendezvous, peer, deadline)
    }

    /// Called once for each container made, after the proof and before anybody can use it: the place for the
    /// set-up command. A failure removes the container.
    fn prepare(&self, link: &mut Self::Link) -> impl Future<Output = Result<(), MeetError>> + Send {
        let _ = link;
        async { Ok(()) }
    }
}

/// What is asked of a container's init.
pub trait Probe {
    /// Facts of PID 1, and of each path in the container.
    fn facts(&mut self, paths: Vec<String>) -> impl Future<Output = Result<Facts, MeetError>> + Send;

    /// The answers come from outside the container, because its init cannot be met.
    fn outside(&self) -> bool {
        false
    }

    /// How many commands run in the container.
    fn running(&mut self) -> impl Future<Output = Result<usize, MeetError>> + Send;
}
