//! A descriptor that the async runtime waits for.
#![expect(unsafe_code, reason = "the runtime cannot see that a descriptor stays the one that was registered")]

use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Has the runtime wait for `fd`. Call it in a runtime that has its reactor on.
pub fn watch(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, and is the same descriptor, as long as it lives; the result owns it and hands out
    // shared references only.
    Ok(unsafe { AsyncFd::register(fd) }?)
}
