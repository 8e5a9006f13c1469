//! fork and wait4.
#![expect(unsafe_code, reason = "fork and wait4 (usage of each reaped child) have no safe form")]

use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::{ForkResult, Pid};

/// Which side of a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The new process.
    Child,
    /// The old one, with the child's id.
    Parent(Pid),
}

/// Forks a process that has one thread; refuses otherwise, since a lock held elsewhere would stay locked for ever.
pub fn fork() -> nix::Result<Forked> {
    // SAFETY: creel-init starts no thread, so the child owns every lock and may run any code.
    match unsafe { nix::unistd::fork()? } {
        ForkResult::Child => Ok(Forked::Child),
        ForkResult::Parent { child } => Ok(Forked::Parent(child)),
    }
}

/// Resources that a process and the children it waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Peak resident memory of the largest process, in KiB.
    pub peak_kib: u64,
}

impl Usage {
    /// Adds another process's usage: times add up, the peak is the larger one.
    pub fn add(&mut self, other: Self) {
        self.user = self.user.saturating_add(other.user);
        self.system = self.system.saturating_add(other.system);
        self.peak_kib = self.peak_kib.max(other.peak_kib);
    }
}

/// What a wait found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// A child ended with this raw wait status.
    Ended(Pid, i32, Usage),
    /// A child was stopped by a signal (only with `stopped`).
    Stopped(Pid),
    /// There are children, none has news.
    Nothing,
    /// There is no child at all.
    NoChildren,
}

/// Takes one child's news without blocking. `stopped` also reports stops.
pub fn reap(stopped: bool) -> nix::Result<Reaped> {
    let mut status = 0;
    let flags = libc_flags(stopped);
    // SAFETY: an all-zero rusage is a valid value of this plain C struct.
    let mut usage: nix::libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the right types.
    let pid = unsafe { nix::libc::wait4(-1, &raw mut status, flags, &raw mut usage) };
    match Errno::result(pid) {
        Ok(0) | Err(Errno::EINTR) => Ok(Reaped::Nothing),
        Ok(pid) if nix::libc::WIFSTOPPED(status) => Ok(Reaped::Stopped(Pid::from_raw(pid))),
        Ok(pid) => Ok(Reaped::Ended(Pid::from_raw(pid), status, convert(&usage))),
        Err(Errno::ECHILD) => Ok(Reaped::NoChildren),
        Err(error) => Err(error),
    }
}

fn libc_flags(stopped: bool) -> i32 {
    nix::libc::WNOHANG | if stopped { nix::libc::WUNTRACED } else { 0 }
}

fn convert(usage: &nix::libc::rusage) -> Usage {
    let time = |value: &nix::libc::timeval| {
        let micros = value.tv_sec.saturating_mul(1_000_000).saturating_add(value.tv_usec);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    Usage {
        user: time(&usage.ru_utime),
        system: time(&usage.ru_stime),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    }
}

/// Closes every descriptor of this process except `keep` (and 0 to 2). Allocates nothing: in a fresh copy of a
/// process that would cost pages.
pub fn close_all_except<const N: usize>(mut keep: [std::os::fd::RawFd; N]) {
    keep.sort_unstable();
    let mut first = 3_u32;
    for fd in keep.into_iter().filter_map(|fd| u32::try_from(fd).ok()).filter(|fd| *fd > 2) {
        close_range(first, fd.saturating_sub(1));
        first = fd.saturating_add(1);
    }
    close_range(first, u32::MAX);
}

fn close_range(first: u32, last: u32) {
    if first <= last {
        // SAFETY: the caller is a fresh copy of the process that never again uses what it does not keep.
        unsafe { nix::libc::syscall(nix::libc::SYS_close_range, first, last, 0_u32) };
    }
}

/// Ends this process at once: no exit handlers, no destructors. For the copy of init that supervises a command.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { nix::libc::_exit(code) }
}

/// Takes ownership of a descriptor that the kernel has just handed to this process in a message.
pub fn adopt(fd: std::os::fd::RawFd) -> std::os::fd::OwnedFd {
    // SAFETY: SCM_RIGHTS makes a new descriptor for the receiver, and nothing else knows its number.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) }
}

/// Puts every signal of this process back to its default: what whoever started the engine ignored would otherwise be
/// ignored by every command. By the raw call, because the library keeps two numbers to itself.
pub fn default_signals() {
    // The kernel's own layout: handler, flags, restorer, mask; all zero is the default action.
    let default = [0_u64; 4];
    // SIGPIPE stays ignored here, as the runtime wants it; each command gets its default back when it starts.
    for signal in (1..=64_i32).filter(|signal| *signal != nix::libc::SIGPIPE) {
        // SAFETY: the pointer is to a live local of the size that the kernel reads; KILL and STOP are refused.
        unsafe {
            nix::libc::syscall(
                nix::libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                8_usize,
            )
        };
    }
}
