//! The image that holds creel, for running it in a container beside the engine: this program, creel-init, and the
//! libraries that this program runs with here. No shell, no package manager.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use super::rootfs::{self, Node};
use super::{ExtraCa, ImageError, elf};
use crate::sandbox::InitSearch;

/// Where creel is in the image.
pub(super) const PROGRAM: &str = "/usr/local/bin/creel";
/// Where it looks for creel-init then.
const INIT: &str = "usr/local/libexec/creel/creel-init";

const PASSWD: &str = "root:x:0:0:root:/root:/bin/false\ncreel:x:1000:1000:creel:/home/creel:/bin/false\n";
const GROUP: &str = "root:x:0:\ncreel:x:1000:\n";

/// Digest of the two programs: an image of another build is outdated. Empty where they cannot be read, which no image's
/// digest is made from.
pub(super) fn fingerprint() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| {
        let Ok((program, init)) = programs() else { return String::new() };
        let parts = [Sha256::digest(&program), Sha256::digest(&init)];
        crate::state::hex(&Sha256::digest(parts.concat()))
    })
}

/// Composes the tar.
pub(super) fn compose(ca: Option<&ExtraCa>) -> Result<Vec<u8>, ImageError> {
    let (program, init) = programs()?;
    let libraries = read_libraries()?;
    let bundle = ca.map(ExtraCa::pem);
    let file = |mode, bytes| Node::File { mode, bytes };
    let directory = |mode, owner| Node::Directory { mode, owner };
    let mut nodes = BTreeMap::from([
        (PROGRAM.trim_start_matches('/').to_owned(), file(0o755, program.as_slice())),
        (INIT.to_owned(), file(0o755, init.as_slice())),
        ("etc/passwd".to_owned(), file(0o644, PASSWD.as_bytes())),
        ("etc/group".to_owned(), file(0o644, GROUP.as_bytes())),
        ("tmp".to_owned(), directory(0o1777, 0)),
        ("dev".to_owned(), directory(0o755, 0)),
        ("proc".to_owned(), directory(0o755, 0)),
        ("sys".to_owned(), directory(0o755, 0)),
        ("run".to_owned(), directory(0o755, 0)),
        ("home/creel".to_owned(), directory(0o700, 1000)),
    ]);
    for (path, bytes) in &libraries {
        nodes.insert(path.trim_start_matches('/').to_owned(), file(0o755, bytes.as_slice()));
    }
    let loader = elf::interpreter(&program);
    let link = loader.as_deref().and_then(|loader| link_to_loader(loader, &libraries));
    if let Some((at, target)) = &link {
        nodes.insert(at.clone(), Node::Link { target });
    }
    if let Some(bundle) = &bundle {
        nodes.insert("etc/ssl/certs/ca-certificates.crt".to_owned(), file(0o644, bundle.as_bytes()));
    }
    rootfs::add_parents(&mut nodes);
    rootfs::write(&nodes, program.len()).map_err(ImageError::io("the root file system", "compose"))
}

/// The loader is found under the name in the program, which on most systems passes through a link.
fn link_to_loader(loader: &str, libraries: &BTreeMap<String, Vec<u8>>) -> Option<(String, String)> {
    if libraries.contains_key(loader) {
        return None;
    }
    let name = Path::new(loader).file_name()?;
    let target = libraries.keys().find(|path| Path::new(path).file_name() == Some(name))?;
    Some((loader.trim_start_matches('/').to_owned(), target.clone()))
}

/// The bytes of creel and of creel-init.
fn programs() -> Result<(Vec<u8>, Vec<u8>), ImageError> {
    let exe = std::env::current_exe().map_err(ImageError::io("/proc/self/exe", "look up"))?;
    let program = std::fs::read("/proc/self/exe").map_err(ImageError::io(&exe, "read"))?;
    let tried = InitSearch::from_process(|name| std::env::var(name).ok()).places();
    let init =
        tried.iter().find(|path| path.is_file()).cloned().unwrap_or_else(|| PathBuf::from("creel-init"));
    let bytes = std::fs::read(&init).map_err(ImageError::io(&init, "read"))?;
    if !elf::is_static(&bytes) {
        let error = std::io::Error::other("not a statically linked program; run `make init`");
        return Err(ImageError::io(&init, "use")(error));
    }
    Ok((program, bytes))
}

/// What is mapped into this process: exactly what it needs to run, already found.
fn read_libraries() -> Result<BTreeMap<String, Vec<u8>>, ImageError> {
    let maps =
        std::fs::read_to_string("/proc/self/maps").map_err(ImageError::io("/proc/self/maps", "read"))?;
    let read = |path: &str| {
        let bytes = std::fs::read(path).map_err(ImageError::io(path, "read"))?;
        Ok((path.to_owned(), bytes))
    };
    libraries(&maps).into_iter().map(read).collect()
}

/// Paths of shared libraries in a table of mappings. Pure.
fn libraries(maps: &str) -> BTreeSet<&str> {
    let path = |line: &'_ str| line.find('/').and_then(|at| line.get(at..).map(str::len));
    let library = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.split('.').skip(1).any(|part| part == "so")
    };
    maps.lines()
        .filter_map(|line| path(line).and_then(|length| line.get(line.len() - length..)))
        .filter(library)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_a_process() {
        let maps = "7f-80 r-xp 00000000 08:01 1   /usr/lib/x86_64-linux-gnu/libc.so.6\n\
                    80-81 r--p 00001000 08:01 1   /usr/lib/x86_64-linux-gnu/libc.so.6\n\
                    81-82 r-xp 00000000 08:01 2   /usr/bin/creel\n82-83 rw-p 00000000 00:00 0   [heap]\n";
        assert_eq!(libraries(maps).into_iter().collect::<Vec<_>>(), ["/usr/lib/x86_64-linux-gnu/libc.so.6"]);
        let own = read_libraries().unwrap();
        assert!(own.keys().any(|path| path.contains("libc.so")), "{:?}", own.keys());
    }

    #[test]
    fn the_loader_has_the_name_that_programs_know() {
        let libraries = BTreeMap::from([("/usr/lib/x/ld-linux.so.2".to_owned(), Vec::new())]);
        let link = link_to_loader("/lib64/ld-linux.so.2", &libraries);
        assert_eq!(link, Some(("lib64/ld-linux.so.2".to_owned(), "/usr/lib/x/ld-linux.so.2".to_owned())));
        assert_eq!(link_to_loader("/usr/lib/x/ld-linux.so.2", &libraries), None);
    }
}
