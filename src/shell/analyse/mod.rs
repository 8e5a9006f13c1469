//! The commands that a text would really run, or *cannot say*: what allowlist and approvals judge (spec `approvals.md`
//! §4, §7). Pure. Unlike `shell::lines` it never guesses: what it lists is everything that runs, with exactly these
//! words, under `bash` and `dash` alike.
//!
//! Modelled: literal words; lists of `;`, line ends, `&&`, `||`, pipelines, `!`, `time`; duplicated descriptors; output
//! to `/dev/null` and input from it; here-documents with a quoted delimiter; the wrappers of §7 with the options listed
//! there; `sh -c` with literal text, one level deep, and its form that only forwards (`'"$0" "$@"'`); the builtins that
//! start nothing; `cd` in front of `&&`. Patterns, tilde and braces in arguments are listed as such
//! ([`Argument::expands`]): the shell makes other words of them.
//!
//! Everything else is refused with the first construct in the way ([`Obstacle`]), or, where the command is clear and
//! only what it starts is not, listed as [`Runs::Unclear`]: a person may be asked, no entry covers it.
//!
//! Programs of packages and multiplexers are always [`Runs::Unclear`]: which program a name of theirs means is theirs to say.
//!
//! | file | concern |
//! |---|---|
//! | `list` | groups and commands, and the directory in which each runs |
//! | `runs` | what one command really runs |
//! | `builtin` | words that the shell itself obeys |
//! | `wrapper` | programs that run another one, with the options that are understood |
//! | `packages` | package managers, and when they start what their arguments name |
//! | `carried` | a shell's text that runs its own arguments |
//! | `named` | what a command is by the name of the file that a link leads to |
//! | `obstacle` | the first construct that is not modelled |
//! | [`fn@visible`] | every command that can be seen, for rules that deny |

mod builtin;
mod carried;
mod list;
mod named;
mod obstacle;
mod packages;
mod runs;
pub mod visible;
mod wrapper;

use super::inline_eval::positional;
use super::parse::{self, Span};
pub use named::{hidden, hidden_code, poses};
pub use obstacle::{Obstacle, Refused};
pub use visible::{Visible, visible, visible_with};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its text, quotes removed.
    pub text: String,
    /// The shell makes other words of it: a pattern, a tilde, braces.
    pub expands: bool,
    /// Where it stands: in the whole text, or in the text of the shell that it is an argument of.
    pub span: Span,
}

/// Where a command runs, seen from where its text begins: of a shell's text, from where the shell runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Dir {
    /// Where the text begins.
    #[default]
    Start,
    /// There, after `cd` to this literal path: absolute, or seen from where its text begins. It never holds `..`, which means
    /// different things to a shell and to the system.
    Moved(String),
    /// That depends on what runs before.
    Unknown,
}

/// What joins a group to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a line end.
    Then,
}

/// One pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its commands, in order.
    pub candidates: Vec<Candidate>,
    /// `!` turns its status round.
    pub negated: bool,
    /// What stands in front of the next group.
    pub next: Option<Next>,
}

/// One command of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it stands: in the whole text, or in the text of the shell that runs it.
    pub span: Span,
    /// Its words as they are passed on.
    pub argv: Vec<Argument>,
    /// Wrappers that were looked through, outermost first, as they are called: they run too, and must be found where
    /// nobody else writes.
    pub wrappers: Vec<String>,
    /// Where in `argv` each wrapper stands. `None`: a word of the shell's grammar and none of the command's (`time`).
    pub places: Vec<Option<usize>>,
    /// Where in `argv` the words begin that are judged: behind the wrappers.
    pub head: usize,
    /// What it really runs.
    pub runs: Runs,
    /// Code on the command line of an interpreter, as it is told to people (§8).
    pub inline: Option<String>,
    /// Where it runs.
    pub dir: Dir,
}

/// What a command really runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    /// A program, with these words.
    Program(Vec<Argument>),
    /// A builtin that starts nothing and writes nothing (4.12).
    Builtin,
    /// The commands of a shell's text (4.13).
    Shell(Vec<Group>),
    /// Something that no entry covers, and why (4.09).
    Unclear(Unclear),
}

/// Why no entry covers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    /// The shell runs a text that is made or read elsewhere: `eval`, `source`, `.`, `alias`, `trap`.
    Evaluates,
    /// The command's environment is changed: an assignment in front, `export`, `unset`.
    Environment,
    /// A wrapper that changes more than is modelled, or has an option that is not.
    Wrapper,
    /// It starts programs that its arguments name: `find -exec`, `xargs`, package runners, multiplexers.
    Carrier,
    /// A shell with a text that is not followed.
    Shell,
    /// A query: `command -v`.
    Query,
}

/// Whether a name is that of a shell, whether its text is read or not (7.06). In lower case, without directory.
pub fn is_shell(name: &str) -> bool {
    wrapper::is_shell(name)
}

/// Lists what a text would run.
///
/// # Errors
///
/// The first construct that is not modelled.
pub fn analyse(text: &str) -> Result<Vec<Group>, Refused> {
    let script = parse::parse(text).map_err(|refusal| Refused::unread(text, refusal))?;
    if let Some(refused) = obstacle::first(text, &script) {
        return Err(refused);
    }
    let groups = list::groups(&script, 0);
    let runs = groups.iter().any(|group| !group.candidates.is_empty());
    if runs { Ok(groups) } else { Err(Refused { obstacle: Obstacle::Nothing, span: Span::default() }) }
}

/// Which word of a shell's command is the text that it runs.
pub fn payload_place(argv: &[Argument]) -> Option<usize> {
    let words: Vec<&str> = argv.iter().skip(1).map(|word| word.text.as_str()).collect();
    let (_, rest) = positional::payload(&words)?;
    argv.len().checked_sub(rest.len() + 1)
}

#[cfg(test)]
mod tests;
