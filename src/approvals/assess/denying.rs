//! Entries that deny (extension): looked at first and whatever the mode, for every command that can be seen: wrappers, what they
//! run, texts of shells, commands of a text that is not understood as a whole.

use std::path::Path;

use super::judge::Judge;
use super::{DeniedBy, Part, Seen};
use crate::approvals::allowlist::Subject;
use crate::approvals::programs::Program;

/// The first command that an entry denies.
pub(super) fn first(judge: &Judge<'_>, parts: &[Part], seen: &Seen<'_>) -> Option<DeniedBy> {
    if judge.rules.deny.is_empty() {
        return None;
    }
    if let Some(denied) = parts.iter().find_map(|part| of_part(judge, part)) {
        return Some(denied);
    }
    let visible = seen.get();
    let cwd = Some(judge.cwd);
    let of = |words: &Vec<String>| {
        let program = judge.lookup.program(words.first()?, cwd);
        by_entry(judge, words, program.as_ref(), cwd)
    };
    if let Some(denied) = visible.commands.iter().find_map(of) {
        return Some(denied);
    }
    // What is not looked at may be what an entry denies.
    let unseen = || DeniedBy { entry: None, pattern: String::new(), command: seen.text.to_owned() };
    visible.exceeded.then(unseen)
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
