//! System calls of the probe that have no safe form, each with arguments that change nothing whatever the answer is.
#![expect(unsafe_code, reason = "calls that a sandbox must not make have no wrappers, or unsafe ones")]

use nix::errno::Errno;
use nix::libc;

/// Makes a call of [`crate::wire::probe::SYSTEM_CALLS`]; `None` for a name that is not known here.
///
/// A filter refuses before the kernel looks at the arguments. Where the kernel does look, it finds them wrong, except
/// for `keyctl` (asks for the number of a keyring that every process has) and `userfaultfd` (a descriptor that is
/// closed at once).
pub fn far_reaching_call(name: &str) -> Option<nix::Result<()>> {
    /// `KEYCTL_GET_KEYRING_ID` of the process's own keyring, which is not made.
    const KEYRING: [libc::c_long; 5] = [0, -2, 0, 0, 0];
    const NONE: [libc::c_long; 5] = [-1, 0, 0, 0, 0];
    const ZERO: [libc::c_long; 5] = [0; 5];
    let (number, args) = match name {
        "keyctl" => (libc::SYS_keyctl, KEYRING),
        "bpf" => (libc::SYS_bpf, NONE),
        "perf_event_open" => (libc::SYS_perf_event_open, ZERO),
        "userfaultfd" => (libc::SYS_userfaultfd, [libc::c_long::from(libc::O_CLOEXEC), 0, 0, 0, 0]),
        "init_module" => (libc::SYS_init_module, ZERO),
        // More segments than the kernel takes.
        "kexec_load" => (libc::SYS_kexec_load, [0, 1 << 20, 0, 0, 0]),
        "open_by_handle_at" => (libc::SYS_open_by_handle_at, NONE),
        // Without its magic numbers it does nothing.
        "reboot" => (libc::SYS_reboot, ZERO),
        "swapon" => (libc::SYS_swapon, ZERO),
        // Neither a time nor a zone to set.
        "settimeofday" => (libc::SYS_settimeofday, [1, 0, 0, 0, 0]),
        "setns" => (libc::SYS_setns, NONE),
        _ => return None,
    };
    let [first, second, third, fourth, fifth] = args;
    // SAFETY: every pointer among the arguments is null or an address that is never mapped, and is only read by the
    // kernel, which answers EFAULT; no call above writes to memory or changes the system with these arguments.
    let answer = unsafe { libc::syscall(number, first, second, third, fourth, fifth) };
    let done = Errno::result(answer).map(drop);
    if name == "userfaultfd"
        && let Ok(fd) = libc::c_int::try_from(answer)
        && fd >= 0
    {
        // SAFETY: the descriptor was just made and nothing else knows its number.
        unsafe { libc::close(fd) };
    }
    Some(done)
}
