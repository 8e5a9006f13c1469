//! What covers one command.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::{By, Gap, Part, Rules};
use crate::approvals::allowlist::Subject;
use crate::approvals::document::Source;
use crate::approvals::programs::{Lookup, Program};
use crate::paths::lexical;
use crate::shell::analyse::{self, Argument, Candidate, Dir, Group, Runs, Unclear};
use crate::shell::inline_eval::positional::SHELLS;
use crate::shell::inline_eval::program;
use crate::shell::parse::Span;

/// Wrappers that are words of the shell itself.
const OF_THE_SHELL: &[&str] = &["builtin", "command", "exec"];

/// Compares commands with the rules.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) cwd: &'a Path,
    pub(super) rules: &'a Rules<'a>,
    pub(super) lookup: &'a dyn Lookup,
}

/// The shell whose text a command stands in.
#[derive(Clone, Copy)]
pub(super) struct Outer<'o> {
    span: Span,
    /// Where the shell runs.
    place: &'o Place,
    /// What stands in front of the text: the shell, and what it was called through.
    wrappers: &'o [(String, Option<Program>)],
}

/// Where a command runs.
struct Place {
    /// As `cd` names it.
    typed: Option<PathBuf>,
    /// The directory itself, every link followed. Nothing else is compared with rules.
    real: Option<PathBuf>,
}

impl Judge<'_> {
    /// Every command, those of a shell's text in place of the shell. A text is followed where the shell is all that runs
    /// (4.13); beside other commands the shell is judged as a whole.
    pub(super) fn groups(&self, groups: &[Group], outer: Option<Outer<'_>>, parts: &mut Vec<Part>) {
        let alone = groups.iter().map(|group| group.candidates.len()).sum::<usize>() == 1 && outer.is_none();
        for candidate in groups.iter().flat_map(|group| &group.candidates) {
            let place = self.place(&candidate.dir, outer);
            match &candidate.runs {
                Runs::Shell(inner) if alone && candidate.wrappers.is_empty() => {
                    self.shell(candidate, inner, &place, parts);
                }
                _ => parts.push(self.part(candidate, outer, &place)),
            }
        }
    }

    /// The directory of a command; a relative one is seen from where its text begins. One that is not there is not known:
    /// something in front may make it, and a link too.
    fn place(&self, dir: &Dir, outer: Option<Outer<'_>>) -> Place {
        let (start, real) = match outer {
            Some(Outer { place, .. }) => (place.typed.as_deref(), place.real.as_deref()),
            None => (Some(self.cwd), Some(self.cwd)),
        };
        match (dir, start) {
            (Dir::Start, _) => Place { typed: start.map(Path::to_owned), real: real.map(Path::to_owned) },
            (Dir::Moved(to), Some(start)) => {
                let typed = lexical::clean(start.join(to));
                Place { real: self.lookup.directory(&typed), typed: Some(typed) }
            }
            (Dir::Moved(_), None) | (Dir::Unknown, _) => Place { typed: None, real: None },
        }
    }

    /// The commands of a shell's text (4.13). The shell runs too: where it may be anybody's program, its text says nothing.
    fn shell(&self, candidate: &Candidate, inner: &[Group], place: &Place, parts: &mut Vec<Part>) {
        let dir = place.real.as_deref();
        let argv = &candidate.argv;
        let called = argv.first().map(|word| word.text.as_str()).unwrap_or_default();
        let program = self.lookup.program(called, dir);
        let trusted = program
            .as_ref()
            .is_some_and(|shell| self.rules.safe.system(shell, self.lookup) && !poses(called, shell));
        if !trusted && let Some(entry) = self.entry(argv, program.as_ref(), dir, true) {
            let part = Part {
                by: By::Entry(entry),
                effective: argv.clone(),
                program,
                ..bare(candidate, None, place)
            };
            return parts.push(part);
        }
        let wrappers = [(called.to_owned(), program)];
        self.groups(inner, Some(Outer { span: candidate.span, place, wrappers: &wrappers }), parts);
    }

    fn wrappers(&self, candidate: &Candidate, dir: Option<&Path>) -> Vec<(String, Option<Program>)> {
        let found = |word: &String| (word.clone(), self.lookup.program(word, dir));
        candidate.wrappers.iter().map(found).collect()
    }

    fn part(&self, candidate: &Candidate, outer: Option<Outer<'_>>, place: &Place) -> Part {
        let mut part = bare(candidate, outer, place);
        part.wrappers = outer.map(|outer| outer.wrappers.to_vec()).unwrap_or_default();
        part.wrappers.extend(self.wrappers(candidate, place.real.as_deref()));
        part.by = match &candidate.runs {
            // Behind a wrapper it is a program of that name.
            Runs::Builtin if candidate.wrappers.is_empty() => By::Builtin,
            Runs::Builtin => By::Nothing(Gap::NoEntry),
            Runs::Program(words) => self.program(words, &mut part),
            // A shell in a shell's text: one level only (4.14).
            Runs::Shell(_) | Runs::Unclear(Unclear::Shell) => self.opaque_shell(candidate, &mut part),
            Runs::Unclear(why) => By::Nothing(Gap::Unclear(*why)),
        };
        if let Some(word) = self.foreign_wrapper(&part).filter(|_| part.by.covers()) {
            part.by = By::Nothing(Gap::Untrusted(word));
        }
        part
    }

    /// A program and its arguments.
    fn program(&self, words: &[Argument], part: &mut Part) -> By {
        part.effective = words.to_vec();
        // A directory is no program, even where everything is listed.
        let Some(first) = words.first().filter(|word| !word.text.ends_with('/')) else {
            return By::Nothing(Gap::NotFound);
        };
        let dir = part.dir.clone();
        let dir = dir.as_deref();
        part.program = self.program_of(first, dir);
        let name = program::name(&first.text);
        let arguments: Vec<String> = words.iter().skip(1).map(|word| word.text.clone()).collect();
        // Without arguments its text is whatever it is fed.
        let is_shell = analyse::is_shell(&name);
        if let Some(why) =
            part.program.as_ref().and_then(file_name).and_then(|file| analyse::hidden(file, words))
        {
            return self.posing(why, words, part);
        }
        if is_shell && !arguments.is_empty() {
            part.script = self.script(words, part.program.as_ref(), dir);
            if let Some(entry) =
                part.script.as_ref().and_then(|script| self.script_entry(script, &arguments, dir))
            {
                return By::Entry(entry);
            }
        }
        if let Some(entry) = self.entry(words, part.program.as_ref(), dir, is_shell) {
            return By::Entry(entry);
        }
        let Some(program) = &part.program else { return By::Nothing(Gap::NotFound) };
        let bare = !first.text.contains(['/', '\\', '~']);
        let literal = words.iter().all(|word| !word.expands);
        if literal && !is_shell && self.rules.safe.covers(program, &arguments) {
            return By::SafeBin;
        }
        let skill = |skill: &Program| skill.name() == program.name() && skill.real == program.real;
        if bare && !is_shell && self.rules.skills.iter().any(skill) {
            return By::Skill;
        }
        By::Nothing(Gap::NoEntry)
    }

    /// A program that is something else than its name says (`x` that leads to a shell): what runs is unclear, but for a shell,
    /// which is covered as any whose text is not followed.
    fn posing(&self, why: Unclear, words: &[Argument], part: &Part) -> By {
        let shell = why == Unclear::Shell && part.wrappers.is_empty();
        let entry = || self.entry(words, part.program.as_ref(), part.dir.as_deref(), true);
        let entry = if shell { entry() } else { None };
        entry.map_or(By::Nothing(Gap::Unclear(why)), By::Entry)
    }

    /// A shell whose text is not followed: by `*`, or by an entry for the shell that looks at its arguments (4.15).
    fn opaque_shell(&self, candidate: &Candidate, part: &mut Part) -> By {
        let words = candidate.argv.get(candidate.head..).unwrap_or_default();
        part.effective = words.to_vec();
        let first = words.first().filter(|word| analyse::is_shell(&program::name(&word.text)));
        part.program = first.and_then(|word| self.program_of(word, part.dir.as_deref()));
        // Behind a wrapper the words may begin elsewhere than it seems, so that only `*` covers them.
        let program = part.program.as_ref().filter(|_| candidate.wrappers.is_empty());
        let entry = self.entry(words, program, part.dir.as_deref(), true);
        entry.map_or(By::Nothing(Gap::Unclear(Unclear::Shell)), By::Entry)
    }

    /// The script that a shell is given and nothing else: the shell must be the system's, called by its name, or whatever is
    /// called like a shell would run what was approved for shells.
    fn script(&self, words: &[Argument], shell: Option<&Program>, dir: Option<&Path>) -> Option<PathBuf> {
        let (called, operand) = (words.first()?, words.get(1)?);
        let shell = shell?;
        let plain = (SHELLS.contains(&called.text.as_str()) || called.text == "fish")
            && self.rules.safe.system(shell, self.lookup)
            && !poses(&called.text, shell);
        if !plain
            || operand.text.starts_with(['-', '+'])
            || operand.expands && !operand.text.starts_with("~/")
        {
            return None;
        }
        // A bare name that is not there is searched in PATH by some shells.
        self.lookup.file(&self.typed(&operand.text, operand.expands), dir)
    }

    fn script_entry(&self, script: &Path, arguments: &[String], dir: Option<&Path>) -> Option<usize> {
        let program = Program { invoked: script.to_owned(), real: script.to_owned() };
        let subject = Subject {
            word: script.to_str()?,
            program: Some(&program),
            arguments: arguments.get(1..).unwrap_or_default(),
            dir,
            shell: false,
        };
        self.allowed(&subject)
    }

    fn allowed(&self, subject: &Subject<'_>) -> Option<usize> {
        self.rules.allow.find_by(subject, &|file| self.lookup.digest(file))
    }

    fn entry(
        &self,
        words: &[Argument],
        program: Option<&Program>,
        dir: Option<&Path>,
        shell: bool,
    ) -> Option<usize> {
        let word = words.first().map(|word| word.text.as_str()).unwrap_or_default();
        let arguments: Vec<String> = words.iter().skip(1).map(|word| word.text.clone()).collect();
        self.allowed(&Subject { word, program, arguments: &arguments, dir, shell })
    }

    /// A wrapper that somebody else may have put there, if one is. It runs, whatever it is.
    fn foreign_wrapper(&self, part: &Part) -> Option<String> {
        let foreign = |(word, program): &&(String, Option<Program>)| match program {
            _ if OF_THE_SHELL.contains(&word.as_str()) => false,
            Some(program) => {
                let listed =
                    Subject { word, program: Some(program), arguments: &[], dir: None, shell: false };
                poses(word, program)
                    || !self.rules.safe.system(program, self.lookup) && self.allowed(&listed).is_none()
            }
            // A word of the shell where it is one, and nothing where it is not.
            None => word != "time",
        };
        part.wrappers.iter().find(foreign).map(|(word, _)| word.clone())
    }

    /// An approval for good covers it.
    pub(super) fn durable(&self, part: &Part) -> bool {
        let always = |at: usize| {
            self.rules.allow.entries().get(at).is_some_and(|entry| entry.source == Source::AllowAlways)
        };
        matches!(part.by, By::Entry(at) if always(at))
    }

    /// The program that a command word means.
    fn program_of(&self, word: &Argument, dir: Option<&Path>) -> Option<Program> {
        self.lookup.program(&self.typed(&word.text, word.expands), dir)
    }

    /// A word as the shell looks it up: with the home directory where it stands for that.
    fn typed<'w>(&self, word: &'w str, expands: bool) -> Cow<'w, str> {
        let home = self.lookup.home().and_then(Path::to_str);
        match (word.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if expands && (rest.is_empty() || rest.starts_with('/')) => {
                Cow::Owned(format!("{home}{rest}"))
            }
            _ => Cow::Borrowed(word),
        }
    }
}

/// The name of a file under which it is something of its own. A file that looks at the name by which it is called is what it is
/// called, unless that is a name of the file as a whole.
pub(super) fn file_name(program: &Program) -> Option<&str> {
    let file = program.real.file_name()?.to_str()?;
    let whole = ["busybox", "toybox", "coreutils"].iter().any(|whole| program.name().starts_with(whole));
    (whole || !program.multi_call()).then_some(file)
}

/// Whether a wrapper or a shell is another program than it is called as.
fn poses(called: &str, program: &Program) -> bool {
    file_name(program).is_some_and(|file| analyse::poses(called, file))
}

fn bare(candidate: &Candidate, outer: Option<Outer<'_>>, place: &Place) -> Part {
    Part {
        span: outer.map_or(candidate.span, |outer| outer.span),
        nested: outer.is_some(),
        argv: candidate.argv.clone(),
        effective: Vec::new(),
        wrappers: Vec::new(),
        program: None,
        script: None,
        dir: place.real.clone(),
        typed_dir: place.typed.clone(),
        by: By::Nothing(Gap::NoEntry),
    }
}
