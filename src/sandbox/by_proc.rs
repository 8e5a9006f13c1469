//! The kernel's facts of a container without its init: read from outside, through the host's `/proc`.
//!
//! For sandboxes whose init cannot be met. It needs the engine on this machine and the right to look into its
//! processes; where that is missing nothing can be proven, and nothing unproven is used.

use std::path::{Path, PathBuf};

use nix::errno::Errno;
use rustix::fs::{Mode, OFlags, ResolveFlags, StatVfsMountFlags};

use super::meet::{MeetError, Probe};
use crate::init::{LIMIT_FILES, interface_names};
use crate::wire::{Facts, PathFacts};

/// Looks at the container whose PID 1 is this process of the host.
#[derive(Debug, Clone)]
pub struct ByProc {
    proc: PathBuf,
}

impl ByProc {
    /// Names the process; nothing is opened before a question is asked.
    pub fn new(pid1: i32) -> Self {
        Self { proc: PathBuf::from(format!("/proc/{pid1}")) }
    }

    fn read(&self, name: &str) -> Result<String, MeetError> {
        let path = self.proc.join(name);
        let bytes = std::fs::read(&path).map_err(|error| MeetError {
            reason: format!(
                "{} cannot be read: {error}; without init a sandbox is proven from there",
                path.display()
            ),
            timed_out: false,
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Identity of a path as the container resolves it: links stay inside its root.
    fn identify(&self, path: String) -> PathFacts {
        match self.look(Path::new(&path)) {
            Ok(facts) => PathFacts { path, ..facts },
            Err(errno) => PathFacts { path, errno: errno as i32, ..PathFacts::default() },
        }
    }

    fn look(&self, path: &Path) -> Result<PathFacts, Errno> {
        let errno = |error: rustix::io::Errno| Errno::from_raw(error.raw_os_error());
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let root = rustix::fs::open(self.proc.join("root"), flags | OFlags::DIRECTORY, Mode::empty())
            .map_err(errno)?;
        let fd =
            rustix::fs::openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).map_err(errno)?;
        let stat = rustix::fs::fstat(&fd).map_err(errno)?;
        let vfs = rustix::fs::fstatvfs(&fd).map_err(errno)?;
        Ok(PathFacts {
            path: String::new(),
            errno: 0,
            dev: stat.st_dev,
            ino: stat.st_ino,
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
            read_only: vfs.f_flag.contains(StatVfsMountFlags::RDONLY),
            noexec: vfs.f_flag.contains(StatVfsMountFlags::NOEXEC),
        })
    }
}

impl Probe for ByProc {
    async fn facts(&mut self, paths: Vec<String>) -> Result<Facts, MeetError> {
        let inside = |path: &str| self.read(&format!("root{path}"));
        Ok(Facts {
            status: self.read("status")?,
            mountinfo: self.read("mountinfo")?,
            limits: LIMIT_FILES
                .iter()
                .filter_map(|(name, path)| Some(((*name).to_owned(), inside(path).ok()?.trim().to_owned())))
                .collect(),
            interfaces: interface_names(&self.read("net/dev")?),
            paths: paths.into_iter().map(|path| self.identify(path)).collect(),
        })
    }

    fn outside(&self) -> bool {
        true
    }

    /// Processes in the container's pid namespace that are not creel-init itself.
    async fn running(&mut self) -> Result<usize, MeetError> {
        let (space, program) = (self.link("ns/pid")?, self.link("exe")?);
        let entries = std::fs::read_dir("/proc")
            .map_err(|error| MeetError { reason: error.to_string(), timed_out: false })?;
        let other = |entry: &std::fs::DirEntry| {
            let link = |name: &str| std::fs::read_link(entry.path().join(name)).ok();
            link("ns/pid").as_ref() == Some(&space) && link("exe").is_some_and(|exe| exe != program)
        };
        Ok(entries.flatten().filter(other).count())
    }
}

impl ByProc {
    fn link(&self, name: &str) -> Result<PathBuf, MeetError> {
        let path = self.proc.join(name);
        std::fs::read_link(&path)
            .map_err(|error| MeetError { reason: format!("{}: {error}", path.display()), timed_out: false })
    }
}
