//! A script that may run without being seen (spec `exec.md` §13.3).

use super::target;
use crate::shell::inline_eval::positional;
use crate::shell::parse::{self, Command, Compound, Part, Pipeline, Script, Simple};

/// Shells whose text is looked into.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh", "fish"];
/// How deep shells may stand inside each other.
const MAX_DEPTH: usize = 4;

/// Whether an interpreter gets a script in a way that is not followed.
pub(super) fn is(command: &str, script: Option<&Script>) -> bool {
    match script {
        None => rough(command),
        Some(script) => {
            let mut seen = Seen::default();
            seen.script(script, 0);
            seen.fed || seen.runs && seen.complex
        }
    }
}

#[derive(Default)]
struct Seen {
    /// An interpreter that runs a script stands together with the name of one.
    runs: bool,
    /// More than one command.
    complex: bool,
    /// A process substitution feeds an interpreter.
    fed: bool,
}

impl Seen {
    fn script(&mut self, script: &Script, depth: usize) {
        self.complex |= script.items.len() > 1;
        for item in &script.items {
            self.complex |= !item.rest.is_empty();
            item.pipelines().for_each(|pipeline| self.pipeline(pipeline, depth));
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, depth: usize) {
        self.complex |= pipeline.commands.len() > 1;
        let simple = pipeline.commands.iter().filter_map(|command| match command {
            Command::Simple(simple) => Some(simple),
            _ => None,
        });
        let interprets = simple.clone().any(|simple| self.interprets(simple));
        let named = simple.clone().flat_map(|simple| &simple.words).any(|word| {
            let last = match word.parts.last() {
                Some(Part::Text(text)) => text.as_str(),
                _ => "",
            };
            is_script(last)
        });
        self.runs |= interprets && named;
        for command in &pipeline.commands {
            match command {
                Command::Simple(simple) => self.inside(simple, depth),
                Command::Compound(compound, _) | Command::Function { body: compound, .. } => {
                    self.compound(compound, depth);
                }
            }
        }
    }

    fn interprets(&mut self, simple: &Simple) -> bool {
        let words = target::known(simple);
        let Some((language, arguments)) = target::called(&words) else { return false };
        let process = |part: &Part| matches!(part, Part::Process(_));
        self.fed |= simple.words.iter().any(|word| word.parts.iter().any(process))
            || simple.redirects.iter().any(|redirect| redirect.word().parts.iter().any(process));
        target::runs(language, arguments)
    }

    /// Substitutions in the words, and the text of a shell.
    fn inside(&mut self, simple: &Simple, depth: usize) {
        let values = simple.assignments.iter().map(|assignment| &assignment.value);
        for script in values.chain(&simple.words).flat_map(parse::Word::scripts) {
            self.complex = true;
            self.script(script, depth);
        }
        let words = target::known(simple);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((first, arguments)) = words.split_first() else { return };
        if depth < MAX_DEPTH
            && SHELLS.contains(first)
            && let Some((text, _)) = positional::payload(arguments)
            && let Ok(script) = parse::parse(text)
        {
            self.script(&script, depth + 1);
        }
    }

    fn compound(&mut self, compound: &Compound, depth: usize) {
        self.complex = true;
        match compound {
            Compound::Subshell(script) | Compound::Group(script) => self.script(script, depth),
            Compound::If(scripts) => scripts.iter().for_each(|script| self.script(script, depth)),
            Compound::While(condition, body) => {
                self.script(condition, depth);
                self.script(body, depth);
            }
            Compound::For { body, .. } => self.script(body, depth),
            Compound::Case { branches, .. } => branches.iter().for_each(|(_, body)| self.script(body, depth)),
            Compound::Test(_) => {}
        }
    }
}

fn is_script(word: &str) -> bool {
    target::is_named(word, ".py") || target::is_named(word, ".js")
}

/// A text that cannot be read: by its words.
fn rough(command: &str) -> bool {
    let complex = ["|", "&&", ";", "\n", "$(", "`", "<(", ">("].iter().any(|sign| command.contains(sign));
    let runs = command.split(['\n', ';', '&', '(', ')', '`']).any(|segment| {
        let words: Vec<String> = segment
            .split([' ', '\t', '|'])
            .map(|word| word.trim_matches(['"', '\'']).to_owned())
            .filter(|word| !word.is_empty())
            .collect();
        let interprets = segment.split('|').any(|part| {
            let words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
            target::called(&words).is_some_and(|(language, arguments)| target::runs(language, arguments))
        });
        interprets && words.iter().any(|word| is_script(word))
    });
    complex && runs
}
