//! Commands that `exec` refuses whatever the policy says (spec `exec.md` §13.4, `approvals.md` §19).
//!
//! An agent must not answer its own approval, start a login that waits for a person, or write into the database that
//! holds its permissions. These are filters for mistakes: what bounds a command is the sandbox and the approvals.
//!
//! | file | concern |
//! |---|---|
//! | `control` | `/approve`, `creel approvals approve`, `openclaw channels login` |
//! | `database` | `sqlite3` on files of the state directory |

mod control;
mod database;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::lines;
use crate::error::{Diagnose, Report};
pub use database::LiveState;

/// What a guard must know beside the command.
#[derive(Debug, Default)]
pub struct GuardFacts<'a> {
    /// The state directory, for commands that run on the gateway's host. `None` leaves that guard out: a sandbox and a
    /// node do not see it.
    pub live_state: Option<LiveState<'a>>,
}

/// A command that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// It answers an approval.
    #[error(
        "exec cannot run /approve commands. An approval, also with creel approvals, is answered by a \
         person: show the /approve line in the chat, where the approval handler takes it"
    )]
    Approve,
    /// It logs a channel in.
    #[error(
        "exec cannot run interactive OpenClaw channel login commands. Run {command:?} in a terminal on the gateway host, \
         or call the channel's own login tool where it has one (for example whatsapp_login)"
    )]
    ChannelLogin {
        /// As it was recognised.
        command: String,
    },
    /// It cannot be looked through.
    #[error(
        "exec cannot look through this command: it is too long, too deeply nested, or starts too many others"
    )]
    TooComplex,
    /// It opens a database of the state directory.
    #[error("exec cannot run sqlite3 on {path}: it lies in the live state directory {state}")]
    LiveState {
        /// The file.
        path: PathBuf,
        /// The state directory.
        state: PathBuf,
    },
}

impl Diagnose for GuardError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Approve => (
                "CRL-GUARD-001",
                "built-in: an agent does not answer its own approvals",
                "let a person answer in the chat or in a terminal on the gateway host",
            ),
            Self::ChannelLogin { .. } => (
                "CRL-GUARD-002",
                "built-in: interactive logins are a person's",
                "run it in a terminal on the gateway host, or use the channel's own login tool",
            ),
            Self::TooComplex => (
                "CRL-GUARD-003",
                "built-in: what exec runs can be looked through",
                "write the work into a script file and run that, or split it into several calls",
            ),
            Self::LiveState { .. } => (
                "CRL-GUARD-004",
                "built-in: the live state is changed by its owner only",
                "use the command line for what is in there, or copy the file elsewhere in a terminal first",
            ),
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix: fix.to_owned() }
    }
}

/// Checks a command before anything of it runs: who approves, who logs in, and, with facts about the state directory, whose
/// database it is.
///
/// # Errors
///
/// The first thing that is refused.
pub fn check(command: &str, facts: &GuardFacts<'_>) -> Result<(), GuardError> {
    let variables = facts.live_state.as_ref().map_or_else(HashMap::new, LiveState::variables);
    let mut refused = None;
    let looked = lines::each(command, variables, &mut |line| {
        if refused.is_none() {
            refused = control::refuses(line);
        }
        if let (None, Some(state)) = (&refused, &facts.live_state) {
            refused = database::refuses(line, state);
        }
    });
    match (refused, looked) {
        (Some(refused), _) => Err(refused),
        (None, Err(lines::TooMuch)) => Err(GuardError::TooComplex),
        (None, Ok(())) => Ok(()),
    }
}

/// Follows the links in a path, as far as it exists: what [`LiveState::resolve`] is for outside of tests.
pub fn follow(path: &Path) -> Option<PathBuf> {
    crate::paths::resolve::resolve(path).ok()
}

#[cfg(test)]
mod tests;
