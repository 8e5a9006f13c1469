//! Follows a command to its end and keeps what it printed.

use crate::runner::{Outcome, Progress, RunError, Running};
use crate::wire::Stream;

/// Bytes kept of each stream: the last ones.
pub const MAX_COLLECTED: usize = 16 * 1024 * 1024;

/// A finished command and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// How it ended; has the full byte counts.
    pub outcome: Outcome,
    /// Standard output, or the terminal's.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Output beyond [`MAX_COLLECTED`] was dropped from the front.
    pub truncated: bool,
}

/// The end of a command, and whether it was seen to run.
pub(super) async fn collect(mut running: Running) -> Result<(Collected, bool), RunError> {
    let (mut stdout, mut stderr, mut truncated, mut began) = (Vec::new(), Vec::new(), false, false);
    loop {
        match running.next().await? {
            Progress::Output(stream, data) => {
                let kept = if stream == Stream::Stdout { &mut stdout } else { &mut stderr };
                truncated |= keep(kept, &data);
            }
            Progress::Done(outcome) => {
                for kept in [&mut stdout, &mut stderr] {
                    kept.drain(..kept.len().saturating_sub(MAX_COLLECTED));
                }
                return Ok((Collected { outcome: *outcome, stdout, stderr, truncated }, began));
            }
            Progress::Started(_) => began = true,
            Progress::Input { .. } => {}
        }
    }
}

/// Appends, and drops from the front now and then. True when something was dropped.
fn keep(kept: &mut Vec<u8>, data: &[u8]) -> bool {
    kept.extend_from_slice(data);
    let over = kept.len() > MAX_COLLECTED;
    if kept.len() > 2 * MAX_COLLECTED {
        kept.drain(..kept.len() - MAX_COLLECTED);
    }
    over
}
