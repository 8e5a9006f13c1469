//! Why a command cannot be bound, and what has changed since it was.

use std::path::PathBuf;

use crate::error::{Diagnose, Report};
use crate::shown::one_line;

/// Why a command cannot be bound (11.4), or is not any more what was bound (drift). Nothing ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The working directory is another one.
    #[error("SYSTEM_RUN_DENIED: approval cwd changed before execution")]
    Cwd,
    /// A program is another file, has another content, or its name means another program.
    #[error("SYSTEM_RUN_DENIED: approval executable changed before execution: {}", shown(.path))]
    Executable {
        /// The program as it is called.
        path: PathBuf,
    },
    /// A script has another content, or is another file.
    #[error("SYSTEM_RUN_DENIED: approval script operand changed before execution: {}", shown(.path))]
    Script {
        /// The script.
        path: PathBuf,
    },
    /// A program that is not there cannot be bound (11.05).
    #[error("SYSTEM_RUN_DENIED: approval requires a resolved executable, and {word:?} is not found")]
    Unresolved {
        /// The command word.
        word: String,
    },
    /// An interpreter is given a file that is not there (11.07).
    #[error("SYSTEM_RUN_DENIED: approval requires an existing script operand, and {operand:?} is none")]
    NoScript {
        /// The operand.
        operand: String,
    },
    /// A form that loads code which no argument names (11.4).
    #[error("SYSTEM_RUN_DENIED: approval cannot safely bind {}", .form.words())]
    Form {
        /// The form.
        form: Form,
        /// The command that has it.
        command: String,
    },
    /// A variable in front of a wrapped program that no call may set (7.08, 15.24).
    #[error("SYSTEM_RUN_DENIED: command env assignment rejected (blocked env assignment keys: {})", .names.join(", "))]
    Assignment {
        /// The names.
        names: Vec<String>,
    },
    /// A file cannot be looked at, so that nobody could say later whether it is the same.
    #[error("SYSTEM_RUN_DENIED: approval cannot read {}: {reason}", shown(.path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
}

/// A form that is never asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A relative name after a change of directory that cannot be followed.
    AfterCd,
    /// `source`, `.` with anything but one file by its path.
    Source,
    /// A shell that reads commands from elsewhere first.
    StartupFiles,
    /// `BASH_ENV`, `ENV` in effect.
    StartupEnvironment,
    /// A locale in whose character set a shell would read another text.
    Charset,
    /// A wrapper that changes the directory.
    DispatchCwd,
    /// A runtime that is told to load more code, or to go elsewhere.
    RuntimeOptions,
    /// An interpreter that is not given exactly one file.
    Runtime,
}

impl Form {
    const fn words(self) -> &'static str {
        match self {
            Self::AfterCd => "commands after cwd changes",
            Self::Source => "shell source operands",
            Self::StartupFiles => "shell startup files",
            Self::StartupEnvironment => "shell startup environment",
            Self::Charset => "text in another character set",
            Self::DispatchCwd => "dispatch cwd options",
            Self::RuntimeOptions => "runtime code-loading or cwd options",
            Self::Runtime => "this interpreter/runtime command",
        }
    }

    const fn fix(self) -> &'static str {
        match self {
            Self::AfterCd => {
                "pass the directory as workdir of the call, or name the program by its absolute path"
            }
            Self::Source => "name one existing file by its path, or put its commands into the call",
            Self::StartupFiles => "call the shell as sh -c '…', or with one script file",
            Self::StartupEnvironment => "leave BASH_ENV and ENV out of the call",
            Self::Charset => "leave LC_ALL, LC_CTYPE and LANG out of the call, or name a UTF-8 locale",
            Self::DispatchCwd => "pass the directory as workdir of the call",
            Self::RuntimeOptions => {
                "leave the option out, or put an entry for the command into the allowlist"
            }
            Self::Runtime => {
                "name exactly one existing script file, or put an entry for the command into the allowlist"
            }
        }
    }
}

fn shown(path: &std::path::Path) -> String {
    one_line(&path.display().to_string())
}

impl Diagnose for BindError {
    fn report(&self) -> Report {
        let again = "ask again: the new approval binds what is there now";
        let (code, rule, fix) = match self {
            Self::Cwd => ("CRL-PIN-001", "the directory of an approval", again),
            Self::Executable { .. } => ("CRL-PIN-002", "the programs of an approval", again),
            Self::Script { .. } => ("CRL-PIN-003", "the script of an approval", again),
            Self::Unresolved { .. } => (
                "CRL-PIN-004",
                "the programs of an approval",
                "check its spelling, install it, or have the operator add its directory to tools.exec.pathPrepend",
            ),
            Self::NoScript { .. } => {
                ("CRL-PIN-005", "the script of an approval", "write the file first, then ask")
            }
            Self::Form { form, .. } => ("CRL-PIN-006", "forms that no approval can bind", form.fix()),
            Self::Assignment { .. } => {
                ("CRL-PIN-007", "variables that make programs run other code", "leave the assignment out")
            }
            Self::Unreadable { .. } => {
                ("CRL-PIN-008", "the files of an approval", "make the file readable for this user")
            }
        };
        let message = match self {
            Self::Form { command, .. } => format!("{self}: {}", one_line(command)),
            _ => self.to_string(),
        };
        Report { code, message, rule: Some(format!("built-in: {rule}")), fix: fix.to_owned() }
    }
}
