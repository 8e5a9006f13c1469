//! A control group of one command's own, where this process may make one: its limits then hold exactly.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup::counter;
use crate::wire::{Cause, CommandId, Limits};

/// Where control groups are mounted on every common system.
const ROOT: &str = "/sys/fs/cgroup";
/// Between two looks at the counters.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Directories that were made for one command, one for each hierarchy.
#[derive(Debug, Default)]
pub(super) struct Group {
    dirs: Vec<PathBuf>,
    /// The file that counts kills for want of memory, and the one that counts refused forks.
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
    next: Option<Instant>,
    /// What is still in it at the end was left alone on purpose.
    pub(super) keeps: bool,
}

impl Group {
    /// Makes a group for whatever of `limits` it can hold. Empty where there is nothing to hold, or no right to make one:
    /// then other means are used.
    pub(super) fn make(id: CommandId, limits: &Limits, now: Instant) -> Self {
        let mut group = Self::default();
        if limits.memory_bytes == 0 && limits.processes == 0 {
            return group;
        }
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let name = format!("creel-{id}");
        if !group.unified(&own, &name, limits) {
            if limits.memory_bytes > 0 {
                group.memory = group.legacy(&own, "memory", &name, |dir| {
                    set(dir, "memory.limit_in_bytes", limits.memory_bytes)?;
                    // Not there where swap is not counted.
                    let _ = set(dir, "memory.memsw.limit_in_bytes", limits.memory_bytes);
                    Some("memory.oom_control")
                });
            }
            if limits.processes > 0 {
                group.processes = group.legacy(&own, "pids", &name, |dir| {
                    set(dir, "pids.max", u64::from(limits.processes))?;
                    Some("pids.events")
                });
            }
        }
        group.next = (!group.dirs.is_empty()).then_some(now + LOOK_EVERY);
        group
    }

    /// Version 2: beside this process's own group or below it, where the controllers are handed on.
    fn unified(&mut self, own: &str, name: &str, limits: &Limits) -> bool {
        let Some(own) = path_of(own, "") else { return false };
        let own = Path::new(ROOT).join(own.trim_start_matches('/'));
        let wanted = [(limits.memory_bytes > 0, "memory"), (limits.processes > 0, "pids")];
        let hands_on = |dir: &&Path| {
            let handed = std::fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
            wanted.iter().all(|(want, name)| !want || handed.split_whitespace().any(|word| word == *name))
        };
        for base in [Some(own.as_path()), own.parent()].into_iter().flatten().filter(hands_on) {
            let dir = base.join(name);
            if std::fs::create_dir(&dir).is_err() {
                continue;
            }
            let memory = limits.memory_bytes == 0 || set(&dir, "memory.max", limits.memory_bytes).is_some();
            let processes =
                limits.processes == 0 || set(&dir, "pids.max", u64::from(limits.processes)).is_some();
            if memory && processes {
                let _ = set(&dir, "memory.swap.max", 0);
                self.memory = (limits.memory_bytes > 0).then(|| dir.join("memory.events"));
                self.processes = (limits.processes > 0).then(|| dir.join("pids.events"));
                self.dirs.push(dir);
                return true;
            }
            let _ = std::fs::remove_dir(&dir);
        }
        false
    }

    /// Version 1: below this process's own group of the controller. Returns the file of its counter.
    fn legacy(
        &mut self,
        own: &str,
        controller: &str,
        name: &str,
        limit: impl FnOnce(&Path) -> Option<&'static str>,
    ) -> Option<PathBuf> {
        let own = path_of(own, controller)?;
        let dir = Path::new(ROOT).join(controller).join(own.trim_start_matches('/')).join(name);
        std::fs::create_dir(&dir).ok()?;
        let Some(counter) = limit(&dir) else {
            let _ = std::fs::remove_dir(&dir);
            return None;
        };
        let counter = dir.join(counter);
        self.dirs.push(dir);
        Some(counter)
    }

    /// The limit on memory is held by it.
    pub(super) fn holds_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// The limit on processes is held by it.
    pub(super) fn holds_processes(&self) -> bool {
        self.processes.is_some()
    }

    /// Files into which a process writes itself to join.
    pub(super) fn doors(&self) -> Vec<CString> {
        let door =
            |dir: &PathBuf| CString::new(dir.join("cgroup.procs").into_os_string().into_encoded_bytes()).ok();
        self.dirs.iter().filter_map(door).collect()
    }

    /// When to look at the counters.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Looks at the counters: which limit the kernel has had to enforce.
    pub(super) fn look(&mut self, now: Instant) -> Option<Cause> {
        if self.next.is_none_or(|next| now < next) {
            return None;
        }
        self.next = Some(now + LOOK_EVERY);
        self.enforced()
    }

    /// Which limit the kernel has had to enforce so far.
    pub(super) fn enforced(&self) -> Option<Cause> {
        let count = |file: &Option<PathBuf>, key| file.as_ref().map_or(0, |file| counter(file, key));
        if count(&self.memory, "oom_kill") > 0 {
            Some(Cause::MemoryLimit)
        } else if count(&self.processes, "max") > 0 {
            Some(Cause::ProcessLimit)
        } else {
            None
        }
    }
}

impl Drop for Group {
    /// Ends what may still be in it (version 2 only has the means) and takes it away. What was left alone on purpose stays
    /// in it, and the empty group stays when that has ended.
    fn drop(&mut self) {
        for dir in &self.dirs {
            if !self.keeps {
                let _ = set(dir, "cgroup.kill", 1);
            }
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Writes a number into a file that is there.
fn set(dir: &Path, file: &str, value: u64) -> Option<()> {
    let mut file = OpenOptions::new().write(true).open(dir.join(file)).ok()?;
    file.write_all(value.to_string().as_bytes()).ok()
}

/// The group of a process under a controller, from `/proc/<pid>/cgroup`; the empty name is version 2.
fn path_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        // A path out of the namespace cannot be found below the mount.
        let inside = !path.split('/').any(|part| part == "..");
        (inside && controllers.split(',').any(|one| one == controller)).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn groups_are_found_by_controller() {
        let text = "12:cpu,cpuacct:/a\n5:memory:/user/x:y\n3:pids:/../out\n0::/unified\n";
        assert_eq!(path_of(text, "cpuacct"), Some("/a"));
        assert_eq!(path_of(text, "memory"), Some("/user/x:y"));
        assert_eq!(path_of(text, "pids"), None);
        assert_eq!(path_of(text, ""), Some("/unified"));
        assert_eq!(path_of("5:memory:/x\n", ""), None);
    }

    #[test]
    fn without_limits_nothing_is_made() {
        let group = Group::make(CommandId::default(), &Limits::default(), Instant::now());
        assert!(group.doors().is_empty() && group.next().is_none() && group.enforced().is_none());
        assert!(!group.holds_memory() && !group.holds_processes());
    }
}
