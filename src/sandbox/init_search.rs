//! Where creel-init may be.

use std::path::{Path, PathBuf};

use crate::paths::resolve::resolve;

/// Where `make install` puts creel-init, below a prefix.
const INSTALLED: &str = "libexec/creel/creel-init";
/// Prefixes that are looked into whatever this program is: the default of `make install`, and the distribution's.
const PREFIXES: [&str; 2] = ["/usr/local", "/usr"];

/// Where to look for creel-init: in the place that is named, or beside programs that it came with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InitSearch {
    /// `$CREEL_INIT`; when it is set, nothing else is tried.
    named: Option<PathBuf>,
    /// This program, then the `creel` that a shell would run: a test suite is another program than creel.
    programs: Vec<PathBuf>,
}

impl InitSearch {
    /// For this process; `$CREEL_INIT` and `$PATH` come from `var`.
    pub fn from_process(var: impl Fn(&str) -> Option<String>) -> Self {
        Self::new(std::env::current_exe().ok(), var)
    }

    /// For the program `exe`.
    pub fn new(exe: Option<PathBuf>, var: impl Fn(&str) -> Option<String>) -> Self {
        let named = var("CREEL_INIT").filter(|named| !named.is_empty()).map(PathBuf::from);
        let on_path = var("PATH").and_then(|path| installed_creel(&path));
        Self { named, programs: exe.into_iter().chain(on_path).collect() }
    }

    /// Every place, in order.
    pub fn places(&self) -> Vec<PathBuf> {
        if let Some(named) = &self.named {
            return vec![named.clone()];
        }
        let fixed = PREFIXES.map(|prefix| Path::new(prefix).join(INSTALLED));
        let mut places = Vec::new();
        for place in self.programs.iter().flat_map(|program| beside(program)).chain(fixed) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }
}

/// Where creel-init lies when `program` is installed or built with it.
fn beside(program: &Path) -> Vec<PathBuf> {
    let dir = program.parent().unwrap_or(Path::new("/"));
    let prefix = dir.parent().unwrap_or(Path::new("/"));
    let mut places = vec![prefix.join(INSTALLED)];
    // A build directory: `target/debug/creel`, `target/debug/deps/test`, `target/release/creel`. What lies right
    // beside the executable there is the dynamic build of the same binary, so the static one goes first.
    places.extend(program.ancestors().skip(2).take(2).map(|target| target.join("init/init/creel-init")));
    places.push(dir.join("creel-init"));
    places
}

/// The first `creel` in a list of directories, with links followed: what it came with lies beside the program itself.
/// Relative directories mean another program in each working directory, so they do not count.
fn installed_creel(path: &str) -> Option<PathBuf> {
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    let creel = dirs.map(|dir| dir.join("creel")).find(|creel| creel.is_file())?;
    Some(resolve(&creel).unwrap_or(creel))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn places(exe: &str, vars: &[(&str, &str)]) -> Vec<PathBuf> {
        let var =
            |name: &str| vars.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned());
        InitSearch::new(Some(exe.into()), var).places()
    }

    #[test]
    fn a_named_binary_is_final() {
        let named = [("CREEL_INIT", "/x/init"), ("PATH", "/usr/bin")];
        assert_eq!(places("/usr/bin/creel", &named), [PathBuf::from("/x/init")]);
        let places = places("/usr/bin/creel", &[("CREEL_INIT", "")]);
        assert_eq!(places[0], Path::new("/usr/libexec/creel/creel-init"));
        assert!(places.contains(&PathBuf::from("/usr/bin/creel-init")), "{places:?}");
    }

    #[test]
    fn build_directories() {
        for exe in ["/s/target/debug/creel", "/s/target/debug/deps/sandbox-1"] {
            let places = places(exe, &[]);
            assert!(places.contains(&PathBuf::from("/s/target/init/init/creel-init")), "{places:?}");
        }
    }

    /// The test suite of another crate, on a machine with creel.
    #[test]
    fn what_is_installed_is_found_from_anywhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        for made in ["opt/bin", "link", "empty"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::write(root.join("opt/bin/creel"), "").unwrap();
        std::os::unix::fs::symlink(root.join("opt/bin/creel"), root.join("link/creel")).unwrap();
        let path = format!("bin:{0}/empty:{0}/link:/usr/bin", root.display());
        let found = places("/w/target/debug/deps/suite-1", &[("PATH", &path)]);
        let expected = [root.join("opt/libexec/creel/creel-init"), root.join("opt/bin/creel-init")];
        for place in expected.iter().map(PathBuf::as_path).chain([
            Path::new("/usr/local/libexec/creel/creel-init"),
            Path::new("/usr/libexec/creel/creel-init"),
        ]) {
            assert_eq!(found.iter().filter(|one| *one == place).count(), 1, "{place:?} in {found:?}");
        }
        assert!(found.iter().all(|place| place.is_absolute()), "{found:?}");
    }
}
