//! With creel in a container: what its mounts, and those of its sandboxes, are called on the host. The mount table of a
//! container has the same devices and the same paths in them as the host's; only the names differ.

use std::path::{Path, PathBuf};

use super::place::denied_there;
use crate::engine::Mount;
use crate::paths::Shown;
use crate::paths::mounts::{self as kernel, Device, MountTable};

/// Where file systems are mounted on the host, as far as creel's own mounts tell.
#[derive(Debug, Default)]
pub(super) struct HostPlaces {
    table: MountTable,
    /// A device and the path of the host that shows its root.
    roots: Vec<(Device, PathBuf)>,
}

impl HostPlaces {
    /// `mounts` are those of creel's own container as the engine lists them, `table` is what its kernel says.
    pub(super) fn new(mounts: &[Mount], table: MountTable) -> Self {
        let one = |mount: &Mount| {
            let target = Path::new(&mount.target);
            let seen = table.mount_of(target).filter(|seen| seen.point == target)?;
            Some((seen.place.device, root_of(Path::new(&mount.source), &seen.place.path)?))
        };
        let roots = mounts.iter().filter_map(one).collect();
        Self { table, roots }
    }

    /// What is mounted at a directory of creel's container or below it and denied on the host: the mount point, and
    /// what it shows. `whole` asks about the directory itself too.
    pub(super) fn hit(&self, dir: &Path, whole: bool) -> Option<(PathBuf, PathBuf, &'static str)> {
        let itself = self.table.place_of(dir).filter(|_| whole).map(|place| (dir.to_owned(), place));
        let below = self.table.below(dir).map(|mount| (mount.point.clone(), mount.place.clone()));
        itself.into_iter().chain(below).find_map(|(point, place)| {
            let host = self.host_path(&place)?;
            let hit = denied_there(&host)?;
            Some((point, host, hit.group.name()))
        })
    }

    /// The same for a mount of a sandbox.
    pub(super) fn shown(&self, mount: &kernel::Mount) -> Option<Shown> {
        let known = self.host_path(&mount.place)?;
        let hit = denied_there(&known)?;
        Some(Shown::Denied { meets: hit.meets, known, blocked: hit.blocked, group: hit.group })
    }

    fn host_path(&self, place: &kernel::Place) -> Option<PathBuf> {
        let (_, root) = self.roots.iter().find(|(device, _)| *device == place.device)?;
        let rest = place.path.strip_prefix("/").ok()?;
        Some(if rest.as_os_str().is_empty() { root.clone() } else { root.join(rest) })
    }
}

/// Where the root of a file system is, when `path` of it appears as `source`: `/mnt` for `/mnt/a/b` that shows `/a/b`.
fn root_of(source: &Path, path: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix("/").ok()?;
    if !source.is_absolute() || !source.ends_with(rest) {
        return None;
    }
    source.ancestors().nth(rest.components().count()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> HostPlaces {
        let table = "1 0 0:50 / / rw - overlay o rw\n\
             2 1 8:1 /srv/work /work rw - ext4 d rw\n\
             3 2 8:1 /run /work/in rw - ext4 d rw\n\
             4 2 8:1 /srv/other /work/ok rw - ext4 d rw\n\
             5 1 8:2 /p /data rw - ext4 d rw\n\
             6 5 8:2 / /data/all rw - ext4 d rw\n\
             7 1 8:9 /run /elsewhere rw - ext4 d rw\n";
        let mount = |source: &str, target: &str| Mount {
            source: source.to_owned(),
            target: target.to_owned(),
            read_only: false,
        };
        let mounts = [mount("/srv/work", "/work"), mount("/home/u/p", "/data"), mount("vol", "/elsewhere")];
        HostPlaces::new(&mounts, MountTable::parse(table.as_bytes()).unwrap())
    }

    #[test]
    fn a_file_system_is_known_by_one_of_its_directories() {
        for (source, path, wanted) in [
            ("/srv/work", "/srv/work", Some("/")),
            ("/mnt/a/b", "/a/b", Some("/mnt")),
            ("/mnt", "/", Some("/mnt")),
            ("/mnt/ab", "/b", None),
            ("vol", "/vol", None),
        ] {
            let root = root_of(Path::new(source), Path::new(path));
            assert_eq!(root, wanted.map(PathBuf::from), "{source} {path}");
        }
    }

    #[test]
    fn what_the_host_denies_is_known_under_other_names() {
        let places = places();
        let hit = |dir: &str, whole| places.hit(Path::new(dir), whole).map(|(point, host, _)| (point, host));
        assert_eq!(hit("/work", true), Some(("/work/in".into(), "/run".into())));
        assert_eq!(hit("/work/in/x", true), Some(("/work/in/x".into(), "/run/x".into())));
        assert_eq!(hit("/work/in/x", false), None, "it is asked about what is mounted below");
        assert_eq!(hit("/work/ok", true), None);
        assert_eq!(hit("/data", false), Some(("/data/all".into(), "/home/u".into())), "a whole home");
        assert_eq!(hit("/elsewhere", true), None, "nobody knows where that is");
        let mount = kernel::Mount::parse("9 8 8:1 /etc/ssh /workspace/x rw - ext4 d rw").unwrap();
        assert!(places.shown(&mount).unwrap().what().contains("/etc/ssh, which lies in /etc"));
    }
}
