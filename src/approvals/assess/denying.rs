//! Entries that deny (extension): looked at first and whatever the mode, for every command that can be seen: wrappers, what they
//! run, texts of shells, commands of a text that is not understood as a whole.

use std::path::{Path, PathBuf};

use super::judge::Judge;
use super::{DeniedBy, Part, Seen, starters};
use crate::approvals::allowlist::Subject;
use crate::approvals::programs::Program;
use crate::paths::lexical;
use crate::shell::analyse::Visible;

/// The first command that an entry denies.
pub(super) fn first(judge: &Judge<'_>, parts: &[Part], seen: &Seen<'_>) -> Option<DeniedBy> {
    if judge.rules.deny.is_empty() {
        return None;
    }
    if let Some(denied) = parts.iter().find_map(|part| of_part(judge, part)) {
        return Some(denied);
    }
    let visible = seen.get();
    let places = Places::of(judge.cwd, visible);
    let commands = || visible.commands.iter();
    if let Some(denied) = commands().find_map(|words| places.of_command(judge, words)) {
        return Some(denied);
    }
    let started = |words: &Vec<String>| {
        starters::started(words).into_iter().find_map(|word| places.of_command(judge, &[word.to_owned()]))
    };
    if let Some(denied) = commands().find_map(started) {
        return Some(denied);
    }
    // What is not looked at may be what an entry denies.
    let unseen = || DeniedBy { entry: None, pattern: String::new(), command: seen.text.to_owned() };
    visible.exceeded.then(unseen)
}

/// Most directories that are looked into.
const MOST_PLACES: usize = 64;

/// Where a command of a text may run, and where it may be looked for.
struct Places {
    /// Directories that can be known; the first is where the text starts.
    dirs: Vec<PathBuf>,
    /// Something in the text changes the directory: a relative path may lead anywhere.
    moves: bool,
    /// Directories that the text puts into PATH.
    searched: Vec<String>,
}

impl Places {
    fn of(cwd: &Path, visible: &Visible) -> Self {
        let mut dirs = vec![cwd.to_owned()];
        for to in visible.directories.iter().filter(|to| !to.is_empty() && !to.contains('\0')) {
            let from = dirs.clone();
            for dir in from.iter().map(|from| lexical::clean(from.join(to))) {
                if dirs.len() < MOST_PLACES && !dirs.contains(&dir) {
                    dirs.push(dir);
                }
            }
        }
        let moved = |word: &String| {
            ["-C", "-D", "-R", "--chdir", "--chroot", "--working-directory"]
                .iter()
                .any(|option| word.starts_with(option))
                || matches!(word.as_str(), "-execdir" | "-okdir")
        };
        let mut searched: Vec<String> = Vec::new();
        let assigned = visible.commands.iter().flatten().filter_map(|word| word.strip_prefix("PATH="));
        for value in assigned.chain(visible.paths.iter().map(String::as_str)) {
            for dir in value.split(':').filter(|dir| *dir != super::OLD_PATH) {
                if searched.len() < MOST_PLACES && !searched.iter().any(|known| known == dir) {
                    searched.push(dir.to_owned());
                }
            }
        }
        let moves = visible.directories.len() > 1 || visible.commands.iter().flatten().any(moved);
        Self { dirs, moves, searched }
    }

    /// By every file that the word may be.
    fn of_command(&self, judge: &Judge<'_>, words: &[String]) -> Option<DeniedBy> {
        let word = words.first()?;
        let bare = !word.contains('/');
        let relative = !word.starts_with('/');
        // Everywhere the same file.
        let dirs =
            if relative && !bare { self.dirs.as_slice() } else { self.dirs.get(..1).unwrap_or_default() };
        let by = |dir: &PathBuf| {
            let program = judge.lookup.program(word, Some(dir));
            by_entry(judge, words, program.as_ref(), Some(dir))
        };
        if let Some(denied) = dirs.iter().find_map(by) {
            return Some(denied);
        }
        if bare {
            return self.searched.iter().find_map(|dir| self.put_there(judge, words, dir));
        }
        (relative && self.moves).then(|| by_last_name(judge, words)).flatten()
    }

    /// By what stands under that name in a directory that the text puts into PATH.
    fn put_there(&self, judge: &Judge<'_>, words: &[String], dir: &str) -> Option<DeniedBy> {
        let word = words.first()?;
        self.dirs.iter().find_map(|from| {
            let program = judge.lookup.program(from.join(dir).join(word).to_str()?, Some(from))?;
            by_entry(judge, words, Some(&program), Some(from))
        })
    }
}

/// A relative path that may lead anywhere: denied by an entry for a file of its name, wherever that is, and by what its name
/// means in PATH.
fn by_last_name(judge: &Judge<'_>, words: &[String]) -> Option<DeniedBy> {
    let name = words.first()?.rsplit('/').next().filter(|name| !name.is_empty())?;
    let same = |pattern: &&str| pattern.rsplit('/').next() == Some(name);
    let patterns = judge.rules.deny.entries().iter().map(|entry| entry.pattern.as_str());
    let as_written = patterns.filter(same).find_map(|pattern| {
        let mut words = words.to_vec();
        pattern.clone_into(words.first_mut()?);
        by_entry(judge, &words, None, None)
    });
    as_written.or_else(|| {
        let program = judge.lookup.program(name, Some(judge.cwd))?;
        by_entry(judge, words, Some(&program), None)
    })
}

/// A command with its wrappers and its script, by what they were found to be where they run.
fn of_part(judge: &Judge<'_>, part: &Part) -> Option<DeniedBy> {
    let dir = part.dir.as_deref();
    let texts = |words: &[crate::shell::analyse::Argument]| -> Vec<String> {
        words.iter().map(|word| word.text.clone()).collect()
    };
    let argv = texts(&part.argv);
    let wrapped = |(word, program): &(String, Option<Program>)| {
        let at = argv.iter().position(|typed| typed == word).unwrap_or_default();
        let mut words = vec![word.clone()];
        words.extend(argv.get(at + 1..).unwrap_or_default().iter().cloned());
        by_entry(judge, &words, program.as_ref(), dir)
    };
    if let Some(denied) = part.wrappers.iter().find_map(wrapped) {
        return Some(denied);
    }
    let script = part.script.as_ref().and_then(|script| {
        let program = Program { invoked: script.clone(), real: script.clone() };
        let mut words = texts(part.effective.get(1..).unwrap_or_default());
        script.to_str()?.clone_into(words.first_mut()?);
        by_entry(judge, &words, Some(&program), dir)
    });
    script.or_else(|| by_entry(judge, &texts(&part.effective), part.program.as_ref(), dir))
}

fn by_entry(
    judge: &Judge<'_>,
    words: &[String],
    program: Option<&Program>,
    dir: Option<&Path>,
) -> Option<DeniedBy> {
    let (word, arguments) = words.split_first()?;
    let subject = Subject { word, program, arguments, dir, shell: false };
    let entry = judge.rules.deny.denies(&subject)?;
    let pattern =
        judge.rules.deny.entries().get(entry).map(|entry| entry.pattern.clone()).unwrap_or_default();
    // A part that is not known is no character of the command.
    let command = words.join(" ").replace('\0', "…");
    Some(DeniedBy { entry: Some(entry), pattern, command })
}
