//! The command lines that a text would start, as far as they can be seen: a net with wide meshes for mistakes, used by
//! the guards and the preflight. What decides about permission is stricter and asks where this guesses.
//!
//! Words are expanded with the variables that are known; what is not known is [`UNKNOWN`]. Looked through are wrappers,
//! shells with their text, package runners, `eval`, `trap`, `alias`, and shells that read their text from what a command
//! in front of them prints.
//!
//! | file | concern |
//! |---|---|
//! | `expand` | words with known variables |
//! | `inner` | what a command line starts in turn |

mod expand;
mod inner;

use std::collections::HashMap;

use super::inline_eval::program;
use super::parse::{self, Command, Compound, Pipeline, RedirectKind, Script, Simple};

/// Stands for a part of a word that is not known. No word of a command line can hold it.
pub(super) const UNKNOWN: char = '\0';
/// How deep texts and wrappers may stand inside each other.
const MAX_DEPTH: usize = 12;
/// How many command lines are looked at.
const MAX_LINES: usize = 20_000;
/// How many characters of words are made in all.
const MAX_TEXT: usize = 8 << 20;

/// One command line, and what stands around it.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// The words.
    pub argv: &'a [String],
    /// Texts that it may read from its standard input.
    pub inputs: &'a [String],
    /// The words are guesses, and a command may begin at each of them.
    pub rough: bool,
    /// Directories that were gone to before, each as written; the first is where the text starts.
    pub directories: &'a [String],
    /// Values that PATH was given before, for this command or for all.
    pub paths: &'a [String],
    /// What it runs is said where nobody looks: by another program, or by a file that is none.
    pub hidden: bool,
    /// One of many places where a command may begin.
    pub guess: bool,
}

/// Not all was looked at: there is too much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// Looks at every command line that `text` would start.
///
/// # Errors
///
/// Where there is too much of it. What cannot be read is looked at in pieces of words.
pub(super) fn each<'v>(
    text: &str,
    variables: HashMap<String, String>,
    look: &'v mut dyn FnMut(&Line<'_>),
) -> Result<(), TooMuch> {
    let mut lines = Lines {
        look,
        variables,
        positional: Vec::new(),
        printed: Vec::new(),
        directories: vec![String::new()],
        paths: Vec::new(),
        piped: false,
        left: MAX_LINES,
        text: MAX_TEXT,
    };
    lines.nested(text, Vec::new(), 0)
}

type Looked = Result<(), TooMuch>;

struct Lines<'v> {
    look: &'v mut dyn FnMut(&Line<'_>),
    variables: HashMap<String, String>,
    positional: Vec<String>,
    /// What the last command printed that prints its arguments.
    printed: Vec<String>,
    directories: Vec<String>,
    paths: Vec<String>,
    /// Standard input comes from a program of which it is not known what it prints.
    piped: bool,
    left: usize,
    text: usize,
}

impl Lines<'_> {
    /// The commands of a text one after the other; bodies are looked at once, wherever they stand.
    fn script(&mut self, script: &Script, depth: usize) -> Looked {
        for item in &script.items {
            for pipeline in item.pipelines() {
                self.pipeline(pipeline, depth)?;
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline, depth: usize) -> Looked {
        self.printed.clear();
        self.piped = false;
        for command in &pipeline.commands {
            match command {
                Command::Simple(simple) => self.simple(simple, depth)?,
                Command::Compound(compound, redirects) => {
                    self.inputs(redirects, depth)?;
                    self.compound(compound, depth)?;
                }
                Command::Function { body, .. } => self.compound(body, depth)?,
            }
        }
        Ok(())
    }

    fn compound(&mut self, compound: &Compound, depth: usize) -> Looked {
        match compound {
            Compound::Subshell(script) | Compound::Group(script) => self.script(script, depth),
            Compound::If(scripts) => scripts.iter().try_for_each(|script| self.script(script, depth)),
            Compound::While(condition, body) => {
                self.script(condition, depth)?;
                self.script(body, depth)
            }
            Compound::For { name, values, body } => {
                let mut last = None;
                for value in values.iter().flatten() {
                    self.words(value, depth)?;
                    last = self.expand(value)?.pop();
                }
                self.variables.insert(name.clone(), last.unwrap_or_else(|| UNKNOWN.to_string()));
                self.script(body, depth)
            }
            Compound::Case { value, branches } => {
                self.words(value, depth)?;
                branches.iter().try_for_each(|(_, body)| self.script(body, depth))
            }
            Compound::Test(words) => words.iter().try_for_each(|word| self.words(word, depth)),
        }
    }

    fn simple(&mut self, simple: &Simple, depth: usize) -> Looked {
        for assignment in &simple.assignments {
            self.words(&assignment.value, depth)?;
            let value = self.expand(&assignment.value)?.join(" ");
            if assignment.name == "PATH" {
                self.paths.push(value.clone());
            }
            self.variables.insert(assignment.name.clone(), value);
        }
        let mut argv = Vec::with_capacity(simple.words.len());
        for word in &simple.words {
            self.words(word, depth)?;
            argv.extend(self.expand(word)?);
        }
        let inputs = self.inputs(&simple.redirects, depth)?;
        self.line(&argv, inputs, false, depth)
    }

    /// What runs inside a word.
    fn words(&mut self, word: &parse::Word, depth: usize) -> Looked {
        word.scripts().try_for_each(|script| self.script(script, depth))
    }

    /// Texts that redirections put on standard input.
    fn inputs(&mut self, redirects: &[parse::Redirect], depth: usize) -> Result<Vec<String>, TooMuch> {
        let mut inputs = Vec::new();
        for redirect in redirects {
            self.words(redirect.word(), depth)?;
            if let RedirectKind::HereDocument { body: word, .. } | RedirectKind::HereString(word) =
                &redirect.kind
            {
                inputs.push(self.whole(word)?);
            }
        }
        Ok(inputs)
    }

    /// A command line, and those that it starts in turn.
    fn line(&mut self, argv: &[String], mut inputs: Vec<String>, guess: bool, depth: usize) -> Looked {
        let Some(executable) = argv.first() else { return Ok(()) };
        if depth > MAX_DEPTH {
            return Err(TooMuch);
        }
        self.left = self.left.checked_sub(1).ok_or(TooMuch)?;
        let made = argv.iter().map(String::len).sum::<usize>();
        self.text = self.text.checked_sub(made).ok_or(TooMuch)?;
        let piped = self.piped && inputs.is_empty();
        inputs.append(&mut self.printed);
        let name = program::name(executable);
        self.tell(argv, &inputs, (guess, inner::hidden(&name, argv, piped)));
        match name.as_str() {
            "cd" | "pushd" => {
                // The home directory, the one before: not told here.
                let to = argv.iter().skip(1).find(|word| !word.starts_with('-')).cloned();
                self.directories.push(to.unwrap_or_else(|| UNKNOWN.to_string()));
                self.variables.insert("PWD".to_owned(), UNKNOWN.to_string());
            }
            "export" | "declare" | "typeset" | "readonly" | "local" => self.assign(argv),
            _ => {}
        }
        for inner in inner::of(&name, argv, &inputs) {
            match inner {
                inner::Inner::Line(argv) => self.line(&argv, inputs.clone(), guess, depth + 1)?,
                inner::Inner::Guess(argv) => self.line(&argv, inputs.clone(), true, depth + 1)?,
                inner::Inner::Text(text, positional) => self.nested(&text, positional, depth + 1)?,
            }
        }
        if inner::prints(&name) {
            self.printed = vec![argv.get(1..).unwrap_or_default().join(" ")];
            self.piped = false;
        } else {
            self.piped = true;
            // Whatever reads it hands it on, as far as anybody knows.
            self.printed = inputs;
        }
        Ok(())
    }

    fn tell(&mut self, argv: &[String], inputs: &[String], (guess, hidden): (bool, bool)) {
        let (directories, paths) = (&self.directories, &self.paths);
        (self.look)(&Line { argv, inputs, rough: false, directories, paths, hidden, guess });
    }

    fn assign(&mut self, argv: &[String]) {
        for (name, value) in argv.iter().filter_map(|word| word.split_once('=')) {
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    /// A text inside a command line. One that cannot be read is looked at line by line.
    fn nested(&mut self, text: &str, positional: Vec<String>, depth: usize) -> Looked {
        if depth > MAX_DEPTH {
            return Err(TooMuch);
        }
        self.text = self.text.checked_sub(text.len()).ok_or(TooMuch)?;
        if text.contains(UNKNOWN) {
            // What is put in may begin commands of its own.
            self.tell(&[UNKNOWN.to_string()], &[], (true, true));
        }
        let before = std::mem::replace(&mut self.positional, positional);
        let printed = std::mem::take(&mut self.printed);
        let looked = match parse::parse(text) {
            Ok(script) => self.script(&script, depth),
            Err(refusal) if refusal.reason.is_limit() => Err(TooMuch),
            Err(_) => rough(text).try_for_each(|argv| {
                self.left = self.left.checked_sub(1).ok_or(TooMuch)?;
                let (directories, paths) = (&self.directories, &self.paths);
                let line = Line {
                    argv: &argv,
                    inputs: &[],
                    rough: true,
                    directories,
                    paths,
                    hidden: true,
                    guess: true,
                };
                (self.look)(&line);
                Ok(())
            }),
        };
        self.positional = before;
        self.printed = printed;
        looked
    }
}

/// How a text that cannot be read may begin commands: at each word of each line, quotes removed. Guesses, and too many.
fn rough(text: &str) -> impl Iterator<Item = Vec<String>> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let parts: Vec<Vec<String>> = joined
        .split(['\n', ';', '|', '&', '(', ')', '`'])
        .map(|part| {
            let bare =
                |word: &str| word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect::<String>();
            part.split(|c: char| c.is_whitespace() || c.is_control())
                .map(bare)
                .filter(|word| !word.is_empty())
                .collect()
        })
        .collect();
    parts.into_iter().filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
