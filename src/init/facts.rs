//! Answers a probe: reads back from the kernel what this container really is.

use std::os::unix::fs::MetadataExt as _;

use crate::wire::{Facts, PathFacts};

/// Files of the control group that hold limits, v2 names first, then v1 with their hierarchy.
pub const LIMIT_FILES: [(&str, &str); 9] = [
    ("memory.max", "/sys/fs/cgroup/memory.max"),
    ("memory.swap.max", "/sys/fs/cgroup/memory.swap.max"),
    ("pids.max", "/sys/fs/cgroup/pids.max"),
    ("cpu.max", "/sys/fs/cgroup/cpu.max"),
    ("memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ("memory.memsw.limit_in_bytes", "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"),
    ("pids.max", "/sys/fs/cgroup/pids/pids.max"),
    ("cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
    ("cpu.cfs_period_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
];

/// Reads everything a probe asks for.
pub(super) fn gather(paths: Vec<String>) -> Facts {
    let read = |path: &str| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Facts {
        status: read("/proc/self/status").unwrap_or_default(),
        mountinfo: read("/proc/self/mountinfo").unwrap_or_default(),
        limits: LIMIT_FILES
            .iter()
            .filter_map(|(name, path)| Some(((*name).to_owned(), read(path).ok()?.trim().to_owned())))
            .collect(),
        interfaces: interface_names(&read("/proc/net/dev").unwrap_or_default()),
        paths: paths.into_iter().map(identify).collect(),
    }
}

/// Names in `/proc/net/dev`, after its two lines of headings.
pub fn interface_names(text: &str) -> Vec<String> {
    text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

fn identify(path: String) -> PathFacts {
    let (meta, vfs) = (std::fs::metadata(&path), nix::sys::statvfs::statvfs(path.as_str()));
    let flags = vfs.map_or(nix::sys::statvfs::FsFlags::empty(), |stat| stat.flags());
    match meta {
        Ok(meta) => PathFacts {
            path,
            errno: 0,
            dev: meta.dev(),
            ino: meta.ino(),
            mode: meta.mode(),
            uid: meta.uid(),
            gid: meta.gid(),
            read_only: flags.contains(nix::sys::statvfs::FsFlags::ST_RDONLY),
            noexec: flags.contains(nix::sys::statvfs::FsFlags::ST_NOEXEC),
        },
        Err(error) => {
            PathFacts { path, errno: error.raw_os_error().unwrap_or(nix::libc::EIO), ..PathFacts::default() }
        }
    }
}
