//! Groups and commands of a text, and the directory in which each runs.
//!
//! A `cd` holds for what follows behind `&&`, where it cannot have failed. Behind anything else the directory is not known.

use super::{Argument, Candidate, Dir, Group, Next, Runs, Unclear, runs};
use crate::shell::inline_eval;
use crate::shell::parse::{Command, Item, Link, Pipeline, RedirectKind, Script, Simple};

/// Lists a text; its obstacles have been looked for.
pub(super) fn groups(script: &Script, depth: usize) -> Vec<Group> {
    let mut listed = List { groups: Vec::new(), dir: Dir::Start, depth };
    for item in &script.items {
        listed.item(item);
    }
    listed.groups
}

struct List {
    groups: Vec<Group>,
    dir: Dir,
    depth: usize,
}

impl List {
    fn item(&mut self, item: &Item) {
        let mut moved = self.pipeline(&item.first, Next::Then, false);
        for (link, pipeline) in &item.rest {
            let next = match link {
                Link::And => Next::And,
                Link::Or => Next::Or,
            };
            moved |= self.pipeline(pipeline, next, moved);
        }
        if moved {
            self.dir = Dir::Unknown;
        }
    }

    /// One more pipeline, `next` in front of it; whether the directory may be another one behind it. `moved`: it may be already.
    fn pipeline(&mut self, pipeline: &Pipeline, next: Next, moved: bool) -> bool {
        if let Some(last) = self.groups.last_mut() {
            last.next = Some(next);
        }
        if moved && next == Next::Or {
            self.dir = Dir::Unknown;
        }
        let group = group(pipeline, self.depth, &self.dir);
        let step = step(pipeline, &group);
        self.groups.push(group);
        match step {
            Step::Stays => return false,
            // Behind `||` it may not have run.
            Step::To(path) if next != Next::Or => self.dir = joined(&self.dir, &path),
            Step::To(_) | Step::Lost => self.dir = Dir::Unknown,
        }
        true
    }
}

/// What a pipeline does to the directory of what follows.
enum Step {
    Stays,
    To(String),
    Lost,
}

/// Members of a pipeline run in shells of their own; some shells run the last one themselves.
fn step(pipeline: &Pipeline, group: &Group) -> Step {
    let Some(last) = group.candidates.last() else { return Step::Stays };
    let words = last.argv.get(last.head..).unwrap_or_default();
    let name = words.first().map(|word| word.text.as_str()).unwrap_or_default();
    let changes = matches!(name, "cd" | "chdir" | "pushd" | "popd");
    if !changes {
        let anything = matches!(last.runs, Runs::Unclear(Unclear::Evaluates | Unclear::Environment));
        return if anything { Step::Lost } else { Step::Stays };
    }
    let alone = group.candidates.len() == 1 && !pipeline.negated && !pipeline.timed;
    match words {
        [_, target] if alone && last.runs == Runs::Builtin && plain(target) => Step::To(target.text.clone()),
        _ => Step::Lost,
    }
}

/// A directory that every shell takes for the same.
fn plain(target: &Argument) -> bool {
    let text = target.text.as_str();
    !target.expands && !text.is_empty() && !text.starts_with('-') && !text.split('/').any(|part| part == "..")
}

fn joined(from: &Dir, path: &str) -> Dir {
    match from {
        _ if path.starts_with('/') => Dir::Moved(path.to_owned()),
        Dir::Start => Dir::Moved(path.to_owned()),
        Dir::Moved(base) => Dir::Moved(format!("{}/{path}", base.trim_end_matches('/'))),
        Dir::Unknown => Dir::Unknown,
    }
}

fn group(pipeline: &Pipeline, depth: usize, dir: &Dir) -> Group {
    let simple = pipeline.commands.iter().filter_map(|command| match command {
        Command::Simple(simple) => Some(simple),
        // The obstacles are looked for before.
        Command::Compound(..) | Command::Function { .. } => None,
    });
    let mut candidates: Vec<Candidate> =
        simple.enumerate().map(|(at, simple)| candidate(simple, at > 0, depth, dir)).collect();
    if pipeline.timed
        && let Some(first) = candidates.first_mut()
    {
        timed(first);
    }
    Group { candidates, negated: pipeline.negated, next: None }
}

/// `time` stands in front: a word of the grammar, or a program that runs the rest.
fn timed(first: &mut Candidate) {
    first.wrappers.insert(0, "time".to_owned());
    first.places.insert(0, None);
    if first.argv.first().is_some_and(|word| word.text.starts_with('-')) {
        // Where it is a program, this is its option.
        first.runs = Runs::Unclear(Unclear::Wrapper);
    } else if first.runs == Runs::Builtin {
        // Where it is a program, it runs one of this name.
        first.runs = Runs::Program(first.argv.get(first.head..).unwrap_or_default().to_vec());
    }
}

fn candidate(simple: &Simple, piped: bool, depth: usize, dir: &Dir) -> Candidate {
    let argv: Vec<Argument> = simple
        .words
        .iter()
        .map(|word| Argument {
            text: word.text().unwrap_or_default().to_owned(),
            expands: word.magic.expands(),
            span: word.span,
        })
        .collect();
    let texts: Vec<&str> = argv.iter().map(|argument| argument.text.as_str()).collect();
    let document =
        simple.redirects.iter().any(|redirect| matches!(redirect.kind, RedirectKind::HereDocument { .. }));
    let inline = inline_eval::detect(&texts).map(|hit| hit.descriptor);
    let inline = inline.or_else(|| inline_eval::reads(&texts, piped || document));
    let found = runs::of(&argv, runs::Around { fed: piped || document, depth });
    let runs = if simple.assignments.is_empty() { found.runs } else { Runs::Unclear(Unclear::Environment) };
    Candidate {
        span: simple.span,
        wrappers: found.places.iter().filter_map(|at| argv.get(*at)).map(|word| word.text.clone()).collect(),
        places: found.places.into_iter().map(Some).collect(),
        head: found.head,
        runs,
        inline,
        dir: dir.clone(),
        argv,
    }
}
