//! Denied places: what the paths of the deny list show, whatever it is called elsewhere. A mount gives a directory a
//! second name, which no rule on names and no resolving of links can see.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::deny::{DenyGroup, Entry, Meets};
use super::deny_table::Reach;
use super::mounts::{self, Mount, MountTable, MountsError, Place};

/// A place that no sandbox gets.
#[derive(Debug, Clone)]
struct Denied {
    place: Place,
    /// A path of the host that shows it.
    known: PathBuf,
    /// The entry that denies it.
    blocked: PathBuf,
    reach: Reach,
    group: DenyGroup,
}

/// The denied places of one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct DeniedPlaces {
    table: MountTable,
    denied: Vec<Denied>,
    /// Why nothing is known.
    unknown: Option<MountsError>,
}

/// What a mount shows that no sandbox gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// A denied path, or what lies below or around one.
    Denied {
        /// How.
        meets: Meets,
        /// Its name on this host.
        known: PathBuf,
        /// The entry of the deny list.
        blocked: PathBuf,
        /// Why the entry exists.
        group: DenyGroup,
    },
    /// A file system of the kernel's own, by its type.
    Kernel(String),
    /// Nobody knows: the mount table cannot be read.
    Unknown(MountsError),
}

/// A source was refused for what is mounted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountHit {
    /// The mount point below the source, or the source itself.
    pub point: PathBuf,
    /// It is below the source.
    pub below: bool,
    /// What it shows.
    pub shown: Shown,
}

impl Shown {
    /// What is shown, for people.
    pub fn what(&self) -> String {
        match self {
            Self::Denied { meets: Meets::Covers, known, .. } => {
                format!("a directory that brings {} along, a denied host path", known.display())
            }
            Self::Denied { known, blocked, .. } if known == blocked => {
                format!("{}, a denied host path", known.display())
            }
            Self::Denied { known, blocked, .. } => {
                format!("{}, which lies in {}, a denied host path", known.display(), blocked.display())
            }
            Self::Kernel(kind) => format!("the kernel's own file system {kind}"),
            Self::Unknown(error) => format!("nobody knows what: {error}"),
        }
    }
}

impl MountHit {
    /// Why a source is refused; `source` is what it is called in the sentence.
    pub fn why(&self, source: &str) -> String {
        let what = self.shown.what();
        if self.below {
            return format!("at {} below {source} is mounted {what}", self.point.display());
        }
        format!("mounted at {source} is {what}")
    }

    /// The smallest change that helps.
    pub fn fix(&self) -> String {
        match self.shown {
            Shown::Unknown(_) => "let creel read /proc/self/mountinfo".to_owned(),
            _ if self.below => format!(
                "umount {}, or mount a directory without it; no flag opens what is mounted there",
                self.point.display()
            ),
            _ => {
                "copy what is needed into the workspace; no flag opens this, whatever it is called".to_owned()
            }
        }
    }
}

impl DeniedPlaces {
    /// What the entries show by this table.
    pub(super) fn new(entries: &[Entry], table: Result<MountTable, MountsError>) -> Self {
        let table = match table {
            Ok(table) => table,
            Err(error) => return Self { unknown: Some(error), ..Self::default() },
        };
        let own = entries
            .iter()
            .filter_map(|entry| Some(Denied::new(entry, table.place_of(&entry.path)?, entry.path.clone())));
        let mut denied: Vec<Denied> = own.collect();
        denied.extend(mounted_below(entries, &table));
        Self { table, denied, unknown: None }
    }

    /// Whether the source (absolute, resolved) is a second name of a denied path, or a mount point below it is.
    ///
    /// `opened` says of a path that meets an entry about the agent host's state that it is one of the places there
    /// that are made to be mounted.
    pub(super) fn hit(&self, source: &Path, opened: &dyn Fn(&Path) -> bool) -> Option<MountHit> {
        let itself = |shown| MountHit { point: source.to_owned(), below: false, shown };
        if let Some(error) = &self.unknown {
            return Some(itself(Shown::Unknown(error.clone())));
        }
        let own = self.table.mount_of(source).zip(self.table.place_of(source));
        own.and_then(|(mount, place)| kernels(mount).or_else(|| self.judge(&place, opened)))
            .map(itself)
            .or_else(|| self.below(source, opened))
    }

    /// The same for the mount points below it alone.
    pub(super) fn below(&self, source: &Path, opened: &dyn Fn(&Path) -> bool) -> Option<MountHit> {
        if let Some(error) = &self.unknown {
            let shown = Shown::Unknown(error.clone());
            return Some(MountHit { point: source.to_owned(), below: false, shown });
        }
        self.table.below(source).find_map(|mount| {
            let shown = self.shows(mount, opened)?;
            Some(MountHit { point: mount.point.clone(), below: true, shown })
        })
    }

    /// What a mount of any namespace shows that is denied.
    pub(super) fn shows(&self, mount: &Mount, opened: &dyn Fn(&Path) -> bool) -> Option<Shown> {
        let unknown = self.unknown.clone().map(Shown::Unknown);
        unknown.or_else(|| kernels(mount)).or_else(|| self.judge(&mount.place, opened))
    }

    fn judge(&self, place: &Place, opened: &dyn Fn(&Path) -> bool) -> Option<Shown> {
        let same = self.denied.iter().filter(|denied| denied.place.device == place.device);
        same.into_iter().find_map(|denied| {
            let (meets, known) = denied.meets(&place.path)?;
            if denied.group == DenyGroup::State && meets == Meets::Targets && opened(&known) {
                return None;
            }
            Some(Shown::Denied { meets, known, blocked: denied.blocked.clone(), group: denied.group })
        })
    }
}

fn kernels(mount: &Mount) -> Option<Shown> {
    mount.is_kernels().then(|| Shown::Kernel(mount.kind.clone()))
}

impl Denied {
    fn new(entry: &Entry, place: Place, known: PathBuf) -> Self {
        Self { place, known, blocked: entry.path.clone(), reach: entry.reach, group: entry.group }
    }

    /// How a path in the same file system meets it, and the name on this host of what is denied there.
    fn meets(&self, path: &Path) -> Option<(Meets, PathBuf)> {
        if let Ok(rest) = path.strip_prefix(&self.place.path) {
            let same = rest.as_os_str().is_empty();
            let meets = if self.group == DenyGroup::Homes && same { Meets::Covers } else { Meets::Targets };
            return (same || self.reach == Reach::Tree).then(|| (meets, mounts::join(&self.known, rest)));
        }
        self.place.path.starts_with(path).then(|| (Meets::Covers, self.known.clone()))
    }
}

/// What is mounted strictly below a denied tree, such as `/run/user/1000`: it has a place of its own.
///
/// Left out is what shows a part of a file system that an open mount shows too: a volume of an engine that is a
/// directory of the user's, a directory that is mounted into `/etc`. That is a second name of the user's directory and
/// not the other way round; a link there counts for as little.
fn mounted_below<'a>(entries: &'a [Entry], table: &'a MountTable) -> impl Iterator<Item = Denied> + 'a {
    let trees: HashMap<&Path, &Entry> = entries
        .iter()
        .rev()
        .filter(|entry| entry.reach == Reach::Tree)
        .map(|entry| (entry.path.as_path(), entry))
        .collect();
    let tree_of = move |point: &Path| {
        let above = point.ancestors().find(|way| trees.contains_key(way))?;
        trees.get(above).copied()
    };
    let open: Vec<&Place> = table
        .all()
        .iter()
        .filter(|mount| tree_of(&mount.point).is_none())
        .map(|mount| &mount.place)
        .collect();
    let is_part = move |part: &Place| {
        let holds =
            |whole: &&&Place| whole.device == part.device && is_strictly_below(&whole.path, &part.path);
        open.iter().any(|whole| holds(&whole))
    };
    table.all().iter().filter_map(move |mount| {
        let entry = tree_of(&mount.point).filter(|entry| entry.path != mount.point)?;
        (!is_part(&mount.place)).then(|| Denied::new(entry, mount.place.clone(), mount.point.clone()))
    })
}

fn is_strictly_below(whole: &Path, part: &Path) -> bool {
    part != whole && part.starts_with(whole)
}

#[cfg(test)]
mod tests {
    use super::super::deny::{DenyEnv, DenyList};
    use super::*;

    /// Root with `/run` and `/data` on file systems of their own, `/run/user/7` on another.
    const BASE: &str = "\
1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 0:20 / /run rw - tmpfs tmpfs rw
3 2 0:21 / /run/user/7 rw - tmpfs tmpfs rw
4 1 8:3 / /data rw - ext4 /dev/sdc rw
5 1 8:3 /docker /var/lib/docker rw - ext4 /dev/sdc rw
6 5 8:3 /shared /var/lib/docker/volumes/v/_data rw - ext4 /dev/sdc rw
7 1 0:5 / /proc rw - proc proc rw
";

    fn list(more: &str) -> DenyList {
        let env = DenyEnv {
            homes: vec!["/home/u".into()],
            state_dir: Some("/srv/state".into()),
            named: Vec::new(),
        };
        DenyList::with_mounts(&env, MountTable::parse(format!("{BASE}{more}").as_bytes()))
    }

    /// The mount point that is named, and what it shows.
    fn hit(source: &str, more: &str) -> Option<(String, String)> {
        let hit = list(more).by_mount(Path::new(source), &["/srv/state/workspace".into()])?;
        Some((hit.point.display().to_string(), hit.shown.what()))
    }

    fn denied(source: &str, more: &str, point: &str, what: &str) {
        let hit = hit(source, more);
        let (at, shown) = hit.unwrap_or_else(|| panic!("{source} passed with {more}"));
        assert_eq!(at, point, "{source} {more}");
        assert!(shown.contains(what), "{source} {more}: {shown}");
    }

    #[test]
    fn ordinary_directories_pass() {
        for source in
            ["/srv/x", "/home/u/src", "/data", "/data/shared", "/usr/share", "/srv/state/workspace/a"]
        {
            let all = hit(source, "");
            // The disk that holds the engine's storage is refused as a whole, its other parts are not.
            assert_eq!(all.is_some(), source == "/data", "{source}: {all:?}");
        }
        let ordinary = "10 1 8:4 / /srv/x/disk rw - ext4 d rw\n11 1 0:40 / /srv/x/tmp rw - tmpfs t rw\n\
             12 1 8:1 /srv/y /srv/x/y rw - ext4 d rw\n13 1 0:41 / /srv/x/o rw - overlay o rw\n\
             14 1 8:3 /shared /srv/x/shared rw - ext4 d rw\n15 1 8:1 /srv/state/workspace/a /srv/x/a rw - ext4 d rw\n";
        assert_eq!(hit("/srv/x", ordinary), None);
    }

    #[test]
    fn a_second_name_of_a_denied_path() {
        denied("/srv/al", "10 1 0:20 / /srv/al rw - tmpfs t rw\n", "/srv/al", "/run, a denied");
        denied(
            "/srv/al/x",
            "10 1 0:20 / /srv/al rw - tmpfs t rw\n",
            "/srv/al/x",
            "/run/x, which lies in /run",
        );
        denied("/srv/al", "10 1 8:1 /etc/ssh /srv/al rw - ext4 d rw\n", "/srv/al", "/etc/ssh");
        denied("/srv/al", "10 1 8:1 /home /srv/al rw - ext4 d rw\n", "/srv/al", "brings /home/u/.aws along");
        denied("/srv/al", "10 1 8:1 / /srv/al rw - ext4 d rw\n", "/srv/al", "along");
        denied("/srv/al", "10 1 0:21 /x /srv/al rw - tmpfs t rw\n", "/srv/al", "/run/user/7/x");
        denied("/data/docker/volumes", "", "/data/docker/volumes", "/var/lib/docker/volumes");
        denied(
            "/srv/al",
            "10 1 8:1 /srv/state/creel /srv/al rw - ext4 d rw\n",
            "/srv/al",
            "/srv/state/creel",
        );
        // Names that only look alike.
        for near in ["/etcetera", "/home/u/src", "/srv"] {
            let more = format!("10 1 8:1 {near} /srv/al rw - ext4 d rw\n");
            assert_eq!(hit("/srv/al", &more).is_some(), near == "/srv", "{near}: /srv holds the state");
        }
        assert_eq!(hit("/srv/al", "10 1 8:9 /etc /srv/al rw - ext4 d rw\n"), None, "another disk");
    }

    #[test]
    fn what_is_mounted_below_counts() {
        for (line, what) in [
            ("10 1 0:20 / /srv/x/in rw - tmpfs t rw\n", "/run, a denied"),
            ("10 1 0:20 /docker.sock /srv/x/in rw - tmpfs t rw\n", "/run/docker.sock"),
            ("10 1 0:99 / /srv/x/in ro - proc p rw\n", "own file system proc"),
            ("10 1 0:4 net:[4026531840] /srv/x/in rw - nsfs nsfs rw\n", "own file system nsfs"),
        ] {
            denied("/srv/x", line, "/srv/x/in", what);
            assert_eq!(hit("/srv/xy", line), None, "{line}");
        }
        let below =
            list("10 1 0:20 / /srv/x/in rw - tmpfs t rw\n").by_mount_below(Path::new("/srv/x/in"), &[]);
        assert_eq!(below, None, "the source itself is another question");
    }

    #[test]
    fn without_a_table_nothing_passes() {
        let list = DenyList::with_mounts(&DenyEnv::default(), MountTable::parse(b"nonsense"));
        for hit in [list.by_mount(Path::new("/srv/x"), &[]), list.by_mount_below(Path::new("/srv/x"), &[])] {
            assert!(matches!(hit.unwrap().shown, Shown::Unknown(MountsError::BadLine(1))));
        }
    }
}
