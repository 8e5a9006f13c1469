//! One file or directory: which it is, what is in it, and whether somebody who runs here can change it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat, accessat, fstat, open};
use sha2::{Digest as _, Sha256};

use super::error::BindError;
use crate::paths::hold::{SourceIdentity, hold};

/// How many links a path may have; the kernel's own limit.
const MAX_LINKS: usize = 40;
/// Bytes read at a time.
const PIECE: usize = 64 * 1024;

/// What a file is to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Where it begins.
    Cwd,
    /// Where a part of it runs.
    Directory,
    /// A program that entries judge.
    Program,
    /// A program that only starts another one: a wrapper, a shell with a text.
    Carrier,
    /// What a shell or an interpreter is given to run.
    Script,
}

impl Role {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Cwd => "cwd",
            Self::Directory => "directory",
            Self::Program => "program",
            Self::Carrier => "carrier",
            Self::Script => "script",
        }
    }

    /// An approval for good must name it.
    pub(super) const fn judged(self) -> bool {
        matches!(self, Self::Program | Self::Script)
    }

    const fn directory(self) -> bool {
        matches!(self, Self::Cwd | Self::Directory)
    }
}

/// A file or directory as it was when it was bound.
///
/// The time of the last change of its inode is part of it: every write, rename and change of mode sets it, and no program
/// can set it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// What it is to the command.
    pub role: Role,
    /// Its path as it is called; links on it are followed again.
    pub path: PathBuf,
    /// The file itself.
    pub real: PathBuf,
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes; 0 for directories.
    pub size: u64,
    /// Last change of its content, in nanoseconds since 1970; 0 for directories, whose entries come and go.
    pub mtime_ns: i64,
    /// Last change of its inode, in nanoseconds since 1970; 0 for directories.
    pub ctime_ns: i64,
    /// SHA-256 of its content, where that was bound.
    pub sha256: Option<[u8; 32]>,
    /// Whoever runs here can change it, its directory, or a link on the way to it.
    pub mutable: bool,
}

/// How closely a file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Which file it is.
    Identity,
    /// What is in it too, where it can be changed.
    Content,
}

impl Pin {
    /// A file: what `path` leads to, which must be `real`.
    pub(super) fn of_file(role: Role, path: &Path, real: &Path, depth: Depth) -> Result<Self, BindError> {
        let unreadable = |reason: String| BindError::Unreadable { path: path.to_owned(), reason };
        let mutable = depth == Depth::Content && changeable(path);
        let (fd, readable) = opened(path).map_err(|errno| unreadable(errno.to_string()))?;
        let stat = fstat(&fd).map_err(|errno| unreadable(errno.to_string()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(unreadable("it is no regular file".to_owned()));
        }
        // The file that was judged, and not what its name has come to lead to since.
        let judged = hold(real)
            .is_ok_and(|held| (held.identity().dev, held.identity().ino) == (stat.st_dev, stat.st_ino));
        if !judged {
            return Err(Self { role, ..Self::of_stat(role, path, real, &stat) }.changed());
        }
        let mut pin = Self { mutable, ..Self::of_stat(role, path, real, &stat) };
        if mutable {
            if !readable {
                return Err(unreadable("it can be changed here, and not read".to_owned()));
            }
            pin.sha256 = Some(sum(&fd).map_err(|errno| unreadable(errno.to_string()))?);
        }
        Ok(pin)
    }

    /// A directory: its identity only.
    pub(super) fn of_dir(path: &Path, identity: SourceIdentity) -> Self {
        Self {
            role: Role::Cwd,
            path: path.to_owned(),
            real: path.to_owned(),
            dev: identity.dev,
            ino: identity.ino,
            size: 0,
            mtime_ns: 0,
            ctime_ns: 0,
            sha256: None,
            mutable: false,
        }
    }

    fn of_stat(role: Role, path: &Path, real: &Path, stat: &Stat) -> Self {
        Self {
            role,
            path: path.to_owned(),
            real: real.to_owned(),
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            sha256: None,
            mutable: false,
        }
    }

    /// Whether it still is what it was.
    pub(super) fn verify(&self) -> Result<(), BindError> {
        if self.same() { Ok(()) } else { Err(self.changed()) }
    }

    fn same(&self) -> bool {
        if self.role.directory() {
            return rustix::fs::stat(&self.path).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                    && (stat.st_dev, stat.st_ino) == (self.dev, self.ino)
            });
        }
        let Ok((fd, readable)) = opened(&self.path) else { return false };
        let Ok(stat) = fstat(&fd) else { return false };
        let now = Self::of_stat(self.role, &self.path, &self.real, &stat);
        now.numbers() == self.numbers()
            && self.sha256.is_none_or(|sha256| readable && sum(&fd).is_ok_and(|now| now == sha256))
    }

    /// What is said of it when it is not what it was.
    pub(super) fn changed(&self) -> BindError {
        let path = self.path.clone();
        match self.role {
            Role::Cwd | Role::Directory => BindError::Cwd,
            Role::Program | Role::Carrier => BindError::Executable { path },
            Role::Script => BindError::Script { path },
        }
    }

    /// What is compared.
    pub(super) fn numbers(&self) -> [u64; 5] {
        let [mtime, ctime] = [self.mtime_ns, self.ctime_ns].map(i64::cast_unsigned);
        [self.dev, self.ino, self.size, mtime, ctime]
    }
}

/// Hex SHA-256 of a file's content; `None` where it cannot be read or is no regular file.
pub fn content_digest(path: &Path) -> Option<String> {
    let (fd, readable) = opened(path).ok()?;
    let regular = FileType::from_raw_mode(fstat(&fd).ok()?.st_mode) == FileType::RegularFile;
    (readable && regular).then(|| sum(&fd).ok().map(|sum| crate::state::hex(&sum))).flatten()
}

fn nanoseconds(seconds: i64, rest: impl TryInto<i64>) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest.try_into().unwrap_or(0))
}

/// Opens what a path leads to, to be read where that is possible. A pipe is not waited for.
fn opened(path: &Path) -> rustix::io::Result<(OwnedFd, bool)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    match open(path, flags, Mode::empty()) {
        Ok(fd) => Ok((fd, true)),
        // What may be executed need not be readable.
        Err(rustix::io::Errno::ACCESS) => {
            Ok((open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?, false))
        }
        Err(errno) => Err(errno),
    }
}

fn sum(fd: &OwnedFd) -> rustix::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut offset = 0;
    loop {
        let count = match rustix::io::pread(fd, &mut piece, offset) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        hash.update(piece.get(..count).unwrap_or_default());
        offset += count as u64;
    }
}

/// Whether this account can change what a path leads to: the file, a directory on the way, or a link (11.03). What cannot
/// be looked at counts as changeable.
fn changeable(path: &Path) -> bool {
    let me = rustix::process::geteuid();
    // Root can change everything (9.04).
    me.is_root() || walk(path, me.as_raw()).unwrap_or(true)
}

/// `None` where that cannot be told.
fn walk(path: &Path, me: u32) -> Option<bool> {
    let mut current = PathBuf::from("/");
    let mut left: Vec<std::ffi::OsString> = Vec::new();
    let push = |left: &mut Vec<std::ffi::OsString>, path: &Path| {
        let names = path.components().filter(|part| !matches!(part, std::path::Component::RootDir));
        left.extend(names.map(|part| part.as_os_str().to_owned()).rev().collect::<Vec<_>>());
    };
    if !path.is_absolute() || mine(&current, me)? {
        return Some(true);
    }
    push(&mut left, path);
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            current.pop();
            continue;
        }
        let next = current.join(&name);
        let stat = rustix::fs::lstat(&next).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            if mine(&next, me)? {
                return Some(true);
            }
            current = next;
            continue;
        }
        links += 1;
        if stat.st_uid == me || links > MAX_LINKS {
            return Some(true);
        }
        let target = std::fs::read_link(&next).ok()?;
        if target.is_absolute() {
            current = PathBuf::from("/");
        }
        push(&mut left, &target);
    }
    Some(false)
}

/// Owned by this account, which could make it writable, or writable for it.
fn mine(path: &Path, me: u32) -> Option<bool> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some(stat.st_uid == me || accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judged for an account that does not exist here, so that the test says the same under root.
    #[test]
    fn who_owns_a_file_or_a_link_can_change_it() {
        let me = rustix::process::geteuid().as_raw();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tool");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(walk(&file, me), Some(true));
        assert!(walk(&dir.path().join("none"), u32::MAX - 1).is_none_or(|mine| mine));
        assert_eq!(walk(Path::new("relative"), me), Some(true));
        assert!(changeable(&file));
    }

    /// What the distribution has installed is its own, unless this account is root's.
    #[test]
    fn programs_of_the_machine_are_not_ours() {
        let root = rustix::process::geteuid().is_root();
        for program in ["/bin/sh", "/usr/bin/env"] {
            assert_eq!(changeable(Path::new(program)), root, "{program}");
        }
    }

    /// A link that leads to one file when it is judged and to another when it is pinned.
    #[test]
    fn what_is_pinned_is_what_was_judged() {
        let dir = tempfile::tempdir().unwrap();
        let root = crate::paths::resolve::resolve(dir.path()).unwrap();
        let at = |name: &str| root.join(name);
        for name in ["judged", "other"] {
            std::fs::write(at(name), name).unwrap();
        }
        let point = |to: &str| {
            std::os::unix::fs::symlink(to, at("new")).unwrap();
            std::fs::rename(at("new"), at("tool")).unwrap();
        };
        point("judged");
        let ino = |name: &str| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(at(name)).unwrap());
        let pin = || Pin::of_file(Role::Program, &at("tool"), &at("judged"), Depth::Identity);
        assert_eq!(pin().unwrap().ino, ino("judged"));
        point("other");
        assert_eq!(pin(), Err(BindError::Executable { path: at("tool") }));
        // Swapped all the time: drift, or the file that was judged.
        std::thread::scope(|scope| {
            let swaps = scope.spawn(|| {
                for round in 0..2000 {
                    point(if round % 2 == 0 { "judged" } else { "other" });
                }
            });
            while !swaps.is_finished() {
                match pin() {
                    Ok(pin) => assert_eq!(pin.ino, ino("judged")),
                    Err(error) => assert_eq!(error, BindError::Executable { path: at("tool") }),
                }
            }
        });
        // A link in the place of the file itself.
        point("judged");
        std::fs::remove_file(at("judged")).unwrap();
        std::os::unix::fs::symlink("other", at("judged")).unwrap();
        assert_eq!(pin(), Err(BindError::Executable { path: at("tool") }));
    }

    #[test]
    fn every_element_is_compared() {
        let dir = tempfile::tempdir().unwrap();
        let file = crate::paths::resolve::resolve(dir.path()).unwrap().join("tool");
        std::fs::write(&file, "one").unwrap();
        let pin = Pin::of_file(Role::Program, &file, &file, Depth::Content).unwrap();
        assert!(pin.mutable && pin.sha256.is_some());
        assert_eq!(pin.verify(), Ok(()));
        let changes: [fn(&mut Pin); 6] = [
            |pin| pin.dev += 1,
            |pin| pin.ino += 1,
            |pin| pin.size += 1,
            |pin| pin.mtime_ns += 1,
            |pin| pin.ctime_ns += 1,
            |pin| pin.sha256 = Some([0; 32]),
        ];
        for change in changes {
            let mut other = pin.clone();
            change(&mut other);
            assert_eq!(other.verify(), Err(BindError::Executable { path: file.clone() }));
        }
        assert!(Pin::of_file(Role::Script, dir.path(), dir.path(), Depth::Content).is_err());
        assert_eq!(
            content_digest(&file).as_deref(),
            pin.sha256.map(|sum| crate::state::hex(&sum)).as_deref()
        );
        assert_eq!(content_digest(dir.path()), None);
    }
}
