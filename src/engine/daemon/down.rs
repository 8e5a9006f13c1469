//! Takes down what [`super::up`] started.

use std::time::Duration;

use super::record::{Lock, directory};
use super::{DaemonError, Started};
use crate::state::StateDir;

/// How long dockerd may take to stop its containers and itself.
const STOP_LIMIT: Duration = Duration::from_mins(1);

/// What [`down`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Down {
    /// This process was stopped, and its containers with it.
    Stopped(Started),
    /// Nothing that creel started is running.
    Nothing,
}

/// Stops the dockerd that creel started, and no other.
///
/// # Errors
///
/// [`DaemonError::StillRunning`] where it does not stop within a minute.
pub async fn down(state: &StateDir) -> Result<Down, DaemonError> {
    let _lock = Lock::take(&directory(state)?).await?;
    let Some(started) = Started::running(state)? else {
        Started::forget(state)?;
        return Ok(Down::Nothing);
    };
    started.terminate()?;
    if !started.ended(STOP_LIMIT).await {
        return Err(DaemonError::StillRunning { pid: started.pid });
    }
    Started::forget(state)?;
    Ok(Down::Stopped(started))
}
