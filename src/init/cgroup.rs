//! Counters of the container's control group and its full temporary file systems: hints at the cause of a death.

use std::path::Path;

/// Counters that only grow. On cgroup v1 and v2 alike they count for the whole container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Processes ended by the out-of-memory killer.
    pub(super) oom_kills: u32,
    /// Forks refused by the pids limit.
    pub(super) pids_hits: u32,
}

/// Where this kernel keeps the counters, and which temporary file systems to look at.
#[derive(Debug)]
pub(super) struct Gauges {
    oom: Option<std::fs::File>,
    pids: Option<std::fs::File>,
    tmpfs: Vec<String>,
}

impl Gauges {
    /// Opens what exists; a file that does not exist counts as zero for ever.
    pub(super) fn open() -> Self {
        let first = |paths: &[&str]| paths.iter().find_map(|path| std::fs::File::open(path).ok());
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self {
            oom: first(&["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]),
            pids: first(&["/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events"]),
            tmpfs: writable_tmpfs(&mounts),
        }
    }

    /// Nothing to read: beside the gateway the counters are those of the whole machine.
    pub(super) fn none() -> Self {
        Self { oom: None, pids: None, tmpfs: Vec::new() }
    }

    /// Reads the counters.
    pub(super) fn read(&self) -> Counters {
        Counters {
            oom_kills: value(self.oom.as_ref(), "oom_kill"),
            pids_hits: value(self.pids.as_ref(), "max"),
        }
    }

    /// Writable temporary file systems with no block or no inode left.
    pub(super) fn full(&self) -> Vec<String> {
        let full = |path: &&String| {
            nix::sys::statvfs::statvfs(Path::new(path.as_str())).is_ok_and(|stat| {
                stat.blocks() > 0 && (stat.blocks_available() == 0 || stat.files_free() == 0)
            })
        };
        self.tmpfs.iter().filter(full).cloned().collect()
    }
}

/// The number after `key` in the file at `path`; 0 where there is none.
pub(super) fn counter(path: &Path, key: &str) -> u32 {
    value(std::fs::File::open(path).ok().as_ref(), key)
}

/// The number after `key` in a file of `key number` lines.
fn value(file: Option<&std::fs::File>, key: &str) -> u32 {
    let mut text = [0_u8; 512];
    let Some(count) = file.and_then(|file| std::os::unix::fs::FileExt::read_at(file, &mut text, 0).ok())
    else {
        return 0;
    };
    let text = std::str::from_utf8(text.get(..count).unwrap_or_default()).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok()).unwrap_or(0)
}

/// Mount points of writable tmpfs in `mountinfo`, without the engine's own below `/proc` and `/sys`.
fn writable_tmpfs(mountinfo: &str) -> Vec<String> {
    mountinfo
        .lines()
        .filter_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let mut fields = front.split(' ');
            let (target, options) = (fields.nth(4)?, fields.next()?);
            let writable = options.split(',').any(|option| option == "rw");
            let masked = ["/proc", "/sys", "/dev"].iter().any(|root| target.starts_with(root));
            (back.starts_with("tmpfs ") && writable && !masked).then(|| target.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_file_systems_are_found() {
        let text = "1 2 0:5 / /proc/acpi ro - tmpfs tmpfs ro\n\
                    1 2 0:6 / /tmp rw,nosuid - tmpfs tmpfs rw,size=65536k\n\
                    1 2 0:7 / /data rw - ext4 /dev/sda rw\n\
                    1 2 0:8 / /run ro,nosuid - tmpfs tmpfs rw\n";
        assert_eq!(writable_tmpfs(text), vec!["/tmp".to_owned()]);
    }

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, b"oom 1\noom_kill_disable 0\noom_kill 42\n").unwrap();
        assert_eq!(value(Some(&file), "oom_kill"), 42);
        assert_eq!(value(None, "oom_kill"), 0);
    }
}
