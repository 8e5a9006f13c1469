//! Signals to a process that may end at any moment, and whose number may then be another's.
#![expect(
    unsafe_code,
    reason = "pidfd_open and pidfd_send_signal have no safe form without another dependency"
)]

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Sends a signal to the process that has this number now, if `ours` says of that number, asked afterwards, that it may
/// be. Whatever the number means by the time of the signal, no other process gets it. False where `ours` said no.
///
/// A kernel without such descriptors (before 5.3) gets the signal by number.
pub fn signal_if(pid: Pid, signal: Signal, ours: impl FnOnce() -> bool) -> nix::Result<bool> {
    let fd = match open(pid) {
        Ok(fd) => Some(fd),
        Err(Errno::ENOSYS | Errno::EPERM) => None,
        Err(error) => return Err(error),
    };
    // Asked with the descriptor in hand: where the number had changed before, this is another process's number, and
    // where it changes later, the descriptor does not.
    if !ours() {
        return Ok(false);
    }
    match fd {
        Some(fd) => {
            // SAFETY: a system call with an open descriptor, a number, a null pointer that it allows, and no flags.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    fd.as_raw_fd(),
                    signal as libc::c_int,
                    std::ptr::null::<libc::siginfo_t>(),
                    0_u32,
                )
            };
            Errno::result(sent).map(|_| true)
        }
        None => nix::sys::signal::kill(pid, signal).map(|()| true),
    }
}

fn open(pid: Pid) -> nix::Result<OwnedFd> {
    // SAFETY: a system call with two numbers.
    let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0_u32) })?;
    let fd = libc::c_int::try_from(fd).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just made this descriptor (closed on exec) and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
