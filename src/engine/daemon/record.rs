//! Which process creel started: remembered by id and start time, so that a reused id is never taken for it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::DaemonError;
use crate::state::StateDir;

/// The dockerd that creel started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// Its process id.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl Started {
    /// The process of this id as it is now.
    pub(super) fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (state, start_ticks) = state_and_start(&stat)?;
        (state != "Z").then_some(Self { pid, start_ticks })
    }

    /// The recorded process, where it still runs. Only looks: makes no directory.
    pub fn running(state: &StateDir) -> Result<Option<Self>, DaemonError> {
        let path = state.root().join("creel/engine/started.json");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DaemonError::io(format!("read {}", path.display()))(error)),
        };
        // A record that cannot be read names no process: better to leave an engine running than to end a stranger.
        let recorded: Option<Self> = serde_json::from_str(&text).ok();
        Ok(recorded.filter(|recorded| recorded.is_running()))
    }

    /// This very process still runs.
    pub(super) fn is_running(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Remembers it.
    pub(super) fn record(self, state: &StateDir) -> Result<(), DaemonError> {
        let path = directory(state)?.join("started.json");
        let text = format!("{}\n", serde_json::json!(self));
        let draft = path.with_extension("draft");
        std::fs::write(&draft, text)
            .and_then(|()| std::fs::rename(&draft, &path))
            .map_err(DaemonError::io(format!("write {}", path.display())))
    }

    /// Forgets whatever was remembered.
    pub(super) fn forget(state: &StateDir) -> Result<(), DaemonError> {
        let path = directory(state)?.join("started.json");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(DaemonError::io(format!("remove {}", path.display()))(error))
            }
            _ => Ok(()),
        }
    }

    /// Tells exactly this process to end, not one that has its id by now.
    pub(super) fn terminate(self) -> Result<(), DaemonError> {
        let failed = || DaemonError::io(format!("stop process {}", self.pid));
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
        // The handle is for whoever has the id now; compare before use.
        if !self.is_running() {
            return Ok(());
        }
        pidfd_send_signal(&handle, Signal::TERM).map_err(|error| failed()(error.into()))
    }

    /// Waits for its end; false when it still runs after `limit`.
    pub(super) async fn ended(self, limit: Duration) -> bool {
        let wait = async {
            while self.is_running() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(limit, wait).await.is_ok()
    }
}

/// State and start time of a `/proc/PID/stat` line; the program's name may hold spaces and brackets.
fn state_and_start(stat: &str) -> Option<(&str, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    // The start time is field 22 of the line, counted from 1; the state is field 3.
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

/// Where the engine's log and records are.
pub(super) fn directory(state: &StateDir) -> Result<PathBuf, DaemonError> {
    Ok(state.own("engine")?)
}

/// Held while an engine is brought up or taken down, so that two callers do not do it at once.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the lock is held by the open file")] File);

impl Lock {
    /// Waits its turn.
    pub(super) async fn take(dir: &Path) -> Result<Self, DaemonError> {
        let path = dir.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(DaemonError::io(format!("open {}", path.display())))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(rustix::io::Errno::WOULDBLOCK) => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(error) => return Err(DaemonError::io(format!("lock {}", path.display()))(error.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_after_a_name_with_brackets() {
        let stat = "42 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        assert_eq!(state_and_start(stat), Some(("S", 777)));
    }

    #[test]
    fn a_reused_id_is_another_process() {
        let own = Started::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.is_running());
        let other = Started { start_ticks: own.start_ticks + 1, ..own };
        assert!(!other.is_running());
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        assert_eq!(Started::running(&state).unwrap(), None);
        other.record(&state).unwrap();
        assert_eq!(Started::running(&state).unwrap(), None);
        own.record(&state).unwrap();
        assert_eq!(Started::running(&state).unwrap(), Some(own));
        Started::forget(&state).unwrap();
        Started::forget(&state).unwrap();
        assert_eq!(Started::running(&state).unwrap(), None);
    }
}
