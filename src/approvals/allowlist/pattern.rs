//! What the pattern of an entry names (spec `approvals.md` §5.2; `docs/compatibility.md`, rule `entry-same-file`).

use std::path::{Path, PathBuf};

use super::glob::Glob;
use super::{REAL_PATH, Subject};
use crate::approvals::document::{Entry, Source};
use crate::approvals::programs::{Lookup, Program};

/// A pattern that was read.
#[derive(Debug)]
pub(super) enum Pattern {
    /// `*` alone: any program, found or not.
    Everything,
    /// A bare name, perhaps with wildcards.
    Name { text: String, glob: Option<Glob> },
    /// One file.
    File(File),
    /// Files whose own paths fit.
    Files { text: String, glob: Glob, name: Glob },
    /// Nothing: it begins with a home directory that is not known.
    Nothing,
}

/// A literal path.
#[derive(Debug)]
pub(super) struct File {
    /// As written, `~` expanded.
    pub(super) path: PathBuf,
    /// Where it led when the list was compiled; for an approval for good, where it led when that was given.
    pub(super) real: Option<PathBuf>,
    /// It is an approval for good: only the file that was approved counts.
    always: bool,
}

impl Pattern {
    pub(super) fn new(entry: &Entry, lookup: &dyn Lookup) -> Self {
        let always = entry.source == Source::AllowAlways;
        let pattern = entry.pattern.trim();
        if pattern == "*" && entry.arg_pattern.is_none() && !always {
            return Self::Everything;
        }
        if !pattern.contains(['/', '\\', '~']) {
            let glob = Glob::is_wild(pattern).then(|| Glob::new(pattern));
            return Self::Name { text: pattern.to_owned(), glob };
        }
        let Some(text) = expanded(pattern, lookup.home()) else { return Self::Nothing };
        if Glob::is_wild(&text) {
            let name = Glob::new(text.rsplit('/').next().unwrap_or_default());
            return Self::Files { glob: Glob::new(&text), text, name };
        }
        let real = if always {
            entry.unknown.get(REAL_PATH).and_then(serde_json::Value::as_str).map(PathBuf::from)
        } else {
            lookup.file(&text, None)
        };
        Self::File(File { path: PathBuf::from(text), real, always })
    }

    /// Whether it names the program that runs.
    pub(super) fn allows(&self, subject: &Subject<'_>) -> bool {
        let Some(program) = subject.program else { return matches!(self, Self::Everything) };
        match self {
            Self::Everything => true,
            Self::Nothing => false,
            // A star that is limited is no name: it says nothing about which program may have these arguments.
            Self::Name { text, .. } if text == "*" => false,
            Self::Name { text, glob } => subject.bare() && name_fits(text, glob.as_ref(), program.name()),
            Self::File(file) => file.is(program),
            Self::Files { glob, name, .. } => {
                let real = program.real.to_str().is_some_and(|real| glob.matches(real));
                real && (!program.multi_call() || name.matches(program.name()))
            }
        }
    }

    /// Whether it names the program that may run, by any of its names.
    pub(super) fn denies(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Nothing => false,
            Self::Name { text, glob } => {
                names(subject).into_iter().any(|name| name_fits(text, glob.as_ref(), name))
            }
            Self::Files { glob, .. } => paths(subject).into_iter().any(|path| glob.matches(path)),
            Self::File(file) => file.is_any_of(subject),
        }
    }
}

impl File {
    /// Whether a program is this file. One that does something else under each name must be called by the entry's.
    fn is(&self, program: &Program) -> bool {
        if self.always {
            // What was approved: the file by its own path, or a link and where it led.
            return match &self.real {
                Some(real) => program.invoked == self.path && program.real == *real,
                None => program.real == self.path && !program.multi_call(),
            };
        }
        let same = self.path == program.real
            || self.path == program.invoked
            || self.real.as_ref() == Some(&program.real);
        same && (!program.multi_call() || self.name() == program.name())
    }

    fn is_any_of(&self, subject: &Subject<'_>) -> bool {
        if paths(subject).into_iter().any(|path| Path::new(path) == self.path) {
            return true;
        }
        let Some(program) = subject.program else { return false };
        let of_file = program.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.real.as_ref() == Some(&program.real)
            && (!program.multi_call() || self.name() == program.name() || self.name() == of_file)
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Every name under which a command is called or known.
pub(super) fn names<'a>(subject: &Subject<'a>) -> Vec<&'a str> {
    let base = |path: &'a Path| path.file_name().and_then(|name| name.to_str());
    let mut names = vec![subject.word.rsplit('/').next().unwrap_or_default()];
    if let Some(program) = subject.program {
        names.extend(base(&program.invoked).into_iter().chain(base(&program.real)));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Every path under which a command is called or known.
pub(super) fn paths<'a>(subject: &Subject<'a>) -> Vec<&'a str> {
    let mut paths = vec![subject.word];
    if let Some(program) = subject.program {
        paths.extend([&program.invoked, &program.real].into_iter().filter_map(|path| path.to_str()));
    }
    paths
}

fn name_fits(text: &str, glob: Option<&Glob>, name: &str) -> bool {
    glob.map_or_else(|| text == name, |glob| glob.matches(name))
}

/// With the home directory for a leading `~` (5.11).
fn expanded(pattern: &str, home: Option<&Path>) -> Option<String> {
    match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Some(format!("{}{rest}", home?.to_str()?)),
        _ => Some(pattern.to_owned()),
    }
}
