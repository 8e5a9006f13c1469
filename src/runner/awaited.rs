//! What tells a sandbox's PID 1 from everybody else who dials.

use crate::wire::Nonce;

/// Who is awaited (design §3, "Meeting").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The process that the kernel knows by this number; where creel and the engine share a pid namespace.
    Kernel(i32),
    /// Whoever knows the nonce that PID 1 was told before anything else ran; where creel is in a container.
    Nonce(Nonce),
}

impl From<i32> for Awaited {
    fn from(pid1: i32) -> Self {
        Self::Kernel(pid1)
    }
}
