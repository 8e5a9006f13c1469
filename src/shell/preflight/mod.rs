//! A look at a Python or Node script before it runs (spec `exec.md` §13.1 to §13.3): a shell's `$NAME` in it is a mistake
//! that would only show when the script is half done. A filter for mistakes, not a boundary.
//!
//! | file | concern |
//! |---|---|
//! | `target` | the script that a command names |
//! | `hidden` | a script that may run without being seen |
//! | `file` | reading it; the only part with input |
//! | `python`, `node` | a shell's variable in its code |

mod file;
mod hidden;
mod node;
mod python;
mod target;

use std::path::Path;

use super::parse;
use crate::error::{Diagnose, Report};

/// Where a command starts.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The directory, on this machine.
    pub host: &'a Path,
    /// The same directory as the command sees it, where that is another path: in a container.
    pub guest: Option<&'a Path>,
}

/// A command that would fail half-way, or whose script cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreflightError {
    /// The script uses a shell's variable.
    #[error(
        "exec preflight: {file} uses {token} in line {line}, outside of any text. That is a shell variable, which {language} \
         does not know; write {instead} there"
    )]
    Bleed {
        /// Base name of the script.
        file: String,
        /// The variable as written.
        token: String,
        /// Its line, from 1.
        line: usize,
        /// The script's language.
        language: &'static str,
        /// What to write.
        instead: String,
    },
    /// An interpreter gets a script in a way that is not followed.
    #[error(
        "exec preflight: complex interpreter invocation detected; the script cannot be checked before it runs. Run it \
         directly, as `python <file>.py` or `node <file>.js`, with nothing around it (workdir replaces cd)"
    )]
    Complex,
}

impl Diagnose for PreflightError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Bleed { instead, .. } => (
                "CRL-PREFLIGHT-001",
                "built-in: scripts are checked for shell variables before they run",
                format!("read the variable with {instead}"),
            ),
            Self::Complex => (
                "CRL-PREFLIGHT-002",
                "built-in: a script that is run is seen before it runs",
                "run the script as a command of its own, and name its directory as workdir".to_owned(),
            ),
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix }
    }
}

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    Node,
}

/// Checks a command before it is started in `place`.
///
/// # Errors
///
/// A script with a shell's variable, or one that cannot be seen.
pub fn check(command: &str, place: &Place<'_>) -> Result<(), PreflightError> {
    let script = parse::parse(command).ok();
    let words = target::first(command, script.as_ref());
    if let Some((language, path)) = target::script(&words) {
        return match file::read(&path, place) {
            Some(code) => clean(language, &path, &code),
            None => Ok(()),
        };
    }
    if hidden::is(command, script.as_ref()) { Err(PreflightError::Complex) } else { Ok(()) }
}

fn clean(language: Language, path: &str, code: &str) -> Result<(), PreflightError> {
    let found = match language {
        Language::Python => python::variable(code),
        Language::Node => node::variable(code),
    };
    let Some((token, line)) = found else { return Ok(()) };
    let name = token.trim_start_matches('$');
    let (language, instead) = match language {
        Language::Python => ("Python", format!("os.environ.get(\"{name}\")")),
        Language::Node => ("Node", format!("process.env.{name}")),
    };
    let file = path.rsplit('/').next().unwrap_or(path);
    Err(PreflightError::Bleed { file: crate::shown::one_line(file), token, line, language, instead })
}

#[cfg(test)]
mod tests;
