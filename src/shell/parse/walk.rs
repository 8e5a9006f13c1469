//! Every command in a tree, wherever it stands.

use super::tree::{Command, Compound, Redirect, RedirectKind, Script, Simple, Word};

impl Script {
    /// Calls `look` with every simple command: in lists, bodies, functions, and in what runs while words are expanded. A
    /// command comes before those in its words.
    pub fn each_simple<'s>(&'s self, look: &mut dyn FnMut(&'s Simple)) {
        for command in
            self.items.iter().flat_map(super::Item::pipelines).flat_map(|pipeline| &pipeline.commands)
        {
            match command {
                Command::Simple(simple) => {
                    look(simple);
                    let values = simple.assignments.iter().map(|assignment| &assignment.value);
                    words(values.chain(&simple.words), look);
                    redirects(&simple.redirects, look);
                }
                Command::Compound(compound, list) => {
                    inside(compound, look);
                    redirects(list, look);
                }
                Command::Function { body, redirects: list, .. } => {
                    inside(body, look);
                    redirects(list, look);
                }
            }
        }
    }
}

fn words<'s>(words: impl Iterator<Item = &'s Word>, look: &mut dyn FnMut(&'s Simple)) {
    for script in words.flat_map(Word::scripts) {
        script.each_simple(look);
    }
}

fn redirects<'s>(redirects: &'s [Redirect], look: &mut dyn FnMut(&'s Simple)) {
    words(redirects.iter().map(Redirect::word), look);
}

fn inside<'s>(compound: &'s Compound, look: &mut dyn FnMut(&'s Simple)) {
    match compound {
        Compound::Subshell(script) | Compound::Group(script) => script.each_simple(look),
        Compound::If(scripts) => scripts.iter().for_each(|script| script.each_simple(look)),
        Compound::While(condition, body) => {
            condition.each_simple(look);
            body.each_simple(look);
        }
        Compound::For { values, body, .. } => {
            words(values.iter().flatten(), look);
            body.each_simple(look);
        }
        Compound::Case { value, branches } => {
            words(std::iter::once(value), look);
            for (patterns, body) in branches {
                words(patterns.iter(), look);
                body.each_simple(look);
            }
        }
        Compound::Test(operands) => words(operands.iter(), look),
    }
}

impl Redirect {
    /// Its word: a file, a descriptor, a body.
    pub fn word(&self) -> &Word {
        match &self.kind {
            RedirectKind::Read(word)
            | RedirectKind::Write(word)
            | RedirectKind::Duplicate(word)
            | RedirectKind::HereString(word)
            | RedirectKind::HereDocument { body: word, .. } => word,
        }
    }
}
