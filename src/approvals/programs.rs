//! Which file a command word means (spec `approvals.md` §5.1). The decision takes what this finds and looks at nothing itself.

use std::path::{Path, PathBuf};

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// Its path before links were followed; absolute, lexically clean. What is executed.
    pub invoked: PathBuf,
    /// The file itself, every link followed. What is trusted.
    pub real: PathBuf,
}

impl Program {
    /// The last part of the invoked path: by this name a multi-call binary knows what it is to be.
    pub fn name(&self) -> &str {
        self.invoked.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Finds programs and scripts. `dir` is where relative names begin; `None`: that is not known, and only absolute names and
/// absolute elements of PATH are of use.
pub trait Lookup {
    /// The program that a command word means: searched in PATH where it is a bare name.
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program>;
    /// A regular file that is named as an operand (a script), every link followed.
    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf>;
    /// Hex SHA-256 of a file's content, for entries that pin it; `None` where it cannot be read.
    fn digest(&self, file: &Path) -> Option<String> {
        let _ = file;
        None
    }
    /// The home directory for `~` in patterns.
    fn home(&self) -> Option<&Path>;
}
