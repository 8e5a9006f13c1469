//! What "always" would write down (spec `approvals.md` §7.1). Pure.

use super::allowlist::{REAL_PATH, bound_pattern};
use super::assess::{Assessed, By, Gap, Part};
use super::document::{Entry, Source};
use super::programs::Program;
use crate::shell::analyse::{Unclear, is_shell};
use crate::shell::inline_eval::{detect, interpreter_like, program};

/// What of a command could be remembered.
#[derive(Debug, Clone, PartialEq)]
pub enum Remembered {
    /// These entries, without ids.
    Entries(Vec<Entry>),
    /// Nothing, and why.
    OneShot(Vec<OneShot>),
}

/// Why nothing can be remembered (7.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OneShot {
    /// It could not be analysed.
    Unplanned,
    /// Something in it is never covered by an entry.
    PromptOnly,
    /// What it runs is made while it runs.
    RuntimePayload,
    /// No program in it has a path of its own to be remembered by.
    NoReusablePattern,
    /// What it runs stands in files of the project.
    ProjectFiles,
}

impl OneShot {
    /// A stable word for programs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unplanned => "unplanned",
            Self::PromptOnly => "prompt-only",
            Self::RuntimePayload => "runtime-payload",
            Self::NoReusablePattern => "no-reusable-pattern",
            Self::ProjectFiles => "project-files",
        }
    }
}

/// What "always" would write for a command: an entry for each of its programs, or nothing where one of them cannot be
/// remembered. A chain is only as trusted as its least trusted part.
pub fn remember(assessed: &Assessed) -> Remembered {
    if assessed.analysis.is_err() || assessed.parts.is_empty() {
        return Remembered::OneShot(vec![OneShot::Unplanned]);
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut reasons = Vec::new();
    // What stands in a document is in no hash of arguments.
    if assessed.heredoc {
        reasons.push(OneShot::RuntimePayload);
    }
    if assessed.suppresses {
        reasons.push(OneShot::PromptOnly);
    }
    for part in &assessed.parts {
        match of_part(part, assessed.strict_inline) {
            Ok(Some(entry)) => {
                let entry = Entry {
                    command_text: Some(crate::approvals::display::noted(assessed.text.trim())),
                    ..entry
                };
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
            Ok(None) => {}
            Err(reason) => reasons.push(reason),
        }
    }
    // Code that is not in the words of one part, as what is written to an interpreter (8.02).
    if reasons.is_empty() && assessed.strict_inline && assessed.inline.is_some() {
        reasons.push(OneShot::RuntimePayload);
    }
    if reasons.is_empty() && entries.is_empty() {
        reasons.push(OneShot::NoReusablePattern);
    }
    let mut told: Vec<OneShot> = Vec::new();
    for reason in reasons {
        if !told.contains(&reason) {
            told.push(reason);
        }
    }
    if told.is_empty() { Remembered::Entries(entries) } else { Remembered::OneShot(told) }
}

/// The entry for one command; none where it needs none. `strict`: under `strictInlineEval` code in arguments always asks, so
/// that an interpreter with a file may be remembered (7.09).
///
/// # Errors
///
/// Why it cannot be remembered.
pub fn of_part(part: &Part, strict: bool) -> Result<Option<Entry>, OneShot> {
    match &part.by {
        By::Builtin => return Ok(None),
        By::Nothing(Gap::NotFound | Gap::Untrusted(_) | Gap::Unclear(Unclear::Shell)) => {
            return Err(OneShot::NoReusablePattern);
        }
        By::Nothing(Gap::Unclear(_)) => return Err(OneShot::PromptOnly),
        By::Nothing(Gap::NoEntry) | By::Entry(_) | By::SafeBin | By::Skill => {}
    }
    let program = part.program.as_ref().ok_or(OneShot::NoReusablePattern)?;
    let words: Vec<String> = part.effective.iter().map(|word| word.text.clone()).collect();
    let name = words.first().map(|word| program::name(word)).ok_or(OneShot::NoReusablePattern)?;
    // `sh -c '"$@"' x tool`: the shell's text decides what becomes of the words.
    if !part.nested && part.wrappers.iter().any(|(word, _)| is_shell(&program::name(word))) {
        return Err(OneShot::RuntimePayload);
    }
    // What patterns become is in no hash either.
    if part.effective.iter().skip(1).any(|word| word.expands) {
        return Err(OneShot::NoReusablePattern);
    }
    let dir = part.dir.as_deref().and_then(|dir| dir.to_str()).ok_or(OneShot::NoReusablePattern)?;
    if let Some(script) = &part.script {
        let arguments = words.get(2..).unwrap_or_default();
        return entry(&Program { invoked: script.clone(), real: script.clone() }, dir, arguments).map(Some);
    }
    let file = program.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if [&name, program.name(), file].into_iter().any(is_shell) {
        return Err(OneShot::NoReusablePattern);
    }
    if runs_project(part) {
        return Err(OneShot::ProjectFiles);
    }
    if strict && detect(&words).is_some() {
        return Err(OneShot::RuntimePayload);
    }
    if !strict && [&name, program.name(), file].into_iter().any(interpreter_like) {
        return Err(OneShot::NoReusablePattern);
    }
    entry(program, dir, words.get(1..).unwrap_or_default()).map(Some)
}

/// Whether files of the project say what a command runs.
pub fn runs_project(part: &Part) -> bool {
    let words = if part.effective.is_empty() { &part.argv } else { &part.effective };
    let words: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let Some((first, arguments)) = words.split_first() else { return false };
    let called = program::name(first);
    let file = part.program.as_ref().and_then(|found| found.real.file_name()?.to_str()).unwrap_or_default();
    [called.as_str(), file].into_iter().any(|name| super::project::runs(name, arguments))
}

/// An entry for one argument list in one directory. A program that does something else under each of its names is named by
/// the link that was called, beside the file to which that leads.
fn entry(program: &Program, dir: &str, arguments: &[String]) -> Result<Entry, OneShot> {
    let text = |path: &std::path::Path| path.to_str().map(str::to_owned).ok_or(OneShot::NoReusablePattern);
    let real = text(&program.real)?;
    let mut entry = Entry {
        arg_pattern: Some(bound_pattern(dir, arguments)),
        source: Source::AllowAlways,
        ..Entry::of(real.clone())
    };
    if program.multi_call() {
        entry.pattern = text(&program.invoked)?;
        entry.unknown.insert(REAL_PATH.to_owned(), real.into());
    }
    // A pattern reads these as wildcards, and no path may hold more than itself.
    if entry.pattern.contains(['*', '?']) || entry.pattern.trim() != entry.pattern {
        return Err(OneShot::NoReusablePattern);
    }
    Ok(entry)
}
