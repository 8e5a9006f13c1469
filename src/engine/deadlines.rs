//! How long the engine may take for each kind of call. The one place with these numbers.

use std::time::Duration;

/// Deadlines of calls to the engine; a call that exceeds its own ends as `EngineError::NotResponding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Connecting to the engine and its answer to a ping.
    pub probe: Duration,
    /// Calls that only read or change the engine's own tables (inspect, list, tag, rename, exec create).
    pub quick: Duration,
    /// Calls that make or end processes and file systems (create, start, remove, kill).
    pub slow: Duration,
    /// Silence in a stream that should make progress (import, load, build): not its whole duration.
    pub silence: Duration,
}

impl Default for Deadlines {
    /// Generous for a loaded machine, where a start was seen to take seconds; short enough for a human to wait out.
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(3),
            quick: Duration::from_secs(20),
            slow: Duration::from_mins(1),
            silence: Duration::from_mins(5),
        }
    }
}
