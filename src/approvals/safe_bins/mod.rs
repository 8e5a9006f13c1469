//! Programs that only filter their input (spec `approvals.md` §6): name, trusted directory and every argument must fit a
//! profile. Pure, but for [`writable`].
//!
//! | file | concern |
//! |---|---|
//! | `profile` | which arguments a program may have |
//! | `table` | the built-in profiles |

mod profile;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::programs::{Lookup, Program};
use crate::config::SafeBinSettings;
use crate::shell::analyse::is_shell;
use crate::shell::inline_eval::{interpreter_like, program};
use profile::Profile;

/// Programs that filter where nothing is configured.
const DEFAULT: &[&str] = &["cut", "uniq", "head", "tail", "tr", "wc"];
/// Where the system's own programs are.
const SYSTEM: &[&str] = &["/bin", "/usr/bin"];
/// Languages that look like filters (6.05).
const REFUSED: &[&str] = &["jq", "gojq", "jaq", "awk", "gawk", "mawk", "nawk", "original-awk", "sed", "gsed"];

/// The programs that are configured, with their profiles and trusted directories.
#[derive(Debug, Clone, Default)]
pub struct SafeBins {
    profiles: BTreeMap<String, Profile>,
    directories: BTreeSet<PathBuf>,
    /// Files to which the programs in those directories lead.
    files: BTreeSet<PathBuf>,
    /// Directories whose shells and wrappers are the system's.
    system: Vec<PathBuf>,
    problems: Vec<Problem>,
}

/// An entry of `safeBins` that has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is a language, whatever its profile says.
    #[error("{0} runs programs or reads files on its own and is never a safe bin")]
    Language(String),
    /// Nothing says which arguments it may have.
    #[error("{0} has no profile and is ignored")]
    NoProfile(String),
}

impl Problem {
    /// The smallest safe fix.
    pub fn fix(&self) -> String {
        match self {
            Self::Language(name) => format!(
                "remove {name} from tools.exec.safeBins; an allowlist entry with argPattern can allow one use of it"
            ),
            Self::NoProfile(name) => {
                format!("add tools.exec.safeBinProfiles.{name}, or remove {name} from tools.exec.safeBins")
            }
        }
    }
}

impl SafeBins {
    /// What is configured; `lookup` says where the programs in trusted directories lead.
    pub fn new(settings: &SafeBinSettings, lookup: &dyn Lookup) -> Self {
        let configured: Vec<String> = match &settings.bins {
            Some(set) => set.value.iter().map(|name| name.trim().to_lowercase()).collect(),
            None => DEFAULT.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut bins = Self { system: SYSTEM.iter().map(PathBuf::from).collect(), ..Self::default() };
        for name in configured {
            if language(&name) {
                bins.problems.push(Problem::Language(name));
                continue;
            }
            let custom = settings.profiles.get(&name).map(Profile::custom);
            match custom.or_else(|| table::builtin(&name)) {
                Some(profile) => drop(bins.profiles.insert(name, profile)),
                None => bins.problems.push(Problem::NoProfile(name)),
            }
        }
        let written = settings.trusted_dirs.iter().filter_map(|set| expanded(&set.value, lookup.home()));
        bins.directories = written.chain(bins.system.iter().cloned()).collect();
        bins.files = bins.found(lookup);
        bins
    }

    /// With other directories of the system's programs.
    pub fn with_system(mut self, directories: &[&Path]) -> Self {
        self.system = directories.iter().map(|directory| (*directory).to_owned()).collect();
        self
    }

    fn found(&self, lookup: &dyn Lookup) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for directory in &self.directories {
            let paths = self
                .profiles
                .keys()
                .filter_map(|name| directory.join(name).into_os_string().into_string().ok());
            files.extend(paths.filter_map(|path| lookup.program(&path, None)).map(|program| program.real));
        }
        files
    }

    /// Whether a command only filters its input. Nothing on disk is looked at (6.14).
    pub fn covers(&self, program: &Program, arguments: &[String]) -> bool {
        let name = program.name().to_lowercase();
        let Some(profile) = self.profiles.get(&name) else { return false };
        let file = program.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if language(&name) || language(file) {
            return false;
        }
        let directory = program.real.parent().is_some_and(|parent| self.directories.contains(parent));
        (directory || self.files.contains(&program.real)) && profile.accepts(arguments)
    }

    /// Whether a program is one of the system's: its file lies where only the system's programs do. Those of other
    /// trusted directories are trusted as filters only.
    pub fn system(&self, program: &Program) -> bool {
        let within =
            |path: &Path| path.parent().is_some_and(|parent| self.system.iter().any(|known| known == parent));
        within(&program.real)
    }

    /// Entries that have no effect, in their order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Trusted directories, built-in and configured.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path)
    }
}

/// Directories of a list into which others may write: their programs are anybody's (6.04). Looks at them.
pub fn writable<'d>(directories: impl IntoIterator<Item = &'d Path>) -> Vec<PathBuf> {
    let open = |directory: &&Path| {
        std::fs::metadata(directory)
            .is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o022 != 0)
    };
    directories.into_iter().filter(open).map(Path::to_owned).collect()
}

/// Whether a name is that of a language that looks like a filter (6.05).
pub fn broad(name: &str) -> bool {
    REFUSED.contains(&program::name(name).as_str())
}

/// Whether a name is that of a language: its input is a program.
fn language(name: &str) -> bool {
    let name = program::name(name);
    REFUSED.contains(&name.as_str()) || interpreter_like(&name) || is_shell(&name)
}

fn expanded(directory: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match directory.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(directory),
    };
    Some(crate::paths::lexical::clean(path))
}

#[cfg(test)]
mod tests;
