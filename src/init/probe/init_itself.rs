//! Attempts at PID 1, which commands share a user with.

use std::fs::OpenOptions;
use std::io::{IoSliceMut, Read as _};
use std::time::Duration;

use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use super::{Teller, errno, in_child};
use crate::wire::probe::{Attempt, Outcome};

/// How long a signal may take to show.
const SETTLE: Duration = Duration::from_millis(50);

pub(super) fn run(teller: &mut Teller) {
    let init = Pid::from_raw(1);
    let root = std::fs::read_dir("/proc/1/root/").map(drop);
    teller.result(Attempt::InitRoot, "/proc/1/root", root.map_err(|error| errno(&error)));
    // The numbers of descriptors may be listed; where one leads may not.
    for path in ["/proc/1/mem", "/proc/1/environ", "/proc/1/fd/0"] {
        let opened = if path == "/proc/1/fd/0" {
            std::fs::read_link(path).map(drop)
        } else if path == "/proc/1/mem" {
            OpenOptions::new().read(true).write(true).open(path).map(drop)
        } else {
            std::fs::File::open(path).and_then(|mut file| file.read(&mut [0; 1]).map(drop))
        };
        teller.result(Attempt::InitMemory, path, opened.map_err(|error| errno(&error)));
    }
    let mut byte = [0; 1];
    // The first page of a program is never where this points; a permission is asked for before that shows.
    let from = [RemoteIoVec { base: 1 << 20, len: 1 }];
    let read = process_vm_readv(init, &mut [IoSliceMut::new(&mut byte)], &from);
    let read = match read {
        Err(nix::errno::Errno::EFAULT) | Ok(_) => Ok(()),
        Err(refused) => Err(refused),
    };
    teller.result(Attempt::InitMemory, "process_vm_readv", read);
    let trace = || ptrace::seize(init, ptrace::Options::empty());
    teller.result(Attempt::InitTrace, "", in_child(trace));
    for signal in [Signal::SIGSTOP, Signal::SIGTERM, Signal::SIGKILL] {
        let outcome = if let Err(refused) = kill(init, signal) {
            Outcome::Refused(refused as i32)
        } else {
            std::thread::sleep(SETTLE);
            if stopped() { Outcome::Worked } else { Outcome::NoEffect }
        };
        teller.tell(Attempt::InitSignal, signal.as_str(), outcome, "");
    }
}

/// PID 1 is stopped, or no longer to be seen.
fn stopped() -> bool {
    let stat = std::fs::read_to_string("/proc/1/stat").unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_none_or(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
}
