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
    /// Which files each name means in those directories.
    files: BTreeMap<String, BTreeSet<PathBuf>>,
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
        // A file keeps the letters of its name, a profile is found whatever they are.
        let as_written = settings.bins.iter().flat_map(|set| &set.value).map(|name| name.trim().to_owned());
        let names: BTreeSet<String> = as_written.chain(bins.profiles.keys().cloned()).collect();
        bins.files = bins.found(names, lookup);
        bins
    }

    /// With other directories of the system's programs.
    pub fn with_system(mut self, directories: &[&Path]) -> Self {
        self.system = directories.iter().map(|directory| (*directory).to_owned()).collect();
        self
    }

    fn found(&self, names: BTreeSet<String>, lookup: &dyn Lookup) -> BTreeMap<String, BTreeSet<PathBuf>> {
        let of = |name: String| {
            let files =
                self.directories.iter().filter_map(|directory| real(directory, &name, lookup)).collect();
            (name, files)
        };
        names.into_iter().map(of).collect()
    }

    /// Whether a command only filters its input. Nothing on disk is looked at (6.14).
    ///
    /// A name says nothing of the file behind it, as anybody can make a link, and a trusted directory holds more than
    /// filters: the file must be the one that a trusted directory has under this very name.
    pub fn covers(&self, program: &Program, arguments: &[String]) -> bool {
        let name = program.name();
        let Some(profile) = self.profiles.get(&name.to_lowercase()) else { return false };
        let file = program.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if language(name) || language(file) {
            return false;
        }
        let this = self.files.get(name).is_some_and(|files| files.contains(&program.real));
        this && profile.accepts(arguments)
    }

    /// Whether a program is one of the system's: its file lies where only the system's programs do, and has there the
    /// name by which it was called. Those of other trusted directories are trusted as filters only.
    pub fn system(&self, program: &Program, lookup: &dyn Lookup) -> bool {
        let within =
            |path: &Path| path.parent().is_some_and(|parent| self.system.iter().any(|known| known == parent));
        let named = |directory: &PathBuf| {
            real(directory, program.name(), lookup).is_some_and(|real| real == program.real)
        };
        within(&program.real) && (within(&program.invoked) || self.system.iter().any(named))
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

/// The file that a directory has under a name.
fn real(directory: &Path, name: &str, lookup: &dyn Lookup) -> Option<PathBuf> {
    let path = directory.join(name);
    (!name.is_empty()).then(|| lookup.program(path.to_str()?, None)).flatten().map(|program| program.real)
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
