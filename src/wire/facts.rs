//! What init reads back from the kernel before it runs anything.

/// Answer to a probe: the container as the kernel sees it, in the kernel's own words.
///
/// Taken before the first command it is trustworthy: only creel-init has run. Later it is hostile input like
/// everything else from inside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// `/proc/self/status` of PID 1.
    pub status: String,
    /// `/proc/self/mountinfo` of PID 1.
    pub mountinfo: String,
    /// Control-group files that could be read, by controller-relative name (`memory.max`,
    /// `memory.limit_in_bytes`, `pids.max`, `cpu.max`, `cpu.cfs_quota_us`, `cpu.cfs_period_us`).
    pub limits: Vec<(String, String)>,
    /// Names of the network interfaces (`/sys/class/net`, else `/proc/net/dev`).
    pub interfaces: Vec<String>,
    /// One entry for each path asked for, in order.
    pub paths: Vec<PathFacts>,
}

/// Identity of one path in the container, links at the end followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathFacts {
    /// The path as asked for.
    pub path: String,
    /// Error number of the look-up, 0 when it worked.
    pub errno: i32,
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Type and mode bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// The path is on a file system mounted read-only, or itself mounted so (`statvfs`).
    pub read_only: bool,
    /// Mounted without execute permission (`statvfs`).
    pub noexec: bool,
}
