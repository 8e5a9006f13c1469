//! `sqlite3` on files of the state directory.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::GuardError;
use crate::shell::inline_eval::program;
use crate::shell::lines::{Line, UNKNOWN};

/// Where the state directory is, and what a command sees of it. Values only: links are followed by `resolve`.
#[derive(Clone, Copy)]
pub struct LiveState<'a> {
    /// The state directory.
    pub directory: &'a Path,
    /// Where the command starts.
    pub workdir: &'a Path,
    /// The environment that the command gets, as far as it matters: `HOME`, `OPENCLAW_STATE_DIR`, `CREEL_STATE_DIR`.
    pub environment: &'a [(String, String)],
    /// Follows links; nothing where a path leads nowhere. [`super::follow`] does.
    pub resolve: fn(&Path) -> Option<PathBuf>,
}

impl std::fmt::Debug for LiveState<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveState")
            .field("directory", &self.directory)
            .field("workdir", &self.workdir)
            .finish()
    }
}

impl LiveState<'_> {
    /// The variables that a command may name the directory with.
    pub(super) fn variables(&self) -> HashMap<String, String> {
        let own = ("PWD".to_owned(), self.workdir.to_string_lossy().into_owned());
        std::iter::once(own).chain(self.environment.iter().cloned()).collect()
    }

    /// Where a file lies, if that is in the state directory.
    fn holds(&self, file: &str, directories: &[String]) -> Option<PathBuf> {
        // Of a name that is not known to its end, the directory is.
        let known = match file.split_once(UNKNOWN) {
            None => file,
            Some((known, _)) => known.rsplit_once('/').map(|(directory, _)| directory)?,
        };
        let known = if known.is_empty() && file.starts_with('/') { "/" } else { known };
        let mut from = vec![self.workdir.to_owned()];
        for directory in directories.iter().filter(|directory| !directory.contains(UNKNOWN)) {
            let reached: Vec<PathBuf> = from.iter().map(|from| from.join(directory)).collect();
            from.extend(reached);
            from.dedup();
            from.truncate(64);
        }
        from.iter().map(|from| from.join(known)).find_map(|path| self.contains(&path))
    }

    fn contains(&self, path: &Path) -> Option<PathBuf> {
        let clean = lexical(path);
        let inside = |path: &Path, directory: &Path| path.starts_with(directory);
        let state = (self.resolve)(self.directory).unwrap_or_else(|| self.directory.to_owned());
        if inside(&clean, self.directory) || inside(&clean, &state) {
            return Some(clean);
        }
        (self.resolve)(path).filter(|real| inside(real, &state))
    }
}

fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Options with a value, and how many words it takes.
const VALUES: &[(&str, usize)] = &[
    ("cmd", 1),
    ("init", 1),
    ("separator", 1),
    ("newline", 1),
    ("nullvalue", 1),
    ("mmap", 1),
    ("maxsize", 1),
    ("nonce", 1),
    ("vfs", 1),
    ("escape", 1),
    ("heap", 1),
    ("lookaside", 2),
    ("pagecache", 2),
];
/// Dot commands whose arguments are files.
const DOTS: &[&str] = &[
    ".open", ".restore", ".backup", ".save", ".clone", ".read", ".import", ".output", ".once", ".dump",
    ".archive", ".ar", ".load", ".log", ".excel",
];

/// Whether a command line opens a file of the state directory.
pub(super) fn refuses(line: &Line<'_>, state: &LiveState<'_>) -> Option<GuardError> {
    let files = if line.rough {
        let at = line.argv.iter().position(|word| is_sqlite(word))?;
        line.argv.get(at + 1..)?.iter().map(|word| spelled(word, state)).collect()
    } else {
        let (first, arguments) = line.argv.split_first()?;
        if !is_sqlite(first) {
            return None;
        }
        let mut files = opened(arguments);
        files.extend(line.inputs.iter().flat_map(|input| named(input)));
        files
    };
    let path =
        files.iter().flat_map(|file| paths(file)).find_map(|file| state.holds(&file, line.directories))?;
    Some(GuardError::LiveState { path, state: state.directory.to_owned() })
}

fn is_sqlite(word: &str) -> bool {
    let name = program::name(word);
    program::unversioned(&name) == "sqlite"
}

/// In a text that cannot be read, the variables and the tilde are put in place as words.
fn spelled(word: &str, state: &LiveState<'_>) -> String {
    let mut made = word.to_owned();
    for (name, value) in state.environment {
        made = made.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    let home = state.environment.iter().find(|(name, _)| name == "HOME");
    match (home, made.strip_prefix('~')) {
        (Some((_, home)), Some(rest)) => format!("{home}{rest}"),
        _ => made,
    }
}

/// The files that the arguments name: the first operand, and those in commands and SQL.
fn opened(arguments: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    let mut operands = 0;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if let Some(option) = argument.strip_prefix('-') {
            let option = option.strip_prefix('-').unwrap_or(option);
            let taken = VALUES.iter().find(|(name, _)| *name == option).map_or(0, |(_, taken)| *taken);
            for value in rest.by_ref().take(taken) {
                match option {
                    "cmd" => files.extend(named(value)),
                    "init" => files.push(value.clone()),
                    _ => {}
                }
            }
            // An archive is named by its own option, with the value behind it or joined.
            if option.starts_with(['A', 'f']) {
                files.extend(rest.clone().cloned());
            }
            continue;
        }
        operands += 1;
        if operands == 1 {
            files.push(argument.clone());
        } else {
            files.extend(named(argument));
        }
    }
    files
}

/// Files named in commands of the program and in SQL.
fn named(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    let bare = |word: &str| word.trim_matches(['"', '\'', ';', '(', ')', ',']).to_owned();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        // The beginning of a command is enough.
        let dotted = command.len() > 1 && DOTS.iter().any(|dot| dot.starts_with(command));
        if dotted {
            files.extend(words.filter(|word| !word.starts_with("--")).map(bare));
        }
    }
    let lower = text.to_ascii_lowercase();
    for keyword in ["attach", "into", "readfile", "writefile", "fsdir", "load_extension"] {
        for (at, _) in lower.match_indices(keyword) {
            let behind = text.get(at + keyword.len()..).unwrap_or_default();
            files.extend(behind.split(['\'', '"']).nth(1).map(str::to_owned));
        }
    }
    files
}

/// A file as the program takes it: a path, or a URI with one.
fn paths(file: &str) -> Vec<String> {
    let mut paths = vec![file.to_owned()];
    let scheme = file.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if let Some(rest) = scheme.and_then(|_| file.get(5..)) {
        let path = match rest.strip_prefix("//") {
            Some(authority) => authority.find('/').and_then(|at| authority.get(at..)).unwrap_or_default(),
            None => rest,
        };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        paths.push(decoded(path));
    }
    paths
}

/// Percent signs put back.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let value = digit(ahead.next()).zip(digit(ahead.next()));
        match value.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(value) if byte == b'%' => {
                bytes.push(value);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
