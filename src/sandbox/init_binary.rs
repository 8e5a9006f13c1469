//! Finds creel-init, judges it and puts a copy where the engine can mount it from.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::elf;
use super::error::SandboxError;
use super::files::Layout;
use super::init_search::InitSearch;
use super::request::{Held, Identity};

/// The installed copy of creel-init.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitBinary {
    /// Absolute path of the copy.
    pub path: PathBuf,
    /// Hex SHA-256 of its bytes.
    pub digest: String,
    /// Which file it is.
    pub identity: Identity,
}

/// Finds the first candidate that exists, judges it and installs it.
pub fn locate_and_install(layout: &Layout, search: &InitSearch) -> Result<InitBinary, SandboxError> {
    let tried = search.places();
    match tried.iter().find(|path| path.is_file()) {
        Some(path) => install(layout, path),
        None => Err(SandboxError::InitMissing { tried }),
    }
}

/// Finds the first candidate that exists and judges it; nothing is copied.
///
/// # Errors
///
/// As [`locate_and_install`], as far as the binary itself decides.
pub fn locate(search: &InitSearch) -> Result<PathBuf, SandboxError> {
    let tried = search.places();
    let Some(path) = tried.iter().find(|path| path.is_file()).cloned() else {
        return Err(SandboxError::InitMissing { tried });
    };
    let bytes = std::fs::read(&path).map_err(SandboxError::io(&path, "read"))?;
    match elf::objection(&bytes, std::env::consts::ARCH) {
        Some(reason) => Err(SandboxError::InitUnusable { path, reason }),
        None => Ok(path),
    }
}

/// Copies `source` to `<state>/creel/bin/<digest>/creel-init` unless it is there already.
pub fn install(layout: &Layout, source: &Path) -> Result<InitBinary, SandboxError> {
    let digest = match layout.known_digest(source) {
        Some(digest) => digest,
        None => copy(layout, source)?,
    };
    let path = layout.bin(&digest)?.join("creel-init");
    if noexec(&path)? {
        return Err(SandboxError::NoExec { dir: layout.bin(&digest)? });
    }
    let identity = Held::open_own(&path)?.identity;
    Ok(InitBinary { path, digest, identity })
}

/// Reads, judges, copies; remembers the digest under the source's stat values, so that the next call reads nothing.
fn copy(layout: &Layout, source: &Path) -> Result<String, SandboxError> {
    let bytes = std::fs::read(source).map_err(SandboxError::io(source, "read"))?;
    if let Some(reason) = elf::objection(&bytes, std::env::consts::ARCH) {
        return Err(SandboxError::InitUnusable { path: source.to_owned(), reason });
    }
    let digest = crate::state::hex(&Sha256::digest(&bytes));
    let dir = layout.bin(&digest)?;
    let target = dir.join("creel-init");
    // Renaming over a file that a container has mounted leaves that mount alone, but changes the identity that
    // later containers are compared with: an intact copy stays.
    if !holds(&target, &bytes) {
        write(&dir, &target, &bytes).map_err(SandboxError::io(&target, "write"))?;
    }
    layout.remember_digest(source, &digest)?;
    Ok(digest)
}

fn write(dir: &Path, target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o755))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(target) {
        Ok(_) => Ok(()),
        // Another process was first, and may have told a container of its file already.
        Err(_) if holds(target, bytes) => Ok(()),
        Err(damaged) => damaged.file.persist(target).map(drop).map_err(Into::into),
    }
}

fn holds(path: &Path, bytes: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|found| found == bytes)
}

fn noexec(path: &Path) -> Result<bool, SandboxError> {
    let stat = rustix::fs::statvfs(path).map_err(|error| SandboxError::io(path, "statvfs")(error.into()))?;
    Ok(stat.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

/// Names a file by everything that changes when its bytes do.
pub(super) fn stat_key(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    Some(format!(
        "{}-{}-{}-{}.{:09}-{}.{:09}",
        meta.dev(),
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_once_and_keeps_the_identity() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&crate::state::StateDir::at(dir.path().join("s")));
        let source = dir.path().join("creel-init");
        std::fs::write(&source, elf_bytes()).unwrap();
        let first = install(&layout, &source).unwrap();
        let second = install(&layout, &source).unwrap();
        assert_eq!(first, second);
        assert_eq!(std::fs::metadata(&first.path).unwrap().permissions().mode() & 0o777, 0o755);
        // The memory of the digest is no proof that the copy is still there.
        std::fs::remove_file(&first.path).unwrap();
        assert_eq!(install(&layout, &source).unwrap().digest, first.digest);
    }

    #[test]
    fn many_first_installs_agree_on_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&crate::state::StateDir::at(dir.path().join("s")));
        let source = dir.path().join("creel-init");
        std::fs::write(&source, elf_bytes()).unwrap();
        let start = std::sync::Barrier::new(8);
        let one = || {
            start.wait();
            install(&layout, &source).unwrap()
        };
        let all: Vec<InitBinary> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|init| *init == all[0]), "{all:?}");
        std::fs::write(&all[0].path, b"damaged").unwrap();
        std::fs::write(&source, elf_bytes()).unwrap();
        install(&layout, &source).unwrap();
        assert_eq!(std::fs::read(&all[0].path).unwrap(), elf_bytes());
    }

    #[test]
    fn refuses_a_dynamic_binary() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&crate::state::StateDir::at(dir.path().join("s")));
        let error = install(&layout, &std::env::current_exe().unwrap()).unwrap_err();
        assert!(matches!(error, SandboxError::InitUnusable { .. }), "{error}");
    }

    fn elf_bytes() -> Vec<u8> {
        let mut bytes = vec![0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }
}
