//! Which words of a text become which paths.

use std::slice;

use super::Unpinnable;
use crate::approvals::assess::Part;
use crate::approvals::permit::Command;
use crate::approvals::programs::Program;
use crate::shell::analyse::{self, Argument, Candidate, Group, Runs, Unclear};
use crate::shell::parse::Span;

/// Words of the shell itself that are looked through; no file belongs to them.
const OF_THE_SHELL: &[&str] = &["command", "exec"];

type Pinned<T> = Result<T, Unpinnable>;
/// What stands there instead.
type Edit = (Span, String);

/// Goes through a text and what was found for its commands, side by side.
pub(super) struct Pins<'a> {
    parts: slice::Iter<'a, Part>,
    expansions: bool,
    /// Every program that was met, each once.
    pub(super) programs: Vec<Program>,
}

impl<'a> Pins<'a> {
    pub(super) fn new(parts: &'a [Part], expansions: bool) -> Self {
        Self { parts: parts.iter(), expansions, programs: Vec::new() }
    }

    /// The whole text as words, where it is one command and nothing but its words; and what its program is called by.
    /// Nothing is taken from the parts where it is not.
    pub(super) fn words(
        &mut self,
        text: &str,
        groups: &[Group],
    ) -> Pinned<Option<(Command, Option<String>)>> {
        let [Group { candidates, .. }] = groups else { return Ok(None) };
        let [candidate] = candidates.as_slice() else { return Ok(None) };
        let programs = matches!(candidate.runs, Runs::Program(_))
            && candidate.wrappers.iter().all(|word| !OF_THE_SHELL.contains(&word.as_str()))
            && candidate.places.iter().all(Option::is_some);
        // A tilde in front of the program is part of its path by now.
        let literal =
            candidate.argv.iter().enumerate().all(|(at, word)| at == candidate.head || !word.expands);
        if !programs || !literal || !only_words(text, &candidate.argv) {
            return Ok(None);
        }
        let mut edits = Vec::new();
        let part = self.parts.next().ok_or(Unpinnable::Unread)?;
        self.command(candidate, part, 0, &mut edits)?;
        let mut edited = candidate.argv.iter().map(|word| {
            let path = edits.iter().find(|(span, _)| *span == word.span);
            path.map_or_else(|| word.text.clone(), |(_, path)| path.clone())
        });
        let file = edited.next().ok_or(Unpinnable::Unread)?;
        let typed = candidate.argv.first().filter(|word| !word.expands && word.text != file);
        let arg0 = typed.map(|word| word.text.clone());
        let argv = std::iter::once(file).chain(edited).collect();
        Ok(Some((Command::Argv(argv), arg0)))
    }

    /// The text with its commands pinned. `outer`: how many wrappers of the shell whose text it is stand in front of each.
    pub(super) fn text(&mut self, text: &str, groups: &[Group], outer: usize) -> Pinned<String> {
        let mut edits = Vec::new();
        for candidate in groups.iter().flat_map(|group| &group.candidates) {
            let part = self.parts.as_slice().first().ok_or(Unpinnable::Unread)?;
            match &candidate.runs {
                Runs::Shell(inner) if part.nested => self.shell(candidate, inner, part, &mut edits)?,
                _ => {
                    self.parts.next();
                    self.command(candidate, part, outer, &mut edits)?;
                }
            }
        }
        let quoted = edits.into_iter().map(|(span, path)| (span, quote(&path)));
        edited(text, quoted.collect()).ok_or(Unpinnable::Requote)
    }

    /// A shell whose text was judged command by command. `part` is the first of them and not yet taken.
    fn shell(
        &mut self,
        candidate: &Candidate,
        inner: &[Group],
        part: &Part,
        edits: &mut Vec<Edit>,
    ) -> Pinned<()> {
        let wrappers = part.wrappers.get(..candidate.wrappers.len()).ok_or(Unpinnable::Unclear)?;
        self.wrappers(candidate, wrappers, edits)?;
        let (_, shell) = part.wrappers.get(candidate.wrappers.len()).ok_or(Unpinnable::Unclear)?;
        let word = candidate.argv.get(candidate.head).ok_or(Unpinnable::Unclear)?;
        self.pin(word, shell.as_ref(), edits)?;
        let at = analyse::payload_place(&candidate.argv).ok_or(Unpinnable::Requote)?;
        let payload = candidate.argv.get(at).ok_or(Unpinnable::Requote)?;
        let text = self.text(&payload.text, inner, candidate.wrappers.len() + 1)?;
        edits.push((payload.span, text));
        Ok(())
    }

    /// One command.
    fn command(
        &mut self,
        candidate: &Candidate,
        part: &Part,
        outer: usize,
        edits: &mut Vec<Edit>,
    ) -> Pinned<()> {
        let arguments = candidate.argv.iter().enumerate().filter(|(at, _)| *at != candidate.head);
        if !self.expansions && arguments.into_iter().any(|(_, word)| word.expands) {
            return Err(Unpinnable::Expands);
        }
        let words = candidate.argv.get(candidate.head..).unwrap_or_default();
        match &candidate.runs {
            Runs::Builtin => {
                edits.extend(below(words));
                Ok(())
            }
            Runs::Program(_) | Runs::Shell(_) | Runs::Unclear(Unclear::Shell) => {
                let wrappers = part.wrappers.get(outer..).ok_or(Unpinnable::Unclear)?;
                self.wrappers(candidate, wrappers, edits)?;
                let word = words.first().ok_or(Unpinnable::Unclear)?;
                self.pin(word, part.program.as_ref(), edits)
            }
            Runs::Unclear(_) => Err(Unpinnable::Unclear),
        }
    }

    fn wrappers(
        &mut self,
        candidate: &Candidate,
        found: &[(String, Option<Program>)],
        edits: &mut Vec<Edit>,
    ) -> Pinned<()> {
        if found.len() != candidate.wrappers.len() {
            return Err(Unpinnable::Unclear);
        }
        for (place, (word, program)) in candidate.places.iter().zip(found) {
            match place {
                // A word of the grammar; where it is a program, it is found as this one.
                None => self.met(program.as_ref()),
                Some(_) if OF_THE_SHELL.contains(&word.as_str()) => {}
                Some(at) => {
                    let word = candidate.argv.get(*at).ok_or(Unpinnable::Unclear)?;
                    self.pin(word, program.as_ref(), edits)?;
                }
            }
        }
        Ok(())
    }

    fn pin(&mut self, word: &Argument, program: Option<&Program>, edits: &mut Vec<Edit>) -> Pinned<()> {
        let path = program.and_then(|program| program.invoked.to_str()).ok_or(Unpinnable::NotFound)?;
        edits.push((word.span, path.to_owned()));
        self.met(program);
        Ok(())
    }

    fn met(&mut self, program: Option<&Program>) {
        if let Some(program) = program.filter(|program| !self.programs.contains(program)) {
            self.programs.push(program.clone());
        }
    }
}

/// `cd name` looks into CDPATH first, `cd ./name` does not.
fn below(words: &[Argument]) -> Option<Edit> {
    let [name, target] = words else { return None };
    let text = target.text.as_str();
    let elsewhere = target.expands || text.is_empty() || text.starts_with(['/', '-']);
    let dotted = matches!(text.split('/').next(), Some("." | ".."));
    (name.text == "cd" && !elsewhere && !dotted).then(|| (target.span, format!("./{text}")))
}

/// Whether a text is these words and blanks between them.
fn only_words(text: &str, words: &[Argument]) -> bool {
    let mut at = 0;
    for word in words {
        if text.get(at..word.span.start).is_none_or(|gap| !blank(gap)) {
            return false;
        }
        at = word.span.end;
    }
    let rest = text.get(at..).map(|rest| rest.trim_end_matches([' ', '\t', '\n']));
    rest.is_some_and(|rest| blank(rest.strip_suffix(';').unwrap_or(rest)))
}

fn blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}

/// The text with each piece replaced; nothing where the pieces do not fit.
fn edited(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|(span, _)| span.start);
    let mut made = String::with_capacity(text.len() + edits.len() * 16);
    let mut at = 0;
    for (span, path) in edits {
        made.push_str(text.get(at..span.start)?);
        made.push_str(&path);
        at = span.end;
    }
    made.push_str(text.get(at..)?);
    Some(made)
}

/// A word for a shell that is exactly this text.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
