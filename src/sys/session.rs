//! A program in a session of its own.
#![expect(unsafe_code, reason = "the standard library calls setsid only through code in the forked child")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::setsid;

/// Has `command` start as leader of a new session and process group: it has no terminal to take over, and its whole
/// group can be signalled by its process id.
pub fn own_session(command: &mut Command) {
    let lead = || setsid().map(drop).map_err(std::io::Error::from);
    // SAFETY: the closure runs in the child between fork and exec and makes one system call; it neither allocates nor
    // takes a lock.
    unsafe {
        command.pre_exec(lead);
    }
}
