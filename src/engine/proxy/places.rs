//! Where roots and sockets may be. Looked at once, when the proxy begins to serve.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::{ProxyError, Rules};
use crate::engine::Endpoint;
use crate::paths::{DenyGroup, DenyList, resolve};

/// A mount in which no link is followed (`nosymfollow`), in what `statvfs` tells.
const NO_SYM_FOLLOW: u64 = 0x2000;

/// Refuses a root that is no directory or in a place that no sandbox gets, and a socket that a sandbox could mount.
pub(super) fn check(rules: &Rules, listen: &Path, engine: &Endpoint) -> Result<(), ProxyError> {
    let deny = DenyList::new(&rules.deny);
    for root in &rules.roots {
        is_directory(root)?;
        // The state directory lies below a root, because sandboxes mount parts of it.
        if let Some(hit) = deny.hits(root).find(|hit| hit.group != DenyGroup::State) {
            let (root, group) = (root.clone(), hit.group.name());
            return Err(ProxyError::DeniedRoot { root, blocked: hit.blocked, group });
        }
        outside(root, listen, "--listen")?;
        if let Some(pins) = &rules.pins {
            outside(root, pins, "--pins")?;
        }
        if let Endpoint::Unix(socket) = engine {
            outside(root, socket, "--engine")?;
        }
    }
    Ok(())
}

/// Whether links below a directory are followed.
pub fn follows_links(dir: &Path) -> bool {
    rustix::fs::statvfs(dir).map_or(true, |stat| stat.f_flag.bits() & NO_SYM_FOLLOW == 0)
}

fn is_directory(root: &Path) -> Result<(), ProxyError> {
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, root, flags, Mode::empty(), plain).map(drop).map_err(|error| {
        let reason = match error {
            rustix::io::Errno::LOOP => "a link is on the way, which is not followed".to_owned(),
            rustix::io::Errno::NOENT => "there is no such directory".to_owned(),
            rustix::io::Errno::NOTDIR => "it is no directory".to_owned(),
            other => other.to_string(),
        };
        ProxyError::NoRoot { root: root.to_owned(), reason }
    })
}

/// Refuses a socket or a directory that is the root or lies below it, by name or because the root is mounted there too.
fn outside(root: &Path, path: &Path, rule: &'static str) -> Result<(), ProxyError> {
    let fails = |action| move |source| ProxyError::Socket { path: path.to_owned(), action, source };
    let absolute = std::path::absolute(path).map_err(fails("find the place of"))?;
    let unresolved = |error: resolve::ResolveError| fails("resolve")(std::io::Error::other(error));
    let parent = absolute.parent().unwrap_or(Path::new("/"));
    let mut spellings = vec![absolute.clone(), resolve::resolve(parent).map_err(unresolved)?];
    // The socket itself may be a link, or one of the engine's another's.
    spellings.extend(resolve::resolve(&absolute).ok());
    let below = |path: &PathBuf| path.starts_with(root) || path.ancestors().any(|dir| same(dir, root));
    if spellings.iter().any(below) {
        return Err(ProxyError::InRoot { path: path.to_owned(), root: root.to_owned(), rule });
    }
    Ok(())
}

/// One directory under two names.
fn same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::proxy::Allowed;
    use crate::error::Diagnose as _;
    use crate::paths::DenyEnv;
    use crate::state::StateDir;

    fn check_all(root: &Path, listen: &Path, engine: &str) -> Result<(), &'static str> {
        let allowed = Allowed { roots: vec![root.to_owned()], ..Allowed::default() };
        let deny = DenyEnv { homes: vec!["/home/nobody-here".into()], ..DenyEnv::default() };
        let rules = Rules::new(StateDir::at("/s"), allowed, deny).map_err(|error| error.report().code)?;
        check(&rules, listen, &Endpoint::Unix(engine.into())).map_err(|error| error.report().code)
    }

    #[test]
    fn roots_that_hold_the_host_are_refused() {
        let listen = Path::new("/nonexistent/s");
        for root in ["/proc", "/sys", "/run", "/etc", "/etc/ssl", "/dev", "/usr", "/var", "/var/lib", "/home"]
        {
            if Path::new(root).is_dir() && !Path::new(root).is_symlink() {
                assert_eq!(
                    check_all(Path::new(root), listen, "/nonexistent/e"),
                    Err("CRL-PROXY-006"),
                    "{root}"
                );
            }
        }
    }

    #[test]
    fn roots_are_directories_without_links() {
        let dir = tempfile::tempdir().unwrap();
        let dir = resolve::resolve(dir.path()).unwrap();
        let at = |name: &str| dir.join(name);
        std::fs::create_dir_all(at("real/state")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        let check = |root: &str, listen: &str| check_all(&at(root), &at(listen), "/nonexistent/e");
        assert_eq!(check("real", "other/s"), Ok(()));
        for root in ["none", "file", "link", "link/state"] {
            assert_eq!(check(root, "other/s"), Err("CRL-PROXY-007"), "{root}");
        }
        std::os::unix::fs::symlink(at("real/state"), at("other/in")).unwrap();
        for listen in ["real/s", "real/state/s", "link/s", "other/in/s", "real/none/s", "other/../real/s"] {
            assert_eq!(check("real", listen), Err("CRL-PROXY-008"), "{listen}");
        }
        let engine = at("real/docker.sock");
        assert_eq!(check_all(&at("real"), &at("s"), engine.to_str().unwrap()), Err("CRL-PROXY-008"));
    }

    #[test]
    fn links_are_followed_where_nobody_forbids_it() {
        assert!(follows_links(Path::new("/")));
    }
}
