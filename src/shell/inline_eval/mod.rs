//! Whether an argument list carries code for an interpreter (spec `approvals.md` §8).
//!
//! With `strictInlineEval` such a command needs a person's answer, listed or not: an entry for an interpreter says
//! nothing about code on its command line. What this misses runs unasked, what it finds too much asks once too often;
//! so flags are compared without case, and behind an option that nobody knows both readings are tried.
//!
//! | file | concern |
//! |---|---|
//! | [`program`] | names of interpreters |
//! | `table` | their flags |
//! | `flags` | a flag in an argument list |
//! | `given` | code that no flag tells |
//! | `fed` | interpreters that run what they read |
//! | `operand` | programs whose first operand is code |
//! | `carrier` | programs that run another program |
//! | `positional` | `sh -c '"$@"' …`: the command behind the text |

pub(super) mod carrier;
mod fed;
mod flags;
mod given;
mod operand;
pub(crate) mod positional;
pub mod program;
mod table;

use carrier::Inner;
pub use program::interpreter_like;

/// How many programs may run each other before nobody looks any further.
const MAX_DEPTH: usize = 16;
/// How many words are looked at in one argument list; a word counts each time. Behind it the answer is to ask: who
/// needs more readings than that hides something.
const MAX_WORK: usize = 1 << 20;

/// How many beginnings of a command are tried in the search for one that reads its input. Behind it the answer is to ask.
const MAX_READINGS: usize = 1 << 16;

/// Code in an argument list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The interpreter as it is called.
    pub executable: String,
    /// Its name: without directory and `.exe`, in lower case.
    pub name: String,
    /// The flag in front of the code; `<program>` or `<command>` where it is the first operand.
    pub flag: String,
    /// As shown to people.
    pub descriptor: String,
    /// It was found behind a program that runs another one.
    pub via_carrier: bool,
}

/// Finds code in an argument list: in the program's own arguments, or in those of a program that it runs.
pub fn detect<S: AsRef<str>>(argv: &[S]) -> Option<Hit> {
    let argv: Vec<&str> = argv.iter().map(|argument| argument.as_ref().trim()).collect();
    Search { left: MAX_WORK }.find(&argv, 0)
}

/// Finds an interpreter that runs what it reads, at the command or behind programs that run another one: it is given no file,
/// or told to read its input. `fed`: something is written to its input, so that options tell nothing else.
pub fn reads<S: AsRef<str>>(argv: &[S], fed: bool) -> Option<String> {
    let argv: Vec<&str> = argv.iter().map(|argument| argument.as_ref().trim()).collect();
    reads_at(&argv, fed, 0, &mut { MAX_READINGS })
}

fn reads_at(argv: &[&str], fed: bool, depth: usize, left: &mut usize) -> Option<String> {
    let (first, arguments) = argv.split_first()?;
    let name = program::name(first);
    *left = left.saturating_sub(1);
    if let Some(reads) = table::of(&name).and_then(|program| program.reads) {
        return fed::runs(reads, arguments, fed).then(|| format!("{name} input"));
    }
    let inner = carrier::inner(&name, arguments)?;
    if depth >= MAX_DEPTH || *left == 0 {
        return Some(format!("{name} <nested>"));
    }
    match inner {
        Inner::Tails(starts) => {
            starts.into_iter().find_map(|at| reads_at(arguments.get(at..)?, fed, depth + 1, left))
        }
        Inner::Split(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            reads_at(&words, fed, depth + 1, left)
        }
    }
}

/// One search, with what is left of its work.
struct Search {
    left: usize,
}

impl Search {
    fn find(&mut self, argv: &[&str], depth: usize) -> Option<Hit> {
        let (executable, arguments) = argv.split_first()?;
        let name = program::name(executable);
        let own = table::of(&name);
        let forwarded = positional::command(&name, arguments);
        if own.is_none() && forwarded.is_none() && !carrier::is_one(&name) {
            return None;
        }
        let Some(left) = self.left.checked_sub(argv.len()) else { return Some(nested(executable, name)) };
        self.left = left;
        if let Some(flag) = own.and_then(|program| code(program, arguments)) {
            return Some(hit(executable, name, flag));
        }
        if depth >= MAX_DEPTH {
            return own.is_none().then(|| nested(executable, name));
        }
        if let Some(command) = forwarded {
            let given = (0..command.len()).find_map(|at| self.find(command.get(at..)?, depth + 1));
            return given.or_else(|| self.made(arguments, depth));
        }
        let inner = match carrier::inner(&name, arguments)? {
            Inner::Tails(starts) => {
                starts.into_iter().find_map(|at| self.find(arguments.get(at..)?, depth + 1))
            }
            Inner::Split(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                self.find(&words, depth + 1)
            }
        };
        inner.map(|inner| Hit { via_carrier: true, ..inner })
    }

    /// Code that is a word of a shell's text, for a program that is not.
    fn made(&mut self, arguments: &[&str], depth: usize) -> Option<Hit> {
        positional::substituted(arguments).into_iter().find_map(|words| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.find(&words, depth + 1)
        })
    }
}

/// Nobody looks any further: a person does.
fn nested(executable: &str, name: String) -> Hit {
    Hit { via_carrier: true, ..hit(executable, name, "<nested>".to_owned()) }
}

/// The flag, or what stands for one.
fn code(program: &table::Program, arguments: &[&str]) -> Option<String> {
    let flag = flags::find(program, arguments);
    let given = || program.given.and_then(|given| given(arguments)).map(str::to_owned);
    flag.or_else(given)
        .or_else(|| program.operand.and_then(|operand| operand::find(operand, arguments)).map(str::to_owned))
}

fn hit(executable: &str, name: String, flag: String) -> Hit {
    let descriptor = match flag.as_str() {
        operand::PROGRAM => format!("{name} inline program"),
        operand::COMMAND => format!("{name} inline command"),
        _ => format!("{name} {flag}"),
    };
    Hit { executable: executable.to_owned(), name, flag, descriptor, via_carrier: false }
}

#[cfg(test)]
mod tests;
