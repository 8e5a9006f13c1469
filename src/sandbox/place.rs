//! Where creel itself runs: on the engine's host, or in a container of that engine.
//!
//! In a container creel's paths are not the engine's. Its own mounts, as the engine tells them, lead from one to the
//! other; what is on none of them has no name on the host and is refused. A wrong translation would not go unnoticed:
//! the proof compares device and inode of each mount with the directory that creel opened.

use std::path::{Path, PathBuf};

use super::Sandboxes;
use super::error::SandboxError;
use super::host_places::HostPlaces;
use super::request::SandboxRequest;
use crate::engine::{Engine, EngineError, Mount};
use crate::paths::mounts::MountTable;
use crate::paths::resolve::resolve;
use crate::paths::{DenyEnv, DenyHit, DenyList};

/// Where creel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Beside the engine: a path means the same to both.
    Host,
    /// In a container of the engine.
    Container {
        /// Its name.
        name: String,
        /// What is mounted in it.
        mounts: Vec<Mount>,
    },
}

impl Place {
    /// Where this process runs. The engine is asked only where this looks like a container.
    ///
    /// # Errors
    ///
    /// When the engine does not answer: it is not guessed then.
    pub async fn find(engine: &Engine) -> Result<Self, EngineError> {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let Some(id) = own_id(&table) else { return Ok(Self::Host) };
        // A container that this engine does not know is another engine's: whether this engine shares our pid namespace
        // shows when init is met.
        Ok(match engine.inspect(id).await? {
            Some(facts) => Self::Container { name: facts.name, mounts: facts.mounts },
            None => Self::Host,
        })
    }

    /// The kernel cannot tell who dials, and paths are translated.
    pub fn is_container(&self) -> bool {
        matches!(self, Self::Container { .. })
    }

    /// The path by which the engine knows what this process knows as `path`.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Untranslatable`] for what no mount leads to.
    pub fn to_host(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let Self::Container { mounts, .. } = self else { return Ok(path.to_owned()) };
        // Links mean something else on the other side of a mount.
        let real = resolve(path).unwrap_or_else(|_| path.to_owned());
        let usable = mounts.iter().filter(|mount| mount.source.starts_with('/'));
        let best = mounts
            .iter()
            .filter(|mount| real.starts_with(&mount.target))
            .max_by_key(|mount| Path::new(&mount.target).components().count())
            .filter(|mount| mount.source.starts_with('/'));
        let rest = best.and_then(|mount| Some((mount, real.strip_prefix(&mount.target).ok()?)));
        match rest {
            // Not joined when it is empty: that would end the path in a slash.
            Some((mount, rest)) if rest.as_os_str().is_empty() => Ok(PathBuf::from(&mount.source)),
            Some((mount, rest)) => Ok(Path::new(&mount.source).join(rest)),
            None => Err(SandboxError::Untranslatable {
                path: path.to_owned(),
                mounts: usable.map(|mount| PathBuf::from(&mount.target)).collect(),
            }),
        }
    }

    /// The sources of these mounts as the engine knows them.
    pub(super) fn translate(&self, mounts: &mut [Mount]) -> Result<(), SandboxError> {
        for mount in mounts {
            mount.source = self.to_host(Path::new(&mount.source))?.to_string_lossy().into_owned();
        }
        Ok(())
    }

    /// The deny list once more, for what a request's directories, and what is mounted below them, are called on the host.
    pub(super) fn check(&self, request: &SandboxRequest) -> Result<(), SandboxError> {
        let Some(places) = self.host_places() else { return Ok(()) };
        let workspace = &request.workspace;
        let binds = request.binds.iter().map(|bind| (bind.source.as_path(), true));
        for (path, whole) in [(workspace.dir.as_path(), !workspace.owned_by_creel)].into_iter().chain(binds) {
            let refused =
                |path: &Path, host, group| SandboxError::DeniedOnHost { path: path.to_owned(), host, group };
            if whole {
                let host = self.to_host(path)?;
                if let Some(hit) = denied_there(&host) {
                    return Err(refused(path, host, hit.group.name()));
                }
            }
            if let Some((point, host, group)) = places.hit(path, whole) {
                return Err(refused(&point, host, group));
            }
        }
        Ok(())
    }

    /// What mounts are called on the host, where that is not what they are called here.
    pub(super) fn host_places(&self) -> Option<HostPlaces> {
        let Self::Container { mounts, .. } = self else { return None };
        // Without a table the deny list refuses everything already.
        Some(HostPlaces::new(mounts, MountTable::own().unwrap_or_default()))
    }
}

/// How a path of the host meets the deny list there. Whose home it is, only the path itself tells: this process's own
/// home does not.
pub(super) fn denied_there(host: &Path) -> Option<DenyHit> {
    let homes = home_of(host).into_iter().collect();
    DenyList::new(&DenyEnv { homes, ..DenyEnv::default() }).hit(host, &[])
}

impl Sandboxes {
    /// Where this process runs; found out once.
    pub async fn place(&self) -> Result<&Place, SandboxError> {
        self.place.get_or_try_init(|| async { Ok(Place::find(&self.engine).await?) }).await
    }

    /// The same where it was asked before.
    pub(super) fn known_place(&self) -> Result<&Place, SandboxError> {
        self.place.get().ok_or_else(|| {
            SandboxError::io("/proc/self/mountinfo", "look up")(std::io::Error::other("not asked before"))
        })
    }
}

/// The home directory that a path of the host lies in or is.
fn home_of(path: &Path) -> Option<PathBuf> {
    let mut parts = path.iter();
    let top: PathBuf = parts.by_ref().take(2).collect();
    let user = parts.next()?;
    ["/home", "/Users"].iter().any(|homes| top == Path::new(homes)).then(|| top.join(user))
}

/// The id of the container that this mount table belongs to: engines mount three files from a directory named for it.
fn own_id(mountinfo: &str) -> Option<&str> {
    const FILES: [&str; 3] = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"];
    let id = |part: &&str| part.len() == 64 && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    mountinfo.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        if FILES.contains(&point) { root.split('/').find(id) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: &str, target: &str) -> Mount {
        Mount { source: source.to_owned(), target: target.to_owned(), read_only: false }
    }

    #[test]
    fn the_longest_mount_leads_to_the_host() {
        let mounts = vec![mount("/srv/a", "/data"), mount("/srv/b", "/data/in"), mount("", "/data/tmp")];
        let place = Place::Container { name: "creel".to_owned(), mounts };
        let host = |path: &str| place.to_host(Path::new(path)).ok();
        assert_eq!(host("/data"), Some("/srv/a".into()));
        assert_eq!(host("/data/x/y"), Some("/srv/a/x/y".into()));
        assert_eq!(host("/data/in/x"), Some("/srv/b/x".into()));
        assert_eq!(host("/data/inner"), Some("/srv/a/inner".into()));
        for nowhere in ["/data/tmp/x", "/", "/etc", "/dat"] {
            let error = place.to_host(Path::new(nowhere)).unwrap_err();
            assert!(error.to_string().contains("/data"), "{error}");
        }
        assert_eq!(Place::Host.to_host(Path::new("/x")).unwrap(), Path::new("/x"));
    }

    #[test]
    fn homes_of_the_host_are_known_by_their_place() {
        assert_eq!(home_of(Path::new("/home/u/x/y")), Some("/home/u".into()));
        assert_eq!(home_of(Path::new("/home/u")), Some("/home/u".into()));
        for none in ["/home", "/srv/home/u", "/", "home/u"] {
            assert_eq!(home_of(Path::new(none)), None, "{none}");
        }
    }

    /// A directory that is harmless by its name here, and holds credentials by its name there.
    #[test]
    fn the_deny_list_holds_for_the_hosts_names() {
        use crate::sandbox::request::{Bind, Held, SandboxName, Workspace};
        let dir = tempfile::tempdir().unwrap();
        for part in ["w", "w/.ssh", "w/code"] {
            std::fs::create_dir(dir.path().join(part)).unwrap();
        }
        let at = |part: &str| dir.path().join(part);
        let place = |source: &str| {
            let mounts = vec![mount(source, &dir.path().to_string_lossy())];
            Place::Container { name: "creel".to_owned(), mounts }
        };
        let request = |part: &str| {
            let workspace = Workspace {
                dir: at("w/code"),
                read_only: false,
                owned_by_creel: false,
                target: "/workspace".to_owned(),
            };
            let name = SandboxName::parse("ab").unwrap();
            let mut request = SandboxRequest::hardened(name, "agent:main", "image", workspace);
            let held = Held::open(&at(part)).unwrap();
            request.binds =
                vec![Bind { source: at(part), target: "/data".to_owned(), read_only: true, held }];
            request
        };
        place("/home/u").check(&request("w/code")).unwrap();
        let denied = |source: &str, part: &str| place(source).check(&request(part)).unwrap_err();
        assert!(denied("/home", "w/.ssh").to_string().contains("/home/w/.ssh"));
        assert!(matches!(denied("/etc", "w/code"), SandboxError::DeniedOnHost { .. }));
        Place::Host.check(&request("w/.ssh")).unwrap();
    }

    #[test]
    fn links_are_followed_before_the_translation() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("link")).unwrap();
        let mounts = vec![mount("/srv/a", &dir.path().to_string_lossy())];
        let place = Place::Container { name: "creel".to_owned(), mounts };
        assert!(place.to_host(&dir.path().join("link/passwd")).is_err());
    }

    #[test]
    fn engines_tell_who_we_are() {
        let id = "0a".repeat(32);
        let docker =
            format!("1 2 8:1 /var/lib/docker/containers/{id}/hostname /etc/hostname rw - ext4 d rw\n");
        let podman = format!("1 2 0:9 /overlay-containers/{id}/userdata/hosts /etc/hosts rw - tmpfs t rw\n");
        assert_eq!(own_id(&docker), Some(id.as_str()));
        assert_eq!(own_id(&podman), Some(id.as_str()));
        assert_eq!(own_id(&docker.replace("/etc/hostname", "/work/hostname")), None);
        assert_eq!(own_id("1 2 8:1 / / rw - ext4 d rw\n"), None);
    }
}
