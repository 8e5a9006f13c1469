//! The processes of a container, read from the host's own `/proc`.

use std::os::unix::fs::MetadataExt as _;

/// A pid namespace. The kernel gives its number to another one when it is gone, so its PID 1 belongs to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespace {
    number: u64,
    pid1: i32,
    started: u64,
}

/// A process as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its id on the host.
    pub(crate) host: i32,
    /// Its id in the container.
    pub(crate) inside: i32,
    /// Its arguments, joined by spaces.
    pub(crate) line: String,
    /// Its parent, on the host.
    pub(crate) parent: i32,
}

impl Namespace {
    /// The namespace of a process of the host.
    pub(crate) fn of(pid: i32) -> Self {
        Self { number: space(pid).unwrap(), pid1: pid, started: started(pid).unwrap() }
    }

    /// Everything alive in it. Without its PID 1 nothing is: the kernel lets that end last.
    pub(crate) fn everything(self) -> Vec<Process> {
        if started(self.pid1) != Some(self.started) {
            return Vec::new();
        }
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| space(*pid) == Some(self.number)).filter_map(read).collect()
    }

    /// Everything alive in it but creel-init and its supervisors.
    pub(crate) fn commands(self) -> Vec<Process> {
        self.everything()
            .into_iter()
            .filter(|process| !process.line.starts_with("/.creel/init pid1"))
            .collect()
    }
}

fn space(pid: i32) -> Option<u64> {
    Some(std::fs::metadata(format!("/proc/{pid}/ns/pid")).ok()?.ino())
}

/// Start of a process, in the kernel's ticks since boot.
fn started(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// `None` for what has ended, waited for or not, and for what is on its way out and has no memory left.
fn read(pid: i32) -> Option<Process> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    if field("State")?.starts_with(['Z', 'X']) {
        return None;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    if line.is_empty() {
        return None;
    }
    let inside = field("NSpid")?.split_whitespace().last()?.parse().ok()?;
    Some(Process { host: pid, inside, line, parent: field("PPid")?.parse().ok()? })
}

/// Resident memory of a process in KiB.
pub(crate) fn resident_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
