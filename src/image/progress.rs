//! What a build tells while it runs.

/// One step of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A new stage begins.
    Stage(&'a str),
    /// A tool wrote this line (no control characters, bounded length).
    Line(&'a str),
}

/// Receives events; called from the task that builds, so it must be quick.
pub type Progress<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);
