//! What an approval binds (spec `approvals.md` §11): directory, programs and script by identity, content where somebody who
//! runs here could change it; looked at again after the decision and at the spawn.
//!
//! An approval is about one command as it stands now. Minutes can pass before the answer, and everything that a text names
//! can be another thing by then: what was bound is compared again when the answer has come, and by the supervisor right
//! before the program starts.
//!
//! | file | concern |
//! |---|---|
//! | `error` | why a command cannot be bound, and what has changed since |
//! | `file` | one file or directory: identity, content, who can change it |
//! | `operand` | the file that a shell or an interpreter is given to run |
//! | `runtimes` | interpreters and their options |
//! | `collect` | everything that a command binds |

mod collect;
mod error;
mod file;
mod operand;
mod runtimes;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use error::BindError;
pub use file::{Pin, Role, content_digest};
use sha2::{Digest as _, Sha256};

use super::assess::Assessed;
use super::document::Entry;
use super::enforce::Enforced;
use super::permit::{Command, Names};
use super::policy::Target;
use super::programs::{Lookup, Program};
use crate::paths::hold::{HeldSource, hold};

/// How much of what runs was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// One program, started without a shell from the file that was bound.
    Command,
    /// A text whose programs were all found and bound. What the shell starts is looked up by path when it comes to it.
    Programs,
    /// The text, the directory and the environment: what the text starts is not known, or not all of it. Good for one run.
    TextOnly,
}

/// What was bound. Kept in memory only: whoever restarts has bound nothing.
#[derive(Debug)]
pub struct Binding {
    command: Command,
    arg0: Option<String>,
    cwd: HeldSource,
    env: Env,
    covers: Covers,
    pins: Vec<Pin>,
    /// Which words were looked up, where, and what they meant then.
    sought: Vec<Sought>,
    /// Something beside the bound files may be run too: no approval for good.
    open: bool,
    digest: String,
}

/// Variables whose values do not show.
#[derive(Clone, PartialEq, Eq)]
struct Env(Vec<(String, String)>);

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Names(&self.0).fmt(f)
    }
}

/// A word that was looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Sought {
    word: String,
    dir: Option<PathBuf>,
    found: Program,
}

/// What was bound, for people and for `explain`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    /// How much of what runs was bound.
    pub covers: Covers,
    /// The directory.
    pub cwd: String,
    /// Names of the call's variables, sorted.
    pub env_keys: Vec<String>,
    /// Files and directories.
    pub files: Vec<DescribedFile>,
    /// Something that was bound can be changed by whoever runs here.
    pub mutable: bool,
    /// Hex SHA-256 over everything that was bound.
    pub digest: String,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedFile {
    /// What it is to the command.
    pub role: Role,
    /// Its path as it is called.
    pub path: String,
    /// The file itself, where links are followed to it.
    pub real: String,
    /// It can be changed by whoever runs here.
    pub mutable: bool,
    /// Hex SHA-256 of its content, where that was bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Binds a command that somebody is about to be asked about: identities, and the content of what can be changed here.
///
/// Without `enforced` the text stays as it is; what of it is known is bound, and [`Binding::covers`] says how much.
///
/// # Errors
///
/// Forms about which an approval would claim what nobody knows (11.4), a program that is not there, and a directory that is
/// another one already.
pub fn bind(
    assessed: &Assessed,
    enforced: Option<&Enforced>,
    cwd: &HeldSource,
    env: &[(String, String)],
    lookup: &dyn Lookup,
) -> Result<Binding, BindError> {
    let found = collect::for_approval(assessed, enforced, env, lookup)?;
    Binding::of(assessed, enforced, cwd, env, found)
}

/// Pins a command that runs without a question because all of it is listed: identities only, as only a moment passes.
///
/// # Errors
///
/// A file that is not there any more, and assignments that no call may make.
pub fn pin(
    assessed: &Assessed,
    enforced: &Enforced,
    cwd: &HeldSource,
    env: &[(String, String)],
    lookup: &dyn Lookup,
) -> Result<Binding, BindError> {
    let found = collect::for_listed(assessed, enforced, env, lookup)?;
    Binding::of(assessed, Some(enforced), cwd, env, found)
}

impl Binding {
    fn of(
        assessed: &Assessed,
        enforced: Option<&Enforced>,
        cwd: &HeldSource,
        env: &[(String, String)],
        found: collect::Found,
    ) -> Result<Self, BindError> {
        // Held again, so that the inode lives as long as the binding does.
        let again = hold(cwd.path()).map_err(|_| BindError::Cwd)?;
        if !cwd.same(again.identity()) || !again.identity().is_dir {
            return Err(BindError::Cwd);
        }
        let (command, arg0) = match enforced {
            Some(enforced) => (enforced.command.clone(), enforced.arg0.clone()),
            None => (Command::Shell(assessed.text.clone()), None),
        };
        let covers = match (&command, found.complete) {
            (_, false) => Covers::TextOnly,
            (Command::Argv(_), true) => Covers::Command,
            (Command::Shell(_), true) => Covers::Programs,
        };
        let mut env = env.to_vec();
        env.sort();
        let (pins, sought, open) = (found.pins, found.sought, found.open);
        let digest = String::new();
        let mut binding =
            Self { command, arg0, cwd: again, env: Env(env), covers, pins, sought, open, digest };
        binding.digest = binding.sum(&assessed.text);
        Ok(binding)
    }

    /// Whether everything still is what was bound. `lookup` must look again and remember nothing.
    ///
    /// # Errors
    ///
    /// What has changed (11.01, 11.04, 11.06).
    pub fn verify(&self, lookup: &dyn Lookup) -> Result<(), BindError> {
        if !self.cwd.still_there() {
            return Err(BindError::Cwd);
        }
        for sought in &self.sought {
            if lookup.program(&sought.word, sought.dir.as_deref()).as_ref() != Some(&sought.found) {
                return Err(BindError::Executable { path: sought.found.invoked.clone() });
            }
        }
        self.pins.iter().try_for_each(Pin::verify)
    }

    /// Something that was bound can be changed by whoever runs here (11.10).
    pub fn mutable(&self) -> bool {
        self.pins.iter().any(|pin| pin.mutable)
    }

    /// How much of what runs was bound.
    pub fn covers(&self) -> Covers {
        self.covers
    }

    /// What "always" may write: the entries, with the content of programs that can be changed here. `None` where something
    /// that can be changed is run that no entry names, or where not all was bound: then no approval for good is offered.
    pub fn seal(&self, entries: &[Entry]) -> Option<Vec<Entry>> {
        if self.covers == Covers::TextOnly || self.open || entries.is_empty() {
            return None;
        }
        // A multi-call binary is named by the link that was called.
        let names = |entry: &Entry, pin: &Pin| {
            [&pin.real, &pin.path].iter().any(|path| path.to_str() == Some(entry.pattern.as_str()))
        };
        let changing = self.pins.iter().filter(|pin| pin.mutable && pin.role.judged());
        let mut sealed = entries.to_vec();
        for pin in changing {
            let digest = pin.sha256.map(|sum| crate::state::hex(&sum))?;
            let mut named = false;
            for entry in sealed.iter_mut().filter(|entry| names(entry, pin)) {
                named = true;
                entry.content_sha256 = Some(digest.clone());
            }
            if !named {
                return None;
            }
        }
        Some(sealed)
    }

    /// What is run: argv from the bound file, or text.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// What the program is called by, where that is not its path.
    pub(super) fn arg0(&self) -> Option<&str> {
        self.arg0.as_deref()
    }

    /// The directory.
    pub fn cwd(&self) -> &Path {
        self.cwd.path()
    }

    /// The call's variables, sorted.
    pub(super) fn env(&self) -> &[(String, String)] {
        &self.env.0
    }

    /// Files and directories; the working directory first.
    pub(super) fn pins(&self) -> Vec<Pin> {
        let cwd = Pin::of_dir(self.cwd.path(), self.cwd.identity());
        std::iter::once(cwd).chain(self.pins.iter().cloned()).collect()
    }

    /// Hex SHA-256 over text, command, directory, environment, files and what words mean.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The digest of a question about it: the same command for somebody else is another question.
    pub fn question(&self, host: Target, agent: &str, session: &str) -> String {
        let mut sum = Sum::default();
        for part in ["question", super::host_permit::word(host), agent, session, &self.digest] {
            sum.part(part.as_bytes());
        }
        sum.hex()
    }

    /// What was bound, as data.
    pub fn describe(&self) -> Described {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let file = |pin: &Pin| DescribedFile {
            role: pin.role,
            path: text(&pin.path),
            real: text(&pin.real),
            mutable: pin.mutable,
            sha256: pin.sha256.map(|sum| crate::state::hex(&sum)),
        };
        let mut env_keys: Vec<String> = self.env.0.iter().map(|(name, _)| name.clone()).collect();
        env_keys.dedup();
        Described {
            covers: self.covers,
            cwd: text(self.cwd.path()),
            env_keys,
            files: self.pins.iter().map(file).collect(),
            mutable: self.mutable(),
            digest: self.digest.clone(),
        }
    }

    fn sum(&self, text: &str) -> String {
        let mut sum = Sum::default();
        sum.part(text.as_bytes());
        sum.command(&self.command, self.arg0.as_deref());
        sum.number(self.env.0.len() as u64);
        for (name, value) in &self.env.0 {
            sum.part(name.as_bytes());
            sum.part(value.as_bytes());
        }
        sum.pins(&self.pins());
        for sought in &self.sought {
            sum.part(sought.word.as_bytes());
            sum.path(sought.dir.as_deref().unwrap_or(Path::new("")));
            sum.path(&sought.found.invoked);
        }
        sum.hex()
    }
}

/// A digest of parts, each preceded by its length, so that no border can be moved.
#[derive(Default)]
pub(super) struct Sum(Sha256);

impl Sum {
    pub(super) fn part(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn path(&mut self, path: &Path) {
        self.part(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
    }

    fn command(&mut self, command: &Command, arg0: Option<&str>) {
        match command {
            Command::Shell(text) => {
                self.part(b"shell");
                self.part(text.as_bytes());
            }
            Command::Argv(argv) => {
                self.part(b"argv");
                self.number(argv.len() as u64);
                for argument in argv {
                    self.part(argument.as_bytes());
                }
            }
        }
        self.part(arg0.unwrap_or("\0").as_bytes());
    }

    pub(super) fn pins(&mut self, pins: &[Pin]) {
        self.number(pins.len() as u64);
        for pin in pins {
            self.part(pin.role.word().as_bytes());
            self.path(&pin.path);
            self.path(&pin.real);
            for number in pin.numbers() {
                self.number(number);
            }
            self.part(pin.sha256.as_ref().map_or(&[], |sum| sum.as_slice()));
        }
    }

    pub(super) fn hex(self) -> String {
        crate::state::hex(&self.0.finalize())
    }
}
