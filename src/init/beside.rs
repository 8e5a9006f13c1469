//! The supervisor beside the gateway: PID 1's daemon for one command of the host (design §3, "Three hosts, one runner").
//!
//! It outlives whoever started it, is known again by its [`Badge`], and signals nothing but its own descendants.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, getpid, pipe2, setsid};

use super::InitError;
use super::daemon::Daemon;
use super::meet::is_host_socket;
use super::role::Role;
use super::tree;
use crate::sys::{self, Forked};
use crate::wire::{Badge, parse_id};

/// Forks the supervisor and returns once its badge is in the directory, so that who started this knows where it is.
pub(super) fn run(dir: &Path, expendable: bool) -> Result<(), InitError> {
    sys::default_signals();
    let system = |action| move |errno| InitError::System(action, errno);
    let (ready, tell) = pipe2(OFlag::O_CLOEXEC).map_err(system("pipe"))?;
    match sys::fork().map_err(system("fork"))? {
        Forked::Parent(_) => {
            drop(tell);
            match std::fs::File::from(ready).read(&mut [0]) {
                Ok(1) => Ok(()),
                // It has said why, on the same standard error.
                _ => Err(InitError::NotReady),
            }
        }
        Forked::Child => {
            drop(ready);
            serve(dir, expendable, tell.into())
        }
    }
}

/// Runs in the supervisor until its command has ended and was taken over.
fn serve(dir: &Path, expendable: bool, mut tell: std::fs::File) -> Result<(), InitError> {
    let system = |action| move |errno| InitError::System(action, errno);
    // Its own session: no terminal, no signal to the group of whoever started it.
    setsid().map_err(system("setsid"))?;
    nix::sys::prctl::set_child_subreaper(true).map_err(system("become a subreaper"))?;
    nix::sys::prctl::set_dumpable(false).map_err(system("prctl"))?;
    sys::close_all_except([std::os::fd::AsRawFd::as_raw_fd(&tell)]);
    // Sockets are dialled by short names: an address has 108 bytes, a state directory may have more.
    nix::unistd::chdir(dir).map_err(system("enter the rendezvous directory"))?;
    let mut daemon = Daemon::new(Path::new("."), Role::Beside { expendable }).map_err(system("start"))?;
    let badge = badge(daemon.boot)?;
    pin(&badge).map_err(|error| InitError::Badge(error.to_string()))?;
    silence()?;
    // Whoever started it may be gone; then nobody comes, and it ends by itself.
    let _ = tell.write_all(b"k");
    drop(tell);
    let result = daemon.run().map_err(system("event loop"));
    drop(daemon);
    clean_up(&badge, dir.to_owned());
    result
}

/// Standard input, output and error become `/dev/null`; until then a failure is said there.
fn silence() -> Result<(), InitError> {
    let system = |action| move |errno| InitError::System(action, errno);
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    let null = null.map_err(|_| InitError::System("open /dev/null", Errno::last()))?;
    dup2_stdin(&null).map_err(system("replace standard input"))?;
    dup2_stdout(&null).map_err(system("replace standard output"))?;
    dup2_stderr(&null).map_err(system("replace standard error"))
}

fn badge(boot: [u8; 16]) -> Result<Badge, InitError> {
    let pid = getpid().as_raw();
    let unknown = |what: &str| InitError::Badge(format!("the kernel does not tell {what}"));
    let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::metadata("/proc/self/ns/pid").map_err(|_| unknown("its pid namespace"))?.ino();
    Ok(Badge {
        pid,
        started: tree::started(pid).ok_or_else(|| unknown("its start"))?,
        space,
        machine: parse_id(machine.trim()).ok_or_else(|| unknown("the machine's boot id"))?,
        boot,
    })
}

/// Puts the badge into the directory, whole or not at all, and never over another one's.
fn pin(badge: &Badge) -> std::io::Result<()> {
    let draft = format!(".{}-{}", Badge::FILE, badge.pid);
    let _ = std::fs::remove_file(&draft);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let pinned =
        file.write_all(badge.line().as_bytes()).and_then(|()| std::fs::hard_link(&draft, Badge::FILE));
    let _ = std::fs::remove_file(&draft);
    pinned
}

/// Takes away what is its own in the directory, what hosts that died left there, and the directory if it is empty then.
fn clean_up(badge: &Badge, dir: PathBuf) {
    let ours = |text: String| Badge::parse(&text).is_some_and(|there| there == *badge);
    if !std::fs::read_to_string(Badge::FILE).is_ok_and(ours) {
        return;
    }
    for entry in std::fs::read_dir(".").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_host_socket(&name) || name.starts_with(".h-") {
            let _ = std::fs::remove_file(&*name);
        }
    }
    // Last: while it is there, whoever looks for this supervisor waits for it.
    let _ = std::fs::remove_file(Badge::FILE);
    let _ = std::fs::remove_dir(dir);
}
