//! The processes of a container, read from the host's own `/proc`.

use std::os::unix::fs::MetadataExt as _;

/// A pid namespace; it outlives its PID 1 only as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespace(u64);

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
        Self(space(pid).unwrap())
    }

    /// Everything alive in it.
    pub(crate) fn everything(self) -> Vec<Process> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| space(*pid) == Some(self.0)).filter_map(read).collect()
    }

    /// Everything alive in it but creel-init and its supervisors.
    pub(crate) fn commands(self) -> Vec<Process> {
        self.everything()
            .into_iter()
            .filter(|process| !process.line.starts_with("/.creel/init pid1"))
            .collect()
    }

    /// The supervisors, the waiting one included.
    pub(crate) fn supervisors(self) -> Vec<Process> {
        let all = self.everything().into_iter();
        all.filter(|process| process.line.starts_with("/.creel/init pid1") && process.inside != 1).collect()
    }
}

fn space(pid: i32) -> Option<u64> {
    Some(std::fs::metadata(format!("/proc/{pid}/ns/pid")).ok()?.ino())
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
