//! The kernel's mount table (`/proc/<pid>/mountinfo`): which part of which file system a path shows. Parsing is pure.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// File systems that the kernel makes up: they show or steer the host itself, wherever they are mounted.
const KERNEL_KINDS: [&str; 26] = [
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "devtmpfs",
    "devpts",
    "securityfs",
    "debugfs",
    "tracefs",
    "bpf",
    "mqueue",
    "efivarfs",
    "pstore",
    "configfs",
    "fusectl",
    "binfmt_misc",
    "nsfs",
    "pidfs",
    "selinuxfs",
    "smackfs",
    "apparmorfs",
    "resctrl",
    "rpc_pipefs",
    "nfsd",
    "xenfs",
    "functionfs",
];

/// A file system by the kernel's number, major and minor.
pub type Device = (u32, u32);

/// A place in a file system: two paths with one place show the same file.
///
/// All mounts of one file system share its device, those of the subvolumes of a btrfs too: they differ in the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file system.
    pub device: Device,
    /// The path from its root.
    pub path: PathBuf,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    id: u64,
    parent: u64,
    /// What is mounted.
    pub place: Place,
    /// Where it appears.
    pub point: PathBuf,
    /// Options of this mount, separated by commas.
    pub options: String,
    /// Type of the file system.
    pub kind: String,
    /// Options of the file system, separated by commas.
    pub file_system_options: String,
}

impl Mount {
    /// Reads a line; `None` for one of another format.
    pub fn parse(line: &str) -> Option<Self> {
        Self::read(line.as_bytes())
    }

    fn read(line: &[u8]) -> Option<Self> {
        let gap = line.windows(3).position(|window| window == b" - ")?;
        let (front, back) = (line.get(..gap)?, line.get(gap + 3..)?);
        let mut front = front.split(|byte| *byte == b' ');
        let mut back = back.split(|byte| *byte == b' ');
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse().ok();
        let (id, parent) = (number(front.next()?)?, number(front.next()?)?);
        let (major, minor) = std::str::from_utf8(front.next()?).ok()?.split_once(':')?;
        let device = (major.parse().ok()?, minor.parse().ok()?);
        let (path, point) = (unescape(front.next()?), unescape(front.next()?));
        Some(Self {
            id,
            parent,
            place: Place { device, path },
            point,
            options: text(front.next()?),
            kind: text(back.next()?),
            file_system_options: back.nth(1).map(text).unwrap_or_default(),
        })
    }

    /// Nothing says that it is read-only.
    pub fn writable(&self) -> bool {
        ![&self.options, &self.file_system_options].iter().any(|all| all.split(',').any(|one| one == "ro"))
    }

    /// It is one of the kernel's own file systems.
    pub fn is_kernels(&self) -> bool {
        KERNEL_KINDS.contains(&self.kind.as_str())
    }
}

/// The kernel writes space, tab, newline and backslash as a backslash and three octal digits.
fn unescape(text: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\').and_then(|all| std::str::from_utf8(all).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            plain.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

/// Why there is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountsError {
    /// It cannot be read.
    #[error("/proc/self/mountinfo cannot be read: {0}")]
    Unreadable(String),
    /// A line is none of the known format; a mount that is not understood could be any.
    #[error("line {0} of the mount table is in no known format")]
    BadLine(usize),
}

/// The mounts of one namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountTable {
    mounts: Vec<Mount>,
    /// The last mount on a point of another, by the other's id.
    children: HashMap<(u64, PathBuf), usize>,
}

impl MountTable {
    /// Reads a whole table.
    ///
    /// # Errors
    ///
    /// When a line is not understood.
    pub fn parse(text: &[u8]) -> Result<Self, MountsError> {
        let lines = text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let one = |(at, line)| Mount::read(line).ok_or(MountsError::BadLine(at + 1));
        let mounts: Vec<Mount> = lines.map(one).collect::<Result<_, _>>()?;
        let key = |mount: &Mount| (mount.parent, mount.point.clone());
        let children = mounts.iter().enumerate().map(|(at, mount)| (key(mount), at)).collect();
        Ok(Self { mounts, children })
    }

    /// The table of this process.
    ///
    /// # Errors
    ///
    /// When it cannot be read or understood.
    pub fn own() -> Result<Self, MountsError> {
        let text = std::fs::read("/proc/self/mountinfo")
            .map_err(|error| MountsError::Unreadable(error.to_string()))?;
        Self::parse(&text)
    }

    /// Every mount, in the kernel's order.
    pub fn all(&self) -> &[Mount] {
        &self.mounts
    }

    /// The mount that a path (absolute, resolved) is on: the topmost where several lie on each other.
    pub fn mount_of(&self, path: &Path) -> Option<&Mount> {
        let known = |id: u64| self.mounts.iter().any(|mount| mount.id == id);
        let is_root = |mount: &&Mount| mount.point == Path::new("/") && !known(mount.parent);
        let mut at = self.mounts.iter().find(is_root)?;
        let mut ways: Vec<&Path> = path.ancestors().collect();
        ways.reverse();
        for way in ways {
            // As many steps as there are mounts: a table that leads in a circle ends too.
            for _ in 0..self.mounts.len() {
                let Some(above) = self.children.get(&(at.id, way.to_owned())) else { break };
                match self.mounts.get(*above) {
                    Some(above) if above.id != at.id => at = above,
                    _ => break,
                }
            }
        }
        Some(at)
    }

    /// The place of a path (absolute, resolved; it need not exist).
    pub fn place_of(&self, path: &Path) -> Option<Place> {
        let mount = self.mount_of(path)?;
        let rest = path.strip_prefix(&mount.point).ok()?;
        Some(Place { device: mount.place.device, path: join(&mount.place.path, rest) })
    }

    /// The mounts whose points lie strictly below a path, those that others hide included.
    pub fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |mount| mount.point != path && mount.point.starts_with(path))
    }
}

/// `rest` below `base`; an empty rest leaves no slash at the end.
pub(super) fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { base.to_owned() } else { base.join(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda rw
21 20 8:1 /var/run /srv/al rw - ext4 /dev/sda rw
22 20 8:2 /@home /home rw,nosuid master:3 propagate_from:2 - btrfs /dev/sdb rw,subvol=/@home
23 22 0:30 / /home/u/a\\040b ro - tmpfs  rw
24 23 0:31 / /home/u/a\\040b rw - proc proc rw
25 24 8:1 /etc /home/u/a\\040b/in rw - ext4 /dev/sda ro
";

    fn table() -> MountTable {
        MountTable::parse(TABLE.as_bytes()).unwrap()
    }

    fn place(path: &str) -> (Device, String) {
        let place = table().place_of(Path::new(path)).unwrap();
        (place.device, place.path.display().to_string())
    }

    #[test]
    fn a_path_is_a_part_of_a_file_system() {
        for (path, device, wanted) in [
            ("/", (8, 1), "/"),
            ("/srv", (8, 1), "/srv"),
            ("/srv/al", (8, 1), "/var/run"),
            ("/srv/al/docker.sock", (8, 1), "/var/run/docker.sock"),
            ("/srv/also", (8, 1), "/srv/also"),
            ("/home/u", (8, 2), "/@home/u"),
            ("/home/u/a b", (0, 31), "/"),
            ("/home/u/a b/in/x", (8, 1), "/etc/x"),
        ] {
            assert_eq!(place(path), (device, wanted.to_owned()), "{path}");
        }
    }

    #[test]
    fn options_types_and_what_is_below() {
        let table = table();
        let below: Vec<_> = table.below(Path::new("/home/u/a b")).map(|one| one.point.clone()).collect();
        assert_eq!(below, [PathBuf::from("/home/u/a b/in")]);
        assert!(table.mount_of(Path::new("/home/u/a b")).unwrap().is_kernels());
        let writable: Vec<bool> = table.all().iter().map(Mount::writable).collect();
        assert_eq!(writable, [true, true, true, false, true, false]);
    }

    #[test]
    fn hidden_mounts_do_not_count_for_what_a_path_shows() {
        let hidden =
            "1 0 8:1 / / rw - ext4 d rw\n2 1 8:2 / /a/b rw - ext4 d rw\n3 1 8:3 / /a rw - ext4 d rw\n";
        let table = MountTable::parse(hidden.as_bytes()).unwrap();
        assert_eq!(table.place_of(Path::new("/a/b/c")).unwrap().device, (8, 3));
        assert_eq!(table.below(Path::new("/a")).count(), 1, "but they are looked at");
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (text, line) in
            [("x\n", 1), ("1 0 8:1 / / rw - ext4 d rw\n1 2 3\n", 2), ("1 0 8 / / rw - a b c", 1)]
        {
            assert_eq!(MountTable::parse(text.as_bytes()), Err(MountsError::BadLine(line)), "{text:?}");
        }
        assert_eq!(MountTable::parse(b"").unwrap().place_of(Path::new("/a")), None);
        let bytes = b"1 0 8:1 / / rw - ext4 d rw\n2 1 8:2 / /\xff rw - ext4 d rw\n";
        assert_eq!(MountTable::parse(bytes).unwrap().all().len(), 2, "not every name is text");
        assert!(MountTable::own().unwrap().place_of(Path::new("/")).is_some());
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_ends(text in "([0-9 :/a-c\\\\-]|\\n| - ){0,120}", path in "/[abc/]{0,8}") {
            if let Ok(table) = MountTable::parse(text.as_bytes()) {
                let _ = table.place_of(Path::new(&path));
            }
        }
    }
}
