//! Whether a process belongs to a command that runs beside the gateway: whoever does has no say about approvals.

use std::path::Path;

use super::badge::{self, Standing};

/// Processes between a command and its supervisor that are followed; a longer line of them is taken for one.
const MOST: usize = 256;

/// Whether a process descends from a supervisor whose rendezvous lies in `dir`. Every descendant stays below it, whatever
/// it forks, because the supervisor takes in what is orphaned. A process that cannot be looked at, because it is gone or
/// hidden, counts as one: nobody knows who it was.
///
/// It reads `/proc`: call it where blocking is allowed.
pub fn within(dir: &Path, process: i32) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let lives = |badge: &crate::wire::Badge| badge::standing(badge) == Standing::Lives;
    let supervisors: Vec<i32> = entries
        .filter_map(|entry| badge::read(&entry.path()).ok().flatten())
        .filter(lives)
        .map(|badge| badge.pid)
        .collect();
    let mut process = process;
    for _ in 0..MOST {
        if supervisors.contains(&process) {
            return true;
        }
        match parent(process) {
            Some(0) => return false,
            Some(parent) => process = parent,
            None => return true,
        }
    }
    true
}

/// The parent of a process; 0 for the first one.
fn parent(process: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    badge::behind_name(&stat)?.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Badge, parse_id};

    /// A badge of the process, as its supervisor would leave it.
    fn badge(pid: i32) -> Badge {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let behind = stat.rsplit_once(')').unwrap().1;
        Badge {
            pid,
            started: behind.split_ascii_whitespace().nth(19).unwrap().parse().unwrap(),
            space: std::os::unix::fs::MetadataExt::ino(&std::fs::metadata("/proc/self/ns/pid").unwrap()),
            machine: parse_id(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim())
                .unwrap(),
            boot: [1; 16],
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs processes of its own")]
    fn whoever_descends_from_a_supervisor_is_within() {
        let dir = tempfile::tempdir().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(!within(dir.path(), pid), "nothing runs");
        let place = dir.path().join("a");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join(Badge::FILE), badge(own).line()).unwrap();
        assert!(within(dir.path(), pid) && within(dir.path(), own));
        assert!(!within(dir.path(), i32::try_from(std::os::unix::process::parent_id()).unwrap()));
        let former = Badge { started: 1, ..badge(own) };
        std::fs::write(place.join(Badge::FILE), former.line()).unwrap();
        assert!(!within(dir.path(), pid), "a supervisor that has ended");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(within(dir.path(), pid), "nobody knows who it was");
    }
}
