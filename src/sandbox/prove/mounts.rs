//! Checks over the mount table and the paths that init looked up.

use super::{Check, Rule, Verdict};
use crate::engine::{ContainerSpec, Mount, Tmpfs};
use crate::paths::mounts as kernel;
use crate::sandbox::request::Identity;
use crate::wire::{Facts, PathFacts};

/// A mount of the container, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) point: String,
    pub(super) writable: bool,
    pub(super) kind: String,
    pub(super) options: String,
}

/// The mount table; of mounts over each other only the topmost counts.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Entry>);

impl Table {
    /// Reads `/proc/<pid>/mountinfo`; lines in another format are dropped, the checks then miss their mount.
    pub(super) fn parse(text: &str) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in text.lines().filter_map(kernel::Mount::parse).map(Entry::from) {
            entries.retain(|earlier| earlier.point != entry.point);
            entries.push(entry);
        }
        Self(entries)
    }

    fn at(&self, point: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.point == point)
    }
}

impl From<kernel::Mount> for Entry {
    fn from(mount: kernel::Mount) -> Self {
        Self {
            point: mount.point.to_string_lossy().into_owned(),
            writable: mount.writable(),
            options: format!("{},{}", mount.options, mount.file_system_options),
            kind: mount.kind,
        }
    }
}

fn seen<'a>(facts: &'a Facts, path: &str) -> Option<&'a PathFacts> {
    facts.paths.iter().find(|facts| facts.path == path)
}

fn mode(read_only: bool) -> &'static str {
    if read_only { "read-only" } else { "writable" }
}

/// The root file system.
pub(super) fn root(spec: &ContainerSpec, facts: &Facts) -> Check {
    let asked = mode(spec.read_only_root);
    match seen(facts, "/") {
        Some(root) if root.errno == 0 => {
            let ok = root.read_only || !spec.read_only_root;
            Check::new(Rule::ReadOnlyRoot, asked, mode(root.read_only), Verdict::of(ok))
        }
        _ => Check::new(Rule::ReadOnlyRoot, asked, "not readable", Verdict::Unknown),
    }
}

/// A bind mount: the file that was validated, mounted at the target itself, read-only where asked.
pub(super) fn mount(mount: &Mount, source: Option<&Identity>, table: &Table, facts: &Facts) -> Check {
    let told = |identity: &Identity| format!("{identity}, {}", mode(mount.read_only));
    let asked = source.map_or_else(|| mode(mount.read_only).to_owned(), told);
    let check = |observed: String, verdict| {
        Check::new(Rule::Mount, asked.clone(), observed, verdict).about(mount.target.clone())
    };
    // A target that passes through a link of the image is mounted elsewhere than it says.
    if table.at(&mount.target).is_none() {
        return check("nothing is mounted at exactly this path".to_owned(), Verdict::NotEnforced);
    }
    let Some(path) = seen(facts, &mount.target) else {
        return check("not looked up".to_owned(), Verdict::NotEnforced);
    };
    if path.errno != 0 {
        return check(format!("error {} at look-up", path.errno), Verdict::NotEnforced);
    }
    let found = Identity { dev: path.dev, ino: path.ino };
    let observed = format!("{found}, {}", mode(path.read_only));
    // Less access than asked for is no gap: the host's own file system may be read-only.
    let ok = source.is_some_and(|source| *source == found) && (path.read_only || !mount.read_only);
    check(observed, Verdict::of(ok))
}

pub(super) fn below(point: &str, target: &str) -> bool {
    point.strip_prefix(target).is_some_and(|rest| rest.starts_with('/'))
}

/// What was asked to be mounted at this path.
pub(super) fn is_asked(spec: &ContainerSpec, point: &str) -> bool {
    spec.mounts.iter().any(|mount| mount.target == point)
        || spec.tmpfs.iter().any(|tmpfs| tmpfs.target == point)
}

/// `:ro` covers one mount, not what the host had mounted below it: one check per read-only bind mount.
pub(super) fn submounts(spec: &ContainerSpec, table: &Table) -> Vec<Check> {
    let check = |mount: &Mount| {
        let open: Vec<&str> = table
            .0
            .iter()
            .filter(|entry| {
                entry.writable && below(&entry.point, &mount.target) && !is_asked(spec, &entry.point)
            })
            .map(|entry| entry.point.as_str())
            .collect();
        let observed = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
        Check::new(Rule::Submounts, "nothing writable below", observed, Verdict::of(open.is_empty()))
            .about(mount.target.clone())
    };
    spec.mounts.iter().filter(|mount| mount.read_only).map(check).collect()
}

/// A temporary file system. Where it is missing, a read-only root makes the path unusable, not unsafe.
pub(super) fn tmpfs(tmpfs: &Tmpfs, table: &Table) -> Check {
    let check = |observed: &str, verdict| {
        Check::new(Rule::Tmpfs, tmpfs.options.clone(), observed, verdict).about(tmpfs.target.clone())
    };
    match table.at(&tmpfs.target) {
        Some(entry) if entry.kind == "tmpfs" => {
            let has = |word: &str| entry.options.split(',').any(|option| option == word);
            let asked = |word: &str| tmpfs.options.split(',').any(|option| option == word);
            let ok = ["nosuid", "nodev", "noexec"].iter().all(|word| has(word) || !asked(word));
            check(&entry.options, Verdict::of(ok))
        }
        Some(entry) => check(&format!("a file system of type {}", entry.kind), Verdict::NotEnforced),
        None => check("not mounted at exactly this path", Verdict::Unknown),
    }
}

/// Places where every engine mounts something of its own.
const ENGINE_OWN: [&str; 6] = ["/proc", "/dev", "/sys", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts"];

/// Every engine mounts something of its own there.
pub(super) fn is_engines(point: &str) -> bool {
    ENGINE_OWN.iter().any(|place| point == *place || below(point, place))
}

/// Writable mounts that nobody asked for: volumes of the image, host mounts below a writable bind.
pub(super) fn warnings(spec: &ContainerSpec, table: &Table) -> Vec<String> {
    let own = |point: &str| point == "/" || is_engines(point);
    table
        .0
        .iter()
        .filter(|entry| entry.writable && !own(&entry.point) && !is_asked(spec, &entry.point))
        .map(|entry| {
            format!("{} is mounted writable although nobody asked for it", entry.point.escape_debug())
        })
        .collect()
}
