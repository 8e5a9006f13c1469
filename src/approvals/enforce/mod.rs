//! The command as it is run once it may (design §1 "what runs on a host"; spec `approvals.md` §5.8). One literal simple command
//! becomes an argument list; anything else keeps its shape, its command words rewritten to the absolute invoked paths,
//! wrappers kept. Pure.
//!
//! What the shell itself obeys is left as it is, redirections and the quotes of other words too. One thing is added: a relative
//! directory behind `cd` begins with `./`, so that CDPATH cannot make another one of it.
//!
//! | file | concern |
//! |---|---|
//! | `pins` | which words become which paths |

mod pins;

use super::assess::Assessed;
use super::permit::Command;
use super::programs::Program;

/// A command with its programs pinned.
#[derive(Debug, Clone, PartialEq)]
pub struct Enforced {
    /// What is run: [`Command::Argv`] with the invoked path in front, or text.
    pub command: Command,
    /// For an argument list: what the program is called by (`argv[0]`), where that is not its path.
    pub arg0: Option<String>,
    /// Every program that it starts, wrappers and shells included, each once.
    pub programs: Vec<Program>,
}

/// Why a command cannot be run exactly as it was matched (5.32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unpinnable {
    /// It was not understood.
    #[error("it cannot be analysed")]
    Unread,
    /// A pattern, a tilde or braces in an argument.
    #[error("an argument is expanded by the shell")]
    Expands,
    /// A program that was not found.
    #[error("a program was not found")]
    NotFound,
    /// The text of an inner shell cannot be written again.
    #[error("the text of an inner shell cannot be quoted again")]
    Requote,
    /// What runs is not known.
    #[error("what it really runs is unclear")]
    Unclear,
}

/// Pins a command. `expansions`: patterns in arguments are kept, as after a person has seen them (5.35).
///
/// # Errors
///
/// Where what runs could be something else than what was matched.
pub fn enforce(assessed: &Assessed, expansions: bool) -> Result<Enforced, Unpinnable> {
    let groups = assessed.analysis.as_deref().map_err(|_| Unpinnable::Unread)?;
    let mut pins = pins::Pins::new(&assessed.parts, expansions);
    if let Some((command, arg0)) = pins.words(&assessed.text, groups)? {
        return Ok(Enforced { command, arg0, programs: pins.programs });
    }
    let text = pins.text(&assessed.text, groups, 0)?;
    Ok(Enforced { command: Command::Shell(text), arg0: None, programs: pins.programs })
}

#[cfg(test)]
mod tests;
