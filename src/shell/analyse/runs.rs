//! What one command really runs: wrappers looked through, shells read.

use super::{Argument, Runs, Unclear, builtin, carried, list, obstacle, wrapper};
use crate::shell::inline_eval::{self, positional, program};
use crate::shell::parse;

/// What stands around a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    /// Something is written to its standard input: a document, or what another command prints.
    pub fed: bool,
    /// In how many shells' texts it stands.
    pub depth: usize,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    pub runs: Runs,
    /// Places of the wrappers that were looked through.
    pub places: Vec<usize>,
    /// Where the words begin that are judged.
    pub head: usize,
}

/// Looks through the wrappers of a command.
pub(super) fn of(argv: &[Argument], around: Around) -> Found {
    let mut look = Look { argv, around, places: Vec::new(), head: 0 };
    let runs = look.runs();
    Found { runs, places: look.places, head: look.head }
}

struct Look<'a> {
    argv: &'a [Argument],
    around: Around,
    places: Vec<usize>,
    head: usize,
}

impl<'a> Look<'a> {
    fn words(&self) -> &'a [Argument] {
        self.argv.get(self.head..).unwrap_or_default()
    }

    fn runs(&mut self) -> Runs {
        loop {
            let words = self.words();
            let Some(first) = words.first() else { return Runs::Unclear(Unclear::Environment) };
            if self.builtins()
                && let Some(runs) = builtin::of(words)
            {
                return runs;
            }
            let name = program::name(&first.text);
            match wrapper::inner(&name, &first.text, words) {
                wrapper::Inner::At(at) if self.places.len() < wrapper::MAX_DEPTH => {
                    self.places.push(self.head);
                    self.head += at;
                }
                wrapper::Inner::At(_) | wrapper::Inner::Blocked => return Runs::Unclear(Unclear::Wrapper),
                wrapper::Inner::Query => {
                    let names = words.get(2..).unwrap_or_default();
                    // Behind a program it is one of that name, if there is one.
                    let asks = self.builtins() && !names.is_empty() && names.iter().all(builtin::name_of);
                    return if asks { Runs::Builtin } else { Runs::Unclear(Unclear::Query) };
                }
                wrapper::Inner::None => return self.program(&name, &first.text),
            }
        }
    }

    /// Whether the shell's own words are still obeyed: behind a program they are not.
    fn builtins(&self) -> bool {
        self.places.iter().all(|at| self.argv.get(*at).is_some_and(|word| word.text == "command"))
    }

    /// No wrapper is left.
    fn program(&mut self, name: &str, called: &str) -> Runs {
        let words = self.words();
        if wrapper::starts_others(name, words) {
            return Runs::Unclear(Unclear::Carrier);
        }
        if wrapper::is_shell(name) {
            return self.shell(called);
        }
        Runs::Program(words.to_vec())
    }

    /// A shell: with a text, with a script, or with what it is fed.
    fn shell(&mut self, called: &str) -> Runs {
        let arguments = self.words().get(1..).unwrap_or_default();
        let unclear = Runs::Unclear(Unclear::Shell);
        let known = positional::SHELLS.contains(&called) || called == "fish";
        match arguments.first().map(|word| word.text.as_str()) {
            Some(option) if option.starts_with(['-', '+']) => {
                let plain =
                    positional::SHELLS.contains(&called) && self.places.is_empty() && self.around.depth == 0;
                if plain { self.text() } else { unclear }
            }
            // What a device holds is no script that could be looked at.
            Some(script) if !known || ["/dev/", "/proc/"].iter().any(|place| script.starts_with(place)) => {
                unclear
            }
            None if self.around.fed => unclear,
            Some(_) | None => Runs::Program(self.words().to_vec()),
        }
    }

    /// The commands of a shell's text: of a shell that is called by its name and gets `-c` and nothing that makes it read
    /// other files first.
    fn text(&mut self) -> Runs {
        let unclear = Runs::Unclear(Unclear::Shell);
        let arguments = self.words().get(1..).unwrap_or_default();
        let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        let mut options = words.iter().take_while(|word| word.starts_with(['-', '+']));
        if !options.all(|option| matches!(*option, "-c" | "-ec" | "-ce" | "--norc" | "--noprofile")) {
            return unclear;
        }
        let Some((text, rest)) = positional::payload(&words) else { return unclear };
        let at = words.len() - rest.len();
        if arguments.get(..at).unwrap_or_default().iter().any(|word| word.expands) {
            return unclear;
        }
        let Ok(script) = parse::parse(text) else { return unclear };
        if !rest.is_empty() {
            let Some(words) = carried::words(text, &script, self.argv.get(at + 1..).unwrap_or_default())
            else {
                return unclear;
            };
            self.places.push(self.head);
            self.head = at + 1;
            return Runs::Program(words);
        }
        if obstacle::first(text, &script).is_some() {
            return unclear;
        }
        let groups = list::groups(&script, self.around.depth + 1);
        let bare = groups.iter().flat_map(|group| &group.candidates).all(|candidate| {
            let word = candidate.argv.first();
            word.is_some_and(|word| !word.text.contains('/') && !word.text.ends_with("-wrapper"))
        });
        if bare && !groups.is_empty() { Runs::Shell(groups) } else { unclear }
    }
}

/// Whether code stands in the arguments of `find`, whatever it is called.
pub(super) fn code_of(words: &[Argument]) -> bool {
    let arguments = words.iter().skip(1).map(|word| word.text.as_str());
    let words: Vec<&str> = std::iter::once("find").chain(arguments).collect();
    inline_eval::detect(&words).is_some()
}
