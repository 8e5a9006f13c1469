//! The command as it is run once it may (design §1 "what runs on a host"; spec `approvals.md` §5.8). One literal simple command
//! becomes an argument list; anything else keeps its shape, its command words rewritten to the absolute invoked paths,
//! wrappers kept. Pure.

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
pub fn enforce(assessed: &Assessed, expansions: bool) -> Result<Enforced, Unpinnable> {
    let _ = (assessed, expansions);
    todo!()
}
