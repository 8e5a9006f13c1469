//! The process at the other end of a link. A descriptor names it, so that its number may be given to another one.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Pause between two looks; the end of a process follows that of its connections at once.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A process whose end can be awaited; `None` where the kernel gives no descriptor for it.
#[derive(Debug)]
pub(super) struct Peer(Option<OwnedFd>);

impl Peer {
    /// The process that has this number now.
    pub(super) fn of(pid: i32) -> Self {
        Self(Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()))
    }

    /// A process that has no number here.
    pub(super) fn unknown() -> Self {
        Self(None)
    }

    /// Whether it has ended, or ends within this time. Not known counts as no: nothing is claimed without proof.
    pub(super) async fn has_ended(&self, within: Duration) -> bool {
        let Some(fd) = &self.0 else { return false };
        let until = Instant::now() + within;
        loop {
            // Readable means ended. Looked at again and again: the runtime's own wait needs unsafe code.
            let mut asked = [PollFd::new(fd, PollFlags::IN)];
            if poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_living_has_not_ended() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!Peer::of(own).has_ended(Duration::from_millis(20)).await);
        assert!(!Peer(None).has_ended(Duration::from_mins(1)).await);
    }

    #[tokio::test]
    async fn an_end_shows() {
        let mut child = crate::host_tool::host_tool("sleep").arg("1000").spawn().unwrap();
        let peer = Peer::of(i32::try_from(child.id().unwrap()).unwrap());
        child.kill().await.unwrap();
        assert!(peer.has_ended(Duration::from_secs(10)).await);
    }
}
