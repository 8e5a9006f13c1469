//! Host paths that no sandbox gets, whatever flag is set.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::deny_table::{self as table, Reach};
use super::mounts::{Mount, MountTable, MountsError};
use super::places::{DeniedPlaces, MountHit, Shown};
use super::{lexical, resolve};

/// Why an entry is on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenyGroup {
    /// The root of the host, which brings everything along.
    Root,
    /// Upstream's list (spec `sandbox.md` §6.4).
    Upstream,
    /// Where an engine keeps images, volumes and sockets: write access is root on the host.
    EngineStorage,
    /// Programs and start-up tables that the host runs.
    HostPrograms,
    /// Directories that hold every user's home.
    Homes,
    /// Credential stores that upstream's list misses.
    HomeCredentials,
    /// Files that a login runs, and histories.
    HomeStartup,
    /// The agent host's own state.
    State,
    /// A path that a variable of the environment names as a place of credentials or as a socket.
    Environment,
}

impl DenyGroup {
    /// The group's name in refusals and in `docs/compatibility.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Upstream => "upstream",
            Self::EngineStorage => "engine-storage",
            Self::HostPrograms => "host-programs",
            Self::Homes => "homes",
            Self::HomeCredentials => "home-credentials",
            Self::HomeStartup => "home-startup",
            Self::State => "state",
            Self::Environment => "environment",
        }
    }
}

/// What the list is made from; values, so that tests need no environment.
#[derive(Debug, Clone, Default)]
pub struct DenyEnv {
    /// Home directories, absolute.
    pub homes: Vec<PathBuf>,
    /// The state directory, absolute.
    pub state_dir: Option<PathBuf>,
    /// Paths that the environment names as holding credentials or sockets, absolute.
    pub named: Vec<PathBuf>,
}

impl DenyEnv {
    /// Reads the variables that matter through `var`.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>, state_dir: &Path) -> Self {
        let absolute = |text: &str| lexical::absolute(text).then(|| PathBuf::from(text));
        let homes = table::HOME_VARS.iter().filter_map(|name| absolute(var(name)?.trim())).collect();
        let listed = table::SECRET_VARS.iter().filter_map(|name| var(name)).flat_map(|value| {
            // KUBECONFIG is a list; none of the others may hold a colon either.
            value.split(':').filter_map(|part| absolute(part.trim())).collect::<Vec<_>>()
        });
        let sockets =
            table::ENGINE_VARS.iter().filter_map(|name| absolute(var(name)?.strip_prefix("unix://")?));
        let named = listed.chain(sockets).collect();
        Self { homes, state_dir: Some(state_dir.to_owned()), named }
    }

    /// Adds the home of the user that runs this process, as the user data base has it: `HOME` may say otherwise.
    #[must_use]
    pub fn with_os_home(mut self) -> Self {
        if let Ok(Some(user)) = nix::unistd::User::from_uid(nix::unistd::Uid::current()) {
            self.homes.push(user.dir);
        }
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) reach: Reach,
    pub(super) group: DenyGroup,
}

/// The list, each entry as written and as it resolves, and what was mounted when it was made.
#[derive(Debug, Clone, Default)]
pub struct DenyList {
    entries: Vec<Entry>,
    known: HashSet<(PathBuf, Reach)>,
    state_dirs: Vec<PathBuf>,
    places: Arc<DeniedPlaces>,
}

/// How a path meets the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meets {
    /// It is a denied path or lies below one.
    Targets,
    /// A denied path lies below it.
    Covers,
}

/// A path met an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenyHit {
    /// How.
    pub meets: Meets,
    /// The entry.
    pub blocked: PathBuf,
    /// Why the entry exists.
    pub group: DenyGroup,
}

impl DenyList {
    /// Builds the list. Resolves each entry, so that a store that is itself a link is denied at both ends, and looks at
    /// what is mounted, so that it is denied under every name.
    pub fn new(env: &DenyEnv) -> Self {
        Self::with_mounts(env, MountTable::own())
    }

    /// The same with a mount table that was read before. Without one, every source is refused.
    pub fn with_mounts(env: &DenyEnv, table: Result<MountTable, MountsError>) -> Self {
        let mut list = Self::default();
        for path in table::UPSTREAM_SYSTEM {
            list.add(PathBuf::from(path), Reach::Tree, DenyGroup::Upstream);
        }
        let homes = both_spellings(env.homes.iter().filter(|home| home.is_absolute()));
        for (home, name) in homes.iter().flat_map(|home| table::UPSTREAM_HOME.iter().map(move |n| (home, n)))
        {
            list.add(home.join(name), Reach::Tree, DenyGroup::Upstream);
        }
        for (path, reach, group) in table::SYSTEM {
            list.add(PathBuf::from(path), *reach, *group);
        }
        for home in &homes {
            list.add(home.clone(), Reach::Itself, DenyGroup::Homes);
            for (name, group) in table::HOME {
                list.add(home.join(name), Reach::Tree, *group);
                if *group == DenyGroup::State {
                    list.state_dirs.push(home.join(name));
                }
            }
        }
        list.add_state(env);
        for path in env.named.iter().filter(|path| path.is_absolute()) {
            list.add(path.clone(), Reach::Tree, DenyGroup::Environment);
        }
        list.add_resolved();
        list.places = Arc::new(DeniedPlaces::new(&list.entries, table));
        list
    }

    /// The same list with what is mounted now.
    #[must_use]
    pub fn look_again(mut self) -> Self {
        self.places = Arc::new(DeniedPlaces::new(&self.entries, MountTable::own()));
        self
    }

    fn add_state(&mut self, env: &DenyEnv) {
        let own = env.state_dir.iter().filter(|path| path.is_absolute());
        for state in both_spellings(own) {
            self.add(state.clone(), Reach::Tree, DenyGroup::State);
            self.state_dirs.push(state);
        }
    }

    fn add(&mut self, path: PathBuf, reach: Reach, group: DenyGroup) {
        let path = lexical::clean(path);
        if path != Path::new("/") && self.known.insert((path.clone(), reach)) {
            self.entries.push(Entry { path, reach, group });
        }
    }

    /// Appends where each entry really lies; entries as written keep their place at the front.
    ///
    /// Most entries do not exist and share a few parents, which are resolved once each.
    fn add_resolved(&mut self) {
        let mut parents: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
        for entry in self.entries.clone() {
            let (Some(parent), Some(name)) = (entry.path.parent(), entry.path.file_name()) else { continue };
            let real = if entry.path.is_symlink() {
                resolve::resolve(&entry.path).ok()
            } else {
                let known = parents.entry(parent.to_owned()).or_insert_with(|| resolve::resolve(parent).ok());
                known.as_ref().map(|parent| parent.join(name))
            };
            if let Some(real) = real {
                self.add(real, entry.reach, entry.group);
            }
        }
        for state in self.state_dirs.clone() {
            self.state_dirs.extend(resolve::resolve(&state));
        }
    }

    /// The first entry that `path` (absolute, clean) meets.
    ///
    /// `roots` are clean paths that the caller is entitled to: one that lies strictly below the state directory
    /// (an agent's workspace usually does) opens itself, never the state's private parts.
    pub fn hit(&self, path: &Path, roots: &[PathBuf]) -> Option<DenyHit> {
        let root = Path::new("/");
        if path == root {
            return Some(DenyHit { meets: Meets::Covers, blocked: root.into(), group: DenyGroup::Root });
        }
        self.hits(path).find(|hit| {
            let state = hit.group == DenyGroup::State && hit.meets == Meets::Targets;
            !(state && self.opened(path, roots))
        })
    }

    /// Every entry that `path` (absolute, clean, not `/`) meets, whatever the caller is entitled to.
    pub fn hits(&self, path: &Path) -> impl Iterator<Item = DenyHit> {
        self.entries.iter().filter_map(move |entry| {
            let meets = entry.meets(path)?;
            Some(DenyHit { meets, blocked: entry.path.clone(), group: entry.group })
        })
    }

    /// What `source` (absolute, resolved), or a mount point below it, shows of the denied paths under another name.
    /// `roots` as for [`Self::hit`].
    pub fn by_mount(&self, source: &Path, roots: &[PathBuf]) -> Option<MountHit> {
        self.places.hit(source, &|path| self.opened(path, roots))
    }

    /// The same for the mount points below `source` alone.
    pub fn by_mount_below(&self, source: &Path, roots: &[PathBuf]) -> Option<MountHit> {
        self.places.below(source, &|path| self.opened(path, roots))
    }

    /// What a mount, of whatever namespace, shows of the denied paths.
    pub fn shown_by(&self, mount: &Mount) -> Option<Shown> {
        self.places.shows(mount, &|_| false)
    }

    /// Device and inode of every denied path that exists, with its name: each entry once, as it resolves.
    pub fn identities(&self) -> Vec<(PathBuf, (u64, u64))> {
        use std::os::unix::fs::MetadataExt as _;
        let mut known = HashSet::new();
        let one = |entry: &Entry| {
            let meta = std::fs::metadata(&entry.path).ok()?;
            let identity = (meta.dev(), meta.ino());
            known.insert(identity).then(|| (entry.path.clone(), identity))
        };
        self.entries.iter().filter_map(one).collect()
    }

    /// Whether `path` lies in a root that is a proper, public part of a state directory.
    fn opened(&self, path: &Path, roots: &[PathBuf]) -> bool {
        let public = |path: &Path| {
            self.state_dirs.iter().filter_map(|state| path.strip_prefix(state).ok()).all(|part| {
                let first = part.components().next().map(|c| c.as_os_str().to_owned());
                first.is_some_and(|name| !table::STATE_ALWAYS.iter().any(|private| name == *private))
            })
        };
        roots.iter().any(|root| lexical::inside(root, path) && public(root)) && public(path)
    }
}

impl Entry {
    fn meets(&self, path: &Path) -> Option<Meets> {
        if path == self.path && self.group == DenyGroup::Homes {
            return Some(Meets::Covers);
        }
        if path == self.path || (self.reach == Reach::Tree && lexical::inside(&self.path, path)) {
            return Some(Meets::Targets);
        }
        lexical::inside(path, &self.path).then_some(Meets::Covers)
    }
}

/// Each path clean and, where it resolves elsewhere, resolved too; `/` is nobody's home.
pub(super) fn both_spellings<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        let clean = lexical::clean(path);
        let real = resolve::resolve(&clean).ok();
        for spelling in std::iter::once(clean).chain(real) {
            if spelling != Path::new("/") && !all.contains(&spelling) {
                all.push(spelling);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> DenyList {
        DenyList::new(&DenyEnv {
            homes: vec!["/home/nobody-here".into(), "/".into()],
            state_dir: Some("/srv/state".into()),
            named: vec!["/srv/kube/config".into()],
        })
    }

    fn hit(path: &str) -> Option<(Meets, String)> {
        list().hit(Path::new(path), &[]).map(|hit| (hit.meets, hit.blocked.display().to_string()))
    }

    #[test]
    fn targets_and_covers() {
        assert_eq!(hit("/etc/passwd"), Some((Meets::Targets, "/etc".into())));
        assert_eq!(hit("/"), Some((Meets::Covers, "/".into())));
        assert_eq!(hit("/home/nobody-here"), Some((Meets::Covers, "/home/nobody-here/.aws".into())));
        assert_eq!(hit("/home"), Some((Meets::Covers, "/home/nobody-here/.aws".into())));
        assert_eq!(
            hit("/home/nobody-here/.kube/x"),
            Some((Meets::Targets, "/home/nobody-here/.kube".into()))
        );
        assert_eq!(hit("/home/nobody-here/src"), None);
        assert_eq!(hit("/var/lib/docker/volumes"), Some((Meets::Targets, "/var/lib/docker".into())));
        assert_eq!(hit("/srv/kube"), Some((Meets::Covers, "/srv/kube/config".into())));
        assert_eq!(hit("/usr/share/doc"), None);
        assert_eq!(hit("/etcetera"), None);
        assert_eq!(hit("/.ssh"), None, "the root is nobody's home");
    }

    #[test]
    fn state_opens_to_roots_below_it_only() {
        let list = list();
        let hit = |path: &str, root: &str| list.hit(Path::new(path), &[PathBuf::from(root)]).is_some();
        assert!(list.hit(Path::new("/srv/state/workspace"), &[]).is_some());
        assert!(!hit("/srv/state/workspace/sub", "/srv/state/workspace"));
        assert!(hit("/srv/state/other", "/srv/state/workspace"));
        assert!(hit("/srv/state/workspace", "/srv/state"), "the state itself opens nothing");
        assert!(hit("/srv/state/creel/bin", "/srv/state/creel"), "private parts stay private");
        assert!(hit("/srv/state", "/srv/state"));
    }

    #[test]
    fn a_store_behind_a_link_is_denied_at_both_ends() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir(dir.path().join("dot")).unwrap();
        std::os::unix::fs::symlink("../dot", home.join(".kube")).unwrap();
        let list = DenyList::new(&DenyEnv { homes: vec![home], ..DenyEnv::default() });
        let real = resolve::resolve(&dir.path().join("dot")).unwrap();
        assert!(list.hit(&real.join("config"), &[]).is_some());
    }

    #[test]
    fn variables_name_stores() {
        let var = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "KUBECONFIG" => Some("/k/a:/k/b".to_owned()),
            "DOCKER_HOST" => Some("unix:///s/docker.sock".to_owned()),
            "NETRC" => Some("relative".to_owned()),
            _ => None,
        };
        let env = DenyEnv::from_vars(var, Path::new("/st"));
        assert_eq!(env.homes, [PathBuf::from("/h")]);
        assert_eq!(env.named, [PathBuf::from("/k/a"), "/k/b".into(), "/s/docker.sock".into()]);
    }
}
