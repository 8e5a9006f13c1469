//! Prepares the workspace on the host: makes it, gives it to the sandbox user, makes mount points inside it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, Uid};

use super::error::SandboxError;
use super::keep_out::KeepOut;
use super::request::{Held, SandboxRequest};
use super::user::{Choice, Situation, choose, own_user};
use crate::paths::make::make_dir;
use crate::paths::mounts::MountTable;
use crate::state::StateDir;

/// A workspace that is ready to be mounted.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The opened directory.
    pub(super) held: Held,
    /// Who the processes are.
    pub(super) user: String,
    /// What should be known.
    pub(super) warnings: Vec<String>,
}

/// Makes and opens the workspace, and chooses the user.
pub(super) fn prepare(
    request: &SandboxRequest,
    state: &StateDir,
    rootless: bool,
) -> Result<Prepared, SandboxError> {
    let workspace = &request.workspace;
    let own_uid = rustix::process::geteuid().as_raw();
    // No link is followed: whoever may write to a parent could exchange it since the path was judged.
    let made = workspace.owned_by_creel && make_dir(&workspace.dir, 0o700)?;
    let mut held = Held::open(&workspace.dir)?;
    if !held.is_dir {
        let reason = "it is not a directory".to_owned();
        return Err(SandboxError::Workspace { path: workspace.dir.clone(), reason });
    }
    let keep_out = KeepOut::new(state)?;
    keep_out.check(&held, &workspace.dir)?;
    request.binds.iter().try_for_each(|bind| keep_out.check(&bind.held, &bind.source))?;
    // Also one that root owns: a creel that died between making it and giving it away.
    let (uid, gid) = own_user(request.user.as_deref());
    if workspace.owned_by_creel && own_uid == 0 && (made || held.owner.0 == 0) && held.owner != (uid, gid) {
        give(&held.fd(), uid, gid).map_err(SandboxError::io(&workspace.dir, "change the owner of"))?;
        held.owner = (uid, gid);
    }
    let situation = Situation { owner: held.owner, own_uid, rootless };
    let Choice { user, warning } = choose(request.user.as_deref(), &request.cap_drop, situation);
    let mut warnings: Vec<String> = warning.into_iter().collect();
    let owner = if own_uid == 0 { Some(held.owner) } else { None };
    for (target, is_dir) in nested(request) {
        mount_point(&held, &workspace.dir, &target, is_dir, owner)?;
    }
    warnings.extend(host_mounts(&workspace.dir));
    Ok(Prepared { held, user, warnings })
}

fn give(fd: &impl AsFd, uid: u32, gid: u32) -> std::io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    Ok(rustix::fs::chownat(fd, "", uid, gid, AtFlags::EMPTY_PATH)?)
}

/// Targets below the workspace, relative to it, and whether each is a directory. Not those that lie on another
/// bind: their mount point is in that bind's source.
fn nested(request: &SandboxRequest) -> Vec<(PathBuf, bool)> {
    let workspace = Path::new(&request.workspace.target);
    let tmpfs = request.tmpfs.iter().map(|entry| (entry.split(':').next().unwrap_or(entry), true));
    let binds = request.binds.iter().map(|bind| (bind.target.as_str(), bind.held.is_dir));
    let all: Vec<(&str, bool)> = tmpfs.chain(binds).collect();
    let on_another = |target: &Path| {
        all.iter().any(|(other, _)| {
            let other = Path::new(other);
            other != target && target.starts_with(other) && other.starts_with(workspace)
        })
    };
    all.iter()
        .filter(|(target, _)| !on_another(Path::new(target)))
        .filter_map(|(target, is_dir)| {
            let relative = Path::new(target).strip_prefix(workspace).ok()?;
            (!relative.as_os_str().is_empty()).then(|| (relative.to_owned(), *is_dir))
        })
        .collect()
}

/// Makes the parts of a mount point that are missing, owned as the workspace is (I060: the engine would make them
/// as root). No link is followed: the sandbox may have written here before.
fn mount_point(
    held: &Held,
    root: &Path,
    relative: &Path,
    is_dir: bool,
    owner: Option<(u32, u32)>,
) -> Result<(), SandboxError> {
    let whole = root.join(relative);
    let refuse = |error: std::io::Error| SandboxError::Workspace {
        path: whole.clone(),
        reason: format!("the mount point cannot be made ({error}); a link is not followed here"),
    };
    let parts: Vec<_> = relative.components().collect();
    let mut at: Option<OwnedFd> = None;
    for (index, part) in parts.iter().enumerate() {
        let dir = at.as_ref().map_or_else(|| held.fd(), |fd| fd.as_fd());
        let as_dir = is_dir || index + 1 < parts.len();
        at = Some(enter(&dir, part.as_os_str(), as_dir, owner).map_err(refuse)?);
    }
    Ok(())
}

/// Makes a directory below a workspace (relative), as a mount point of a request that is still to be made: owned as the
/// workspace is.
///
/// # Errors
///
/// When the workspace is missing or a link is on the way.
pub fn make_mount_point(workspace: &Path, relative: &Path) -> Result<(), SandboxError> {
    let held = Held::open(workspace)?;
    let owner = rustix::process::geteuid().is_root().then_some(held.owner);
    mount_point(&held, workspace, relative, true, owner)
}

/// Opens one component, making it where it is missing.
fn enter(
    dir: &impl AsFd,
    name: &std::ffi::OsStr,
    as_dir: bool,
    owner: Option<(u32, u32)>,
) -> std::io::Result<OwnedFd> {
    let open = || {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let flags = if as_dir { flags | OFlags::DIRECTORY } else { flags };
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(dir, name, flags, Mode::empty(), inside)
    };
    match open() {
        Err(rustix::io::Errno::NOENT) => {}
        other => return Ok(other?),
    }
    if as_dir {
        rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o755))?;
    } else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o644))?);
    }
    let made = open()?;
    if let Some((uid, gid)) = owner {
        give(&made, uid, gid)?;
    }
    Ok(made)
}

/// Mount points of the host inside the workspace: they may show inside, or appear empty (I062). What they show was
/// judged before.
fn host_mounts(dir: &Path) -> Option<String> {
    let table = MountTable::own().ok()?;
    let inside = inside(&table, dir);
    (!inside.is_empty()).then(|| {
        format!(
            "the workspace {} contains mount points of the host ({}): they may look empty inside",
            dir.display(),
            inside.join(", ")
        )
    })
}

fn inside(table: &MountTable, dir: &Path) -> Vec<String> {
    table.below(dir).map(|mount| mount.point.display().to_string()).take(4).collect()
}

/// The identity of a path that creel made itself.
pub(super) fn identity(path: &Path) -> Result<super::request::Identity, SandboxError> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| SandboxError::io(path, "stat")(error.into()))?;
    Ok(super::request::Identity { dev: stat.st_dev, ino: stat.st_ino })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;
    use crate::sandbox::request::{Bind, SandboxName, Workspace};

    fn request(dir: &Path, owned: bool) -> SandboxRequest {
        let workspace = Workspace {
            dir: dir.to_owned(),
            read_only: false,
            owned_by_creel: owned,
            target: "/workspace".to_owned(),
        };
        SandboxRequest::hardened(SandboxName::parse("ab").unwrap(), "agent:main", "image", workspace)
    }

    fn bind(dir: &Path, target: &str) -> Bind {
        let held = Held::open(dir).unwrap();
        Bind { source: dir.to_owned(), target: target.to_owned(), read_only: true, held }
    }

    #[test]
    fn an_own_workspace_is_made_and_given_away() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        let path = dir.path().join("sandboxes/slug");
        let prepared = prepare(&request(&path, true), &state, false).unwrap();
        let meta = std::fs::metadata(&path).unwrap();
        let root = rustix::process::geteuid().is_root();
        let expected = if root { 1000 } else { rustix::process::geteuid().as_raw() };
        assert_eq!(meta.uid(), expected);
        assert!(prepared.user.starts_with(&format!("{expected}:")));
        assert_eq!(meta.mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn mount_points_belong_to_the_owner_of_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("w"), dir.path().join("other"));
        std::fs::create_dir(&other).unwrap();
        let mut request = request(&path, true);
        request.binds =
            vec![bind(&other, "/workspace/.a/b"), bind(&other, "/workspace/.a/b/c"), bind(&other, "/x")];
        prepare(&request, &StateDir::at(dir.path().join("s")), false).unwrap();
        let owner = std::fs::metadata(&path).unwrap().uid();
        for made in [".a", ".a/b"] {
            assert_eq!(std::fs::metadata(path.join(made)).unwrap().uid(), owner);
        }
        assert!(!path.join(".a/b/c").exists(), "lies on the other bind");
    }

    #[test]
    fn a_link_in_the_way_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("w"), dir.path().join("other"));
        std::fs::create_dir(&path).unwrap();
        std::fs::create_dir(&other).unwrap();
        symlink(&other, path.join(".a")).unwrap();
        let mut request = request(&path, false);
        request.binds = vec![bind(&other, "/workspace/.a/b")];
        let error = prepare(&request, &StateDir::at(dir.path().join("s")), false).unwrap_err();
        assert!(error.to_string().contains("link"), "{error}");
        assert!(!other.join("b").exists());
    }

    #[test]
    fn the_state_directory_is_never_inside() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("s"));
        state.own("proof").unwrap();
        for inside in [dir.path().to_owned(), dir.path().join("s"), dir.path().join("s/creel/proof")] {
            let error = prepare(&request(&inside, false), &state, false).unwrap_err();
            assert!(error.to_string().contains("creel's own files"), "{error}");
        }
        let mut bound = request(&dir.path().join("s/sandboxes/slug"), true);
        prepare(&bound, &state, false).unwrap();
        bound.binds = vec![bind(dir.path(), "/data")];
        assert!(prepare(&bound, &state, false).is_err());
    }

    #[test]
    fn the_state_directory_may_be_a_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("disk")).unwrap();
        symlink(dir.path().join("disk"), dir.path().join("s")).unwrap();
        let state = StateDir::at(dir.path().join("s"));
        let real = crate::paths::resolve::resolve(&dir.path().join("s/sandboxes/slug")).unwrap();
        prepare(&request(&real, true), &state, false).unwrap();
        // A path that was judged is resolved; a link on it now came later.
        assert!(prepare(&request(&dir.path().join("s/sandboxes/slug"), true), &state, false).is_err());
    }

    #[test]
    fn host_mounts_inside_are_found() {
        let table =
            "1 2 0:1 / /w rw - tmpfs t rw\n1 2 0:1 / /w/sub rw - tmpfs t rw\n1 2 0:1 / /wx rw - tmpfs t rw\n";
        let table = MountTable::parse(table.as_bytes()).unwrap();
        assert_eq!(inside(&table, Path::new("/w")), ["/w/sub"]);
    }
}
