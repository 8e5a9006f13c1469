//! Everything that a command binds: its programs, wrappers, scripts and directories.

use std::path::Path;

use super::Sought;
use super::error::{BindError, Form};
use super::file::{Depth, Pin, Role};
use super::operand::{self, Script};
use crate::approvals::assess::{Assessed, By, Gap, Part};
use crate::approvals::enforce::Enforced;
use crate::approvals::programs::{Lookup, Program};
use crate::paths::hold::hold;
use crate::policy::host_env::{PathRule, names_charset, read_as_judged, set_by_call};
use crate::shell::analyse::{Argument, Unclear};
use crate::shell::inline_eval::program;

/// Builtins of bash and dash: no file stands behind them.
const BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) pins: Vec<Pin>,
    pub(super) sought: Vec<Sought>,
    /// All that runs was found.
    pub(super) complete: bool,
    /// Something else may run too.
    pub(super) open: bool,
}

/// Of a command that somebody is asked about.
pub(super) fn for_approval(
    assessed: &Assessed,
    enforced: Option<&Enforced>,
    env: &[(String, String)],
    lookup: &dyn Lookup,
) -> Result<Found, BindError> {
    if env.iter().any(|(name, _)| matches!(name.as_str(), "BASH_ENV" | "ENV")) {
        let command = assessed.text.clone();
        return Err(BindError::Form { form: Form::StartupEnvironment, command });
    }
    charset(assessed, env)?;
    let complete = enforced.is_some() && assessed.analysis.is_ok();
    let mut collector = Collector { assessed, lookup, depth: Depth::Content, found: Found::default() };
    collector.found.complete = complete;
    for part in &assessed.parts {
        wrappers(&part.argv)?;
        collector.part(part)?;
    }
    collector.rest(enforced)?;
    Ok(collector.found)
}

/// Of a command that is listed.
pub(super) fn for_listed(
    assessed: &Assessed,
    enforced: &Enforced,
    env: &[(String, String)],
    lookup: &dyn Lookup,
) -> Result<Found, BindError> {
    charset(assessed, env)?;
    let mut collector = Collector { assessed, lookup, depth: Depth::Identity, found: Found::default() };
    collector.found.complete = true;
    for part in &assessed.parts {
        assignments(&part.argv)?;
        collector.directory(part);
        if let Some(program) = &part.program {
            collector.program(part, Role::Program, program)?;
        }
        if let Some(script) = &part.script {
            collector.script(&Script { path: script.clone(), real: script.clone() })?;
        }
    }
    collector.rest(Some(enforced))?;
    Ok(collector.found)
}

/// A shell that takes two bytes for one character finds other quotes than were judged.
fn charset(assessed: &Assessed, env: &[(String, String)]) -> Result<(), BindError> {
    let other = |(name, value): &(String, String)| names_charset(name) && !read_as_judged(value);
    if env.iter().any(other) {
        return Err(BindError::Form { form: Form::Charset, command: assessed.text.clone() });
    }
    Ok(())
}

struct Collector<'a> {
    assessed: &'a Assessed,
    lookup: &'a dyn Lookup,
    depth: Depth,
    found: Found,
}

impl Collector<'_> {
    fn part(&mut self, part: &Part) -> Result<(), BindError> {
        self.directory(part);
        for (word, program) in &part.wrappers {
            match program {
                Some(program) => self.word(word, part.dir.as_deref(), Role::Carrier, program)?,
                None if BUILTINS.contains(&word.as_str()) => {}
                None => return Err(BindError::Unresolved { word: word.clone() }),
            }
        }
        // The shell itself does it: no file stands behind it.
        if part.by == By::Builtin {
            return Ok(());
        }
        let clear = !part.effective.is_empty();
        let words = if clear { &part.effective } else { &part.argv };
        let Some(first) = words.first() else {
            self.found.complete = false;
            return Ok(());
        };
        if let By::Nothing(Gap::Unclear(unclear)) = &part.by {
            self.found.complete = false;
            if *unclear == Unclear::Evaluates && matches!(first.text.as_str(), "." | "source") {
                let script = operand::sourced(words, part.dir.as_deref(), self.lookup)?;
                return self.script(&script);
            }
        }
        match &part.program {
            Some(program) => {
                let role = if part.script.is_some() { Role::Carrier } else { Role::Program };
                self.program(part, role, program)?;
            }
            // What the shell would look up for it, if it is that; the rest of it is not known.
            None if !clear => {
                self.found.complete = false;
                let builtin = BUILTINS.contains(&first.text.as_str());
                let program = self.lookup.program(&first.text, part.dir.as_deref());
                if let Some(program) = program.filter(|_| !builtin && !first.expands) {
                    self.word(&first.text, part.dir.as_deref(), Role::Program, &program)?;
                }
            }
            None if BUILTINS.contains(&first.text.as_str()) => {}
            None if part.dir.is_none() && first.text.contains('/') && !first.text.starts_with('/') => {
                return Err(form(Form::AfterCd, words));
            }
            None => return Err(BindError::Unresolved { word: first.text.clone() }),
        }
        self.operands(part, words)
    }

    fn operands(&mut self, part: &Part, words: &[Argument]) -> Result<(), BindError> {
        let found = operand::find(words, part.program.as_ref(), part.dir.as_deref(), self.lookup)?;
        if found.input {
            // What a here-document holds is part of the text.
            if !self.assessed.heredoc {
                return Err(form(Form::Runtime, words));
            }
            self.found.complete = false;
        }
        self.found.open |= found.open;
        found.scripts.iter().try_for_each(|script| self.script(script))?;
        match &part.script {
            Some(script) => self.script(&Script { path: script.clone(), real: script.clone() }),
            None => Ok(()),
        }
    }

    /// A part that runs elsewhere runs in that directory, and in no other of its name.
    fn directory(&mut self, part: &Part) {
        let Some(typed) = part.typed_dir.as_deref().filter(|dir| *dir != self.assessed.cwd) else { return };
        if self.found.pins.iter().any(|pin| pin.role == Role::Directory && pin.path == typed) {
            return;
        }
        // The directory that was judged, by the name that `cd` will be given: a link that leads elsewhere by then is
        // another directory.
        let there = part.dir.as_deref().and_then(|real| hold(real).ok());
        match there.filter(|held| held.identity().is_dir) {
            Some(held) => {
                let pin = Pin::of_dir(typed, held.identity());
                let real = held.path().to_owned();
                self.found.pins.push(Pin { role: Role::Directory, real, ..pin });
            }
            // Something in front may make it.
            None => self.found.complete = false,
        }
    }

    fn program(&mut self, part: &Part, role: Role, program: &Program) -> Result<(), BindError> {
        let words = if part.effective.is_empty() { &part.argv } else { &part.effective };
        match words.first() {
            Some(word) if !part.effective.is_empty() => {
                self.word(&word.text, part.dir.as_deref(), role, program)
            }
            _ => self.pin(role, &program.invoked, &program.real),
        }
    }

    /// A word that is looked up again when the answer has come.
    fn word(
        &mut self,
        word: &str,
        dir: Option<&Path>,
        role: Role,
        program: &Program,
    ) -> Result<(), BindError> {
        let sought = Sought { word: word.to_owned(), dir: dir.map(Path::to_owned), found: program.clone() };
        if !self.found.sought.contains(&sought) {
            self.found.sought.push(sought);
        }
        self.pin(role, &program.invoked, &program.real)
    }

    fn script(&mut self, script: &Script) -> Result<(), BindError> {
        self.pin(Role::Script, &script.path, &script.real)
    }

    /// Each file once; what entries judge stays that.
    fn pin(&mut self, role: Role, path: &Path, real: &Path) -> Result<(), BindError> {
        if let Some(known) = self.found.pins.iter_mut().find(|pin| pin.path == path) {
            if role.judged() {
                known.role = role;
            }
            return Ok(());
        }
        self.found.pins.push(Pin::of_file(role, path, real, self.depth)?);
        Ok(())
    }

    /// Programs that only the rewritten command names: the shell around a text.
    fn rest(&mut self, enforced: Option<&Enforced>) -> Result<(), BindError> {
        let programs = enforced.map(|enforced| enforced.programs.as_slice()).unwrap_or_default();
        programs.iter().try_for_each(|program| self.pin(Role::Carrier, &program.invoked, &program.real))
    }
}

fn form(form: Form, words: &[Argument]) -> BindError {
    BindError::Form { form, command: operand::command(words) }
}

/// What is looked at in front of the program: options of wrappers that change the directory, and assignments.
fn wrappers(argv: &[Argument]) -> Result<(), BindError> {
    assignments(argv)?;
    for (at, word) in argv.iter().enumerate() {
        let moves: fn(&str) -> bool = match program::name(&word.text).as_str() {
            "env" => |option| option.starts_with("-C") || option.starts_with("--chdir"),
            "sudo" => {
                |option| ["-D", "-R", "--chdir", "--chroot"].iter().any(|known| option.starts_with(known))
            }
            _ => continue,
        };
        if own_options(argv, at).any(|option| moves(&option.text)) {
            return Err(form(Form::DispatchCwd, argv));
        }
    }
    Ok(())
}

/// Assignments that `env` and its like carry are judged as those of a call (7.08, 15.24).
fn assignments(argv: &[Argument]) -> Result<(), BindError> {
    let mut names: Vec<String> = Vec::new();
    for (at, word) in argv.iter().enumerate() {
        if !matches!(program::name(&word.text).as_str(), "env" | "sudo" | "doas") {
            continue;
        }
        for assignment in own_options(argv, at).filter(|word| !word.text.starts_with('-')) {
            let Some((name, value)) = assignment.text.split_once('=') else { continue };
            let charset = names_charset(name) && !read_as_judged(value);
            let refused = charset || set_by_call(name, value, PathRule::Refused).is_err();
            if refused && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    if names.is_empty() { Ok(()) } else { Err(BindError::Assignment { names }) }
}

/// Options and assignments behind the wrapper at a place. An option's value that stands apart ends them early only where it
/// has no `=`; so the next word is looked at as well.
fn own_options(argv: &[Argument], at: usize) -> impl Iterator<Item = &Argument> {
    let rest = argv.get(at + 1..).unwrap_or_default();
    let own = |word: &Argument| word.text.starts_with('-') || word.text.contains('=');
    let mut value = false;
    rest.iter().take_while(move |word| {
        let taken = own(word) || value;
        value = matches!(word.text.as_str(), "-u" | "--unset" | "-C" | "--chdir" | "-g" | "-D" | "-p");
        taken
    })
}
