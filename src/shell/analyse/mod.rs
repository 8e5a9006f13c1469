//! The commands that a text would really run, or *cannot say*: what allowlist and approvals judge (spec `approvals.md`
//! §4, §7). Pure. Unlike `shell::lines` it never guesses: what it lists is everything that runs, with exactly these
//! words, under `bash` and `dash` alike.
//!
//! Modelled: literal words; lists of `;`, line ends, `&&`, `||`, pipelines, `!`, `time`; duplicated descriptors; output
//! to `/dev/null` and input from it; here-documents with a quoted delimiter; the wrappers of §7 with the options listed
//! there; `sh -c` with literal text, one level deep; the builtins that start nothing. Patterns, tilde and braces in
//! arguments are listed as such ([`Argument::expands`]): the shell makes other words of them.
//!
//! Everything else is refused with the first construct in the way ([`Obstacle`]), or, where the command is clear and
//! only what it starts is not, listed as [`Runs::Unclear`]: a person may be asked, no entry covers it.
//!
//! Not modelled yet: `cd` changing where later commands are looked up is left to whoever resolves programs; positional
//! carriers (`sh -c '"$@"' …`), multiplexers and package runners are [`Runs::Unclear`].
//!
//! | file | concern |
//! |---|---|
//! | `wrapper` | programs that run another one, with the options that are understood |
//! | `obstacle` | the first construct that is not modelled |

mod obstacle;
mod wrapper;

use super::inline_eval::{self, positional, program};
use super::parse::{self, Command, Pipeline, RedirectKind, Script, Simple, Span};
pub use obstacle::{Obstacle, Refused};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its text, quotes removed.
    pub text: String,
    /// The shell makes other words of it: a pattern, a tilde, braces.
    pub expands: bool,
    /// Where it stands: in the whole text, or in the text of the shell that it is an argument of.
    pub span: Span,
}

/// Where a command runs, seen from where the text begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Dir {
    /// Where the text begins.
    #[default]
    Start,
    /// There, after `cd` to this literal path.
    Moved(String),
    /// That depends on what runs before.
    Unknown,
}

/// What joins a group to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a line end.
    Then,
}

/// One pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its commands, in order.
    pub candidates: Vec<Candidate>,
    /// What stands in front of the next group.
    pub next: Option<Next>,
}

/// One command of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it stands.
    pub span: Span,
    /// Its words as they are passed on.
    pub argv: Vec<Argument>,
    /// Wrappers that were looked through, outermost first, as they are called: they run too, and must be found where
    /// nobody else writes.
    pub wrappers: Vec<String>,
    /// What it really runs.
    pub runs: Runs,
    /// Code on the command line of an interpreter, as it is told to people (§8).
    pub inline: Option<String>,
    /// Where it runs.
    pub dir: Dir,
}

/// What a command really runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    /// A program, with these words.
    Program(Vec<Argument>),
    /// A builtin that starts nothing and writes nothing (4.12).
    Builtin,
    /// The commands of a shell's text (4.13).
    Shell(Vec<Group>),
    /// Something that no entry covers, and why (4.09).
    Unclear(Unclear),
}

/// Why no entry covers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    /// The shell runs a text that is made or read elsewhere: `eval`, `source`, `.`, `alias`, `trap`.
    Evaluates,
    /// The command's environment is changed: an assignment in front, `export`, `unset`.
    Environment,
    /// A wrapper that changes more than is modelled, or has an option that is not.
    Wrapper,
    /// It starts programs that its arguments name: `find -exec`, `xargs`, package runners, multiplexers.
    Carrier,
    /// A shell with a text that is not followed.
    Shell,
    /// A query: `command -v`.
    Query,
}

/// Whether a name is that of a shell, whether its text is read or not (7.06). In lower case, without directory.
pub fn is_shell(name: &str) -> bool {
    wrapper::is_shell(name)
}

/// Lists what a text would run.
///
/// # Errors
///
/// The first construct that is not modelled.
pub fn analyse(text: &str) -> Result<Vec<Group>, Refused> {
    let script = parse::parse(text).map_err(|refusal| Refused::unread(text, refusal))?;
    if let Some(refused) = obstacle::first(text, &script) {
        return Err(refused);
    }
    let groups = groups(&script, 0);
    let runs = groups.iter().any(|group| !group.candidates.is_empty());
    if runs { Ok(groups) } else { Err(Refused { obstacle: Obstacle::Nothing, span: Span::default() }) }
}

fn groups(script: &Script, depth: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for item in &script.items {
        if let Some(last) = groups.last_mut() {
            last.next = Some(Next::Then);
        }
        groups.push(group(&item.first, depth));
        for (link, pipeline) in &item.rest {
            if let Some(last) = groups.last_mut() {
                last.next = Some(match link {
                    parse::Link::And => Next::And,
                    parse::Link::Or => Next::Or,
                });
            }
            groups.push(group(pipeline, depth));
        }
    }
    groups
}

fn group(pipeline: &Pipeline, depth: usize) -> Group {
    let simple = pipeline.commands.iter().filter_map(|command| match command {
        Command::Simple(simple) => Some(simple),
        // The obstacles are looked for before.
        Command::Compound(..) | Command::Function { .. } => None,
    });
    let mut candidates: Vec<Candidate> = simple.map(|simple| candidate(simple, depth)).collect();
    if pipeline.timed
        && let Some(first) = candidates.first_mut()
    {
        first.wrappers.insert(0, "time".to_owned());
        // Where it is a program, this is its option.
        if first.argv.first().is_some_and(|word| word.text.starts_with('-')) {
            first.runs = Runs::Unclear(Unclear::Wrapper);
        }
    }
    Group { candidates, next: None }
}

fn candidate(simple: &Simple, depth: usize) -> Candidate {
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
    let inline = inline_eval::detect(&texts).map(|hit| hit.descriptor);
    let mut wrappers = Vec::new();
    let input =
        simple.redirects.iter().any(|redirect| matches!(redirect.kind, RedirectKind::HereDocument { .. }));
    let runs = if simple.assignments.is_empty() {
        runs(&argv, &mut wrappers, input, depth)
    } else {
        Runs::Unclear(Unclear::Environment)
    };
    Candidate { span: simple.span, argv, wrappers, runs, inline, dir: Dir::Start }
}

/// Programs that start what their arguments name, and change what that is.
const CARRIERS: &[&str] = &[
    "xargs", "parallel", "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bunx", "bun", "busybox", "toybox",
    "script", "entr", "ssh",
];
/// Builtins of bash or dash that run a text or a program of their arguments.
const EVALUATES: &[&str] = &[
    "eval", "source", ".", "alias", "unalias", "trap", "fc", "bind", "complete", "compgen", "compopt",
    "jobs", "history",
];
/// Builtins of bash or dash that change what later commands are or get.
const CHANGES: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "unset",
    "set",
    "shopt",
    "hash",
    "enable",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "umask",
    "ulimit",
    "cd",
    "pushd",
    "popd",
];

fn runs(argv: &[Argument], wrappers: &mut Vec<String>, input: bool, depth: usize) -> Runs {
    let Some(first) = argv.first() else { return Runs::Unclear(Unclear::Environment) };
    let words: Vec<&str> = argv.iter().map(|argument| argument.text.as_str()).collect();
    let arguments = words.get(1..).unwrap_or_default();
    if wrappers.iter().all(|wrapper| matches!(wrapper.as_str(), "command" | "builtin"))
        && let Some(runs) = builtin(&first.text, arguments)
    {
        return runs;
    }
    let name = program::name(&first.text);
    match wrapper::inner(&name, &first.text, argv) {
        wrapper::Inner::At(at) if wrappers.len() < wrapper::MAX_DEPTH => {
            wrappers.push(first.text.clone());
            return runs(argv.get(at..).unwrap_or_default(), wrappers, input, depth);
        }
        wrapper::Inner::At(_) | wrapper::Inner::Blocked => return Runs::Unclear(Unclear::Wrapper),
        wrapper::Inner::Query => return Runs::Unclear(Unclear::Query),
        wrapper::Inner::None => {}
    }
    if CARRIERS.contains(&name.as_str()) || name == "find" && inline_eval::detect(&words).is_some() {
        return Runs::Unclear(Unclear::Carrier);
    }
    if wrapper::is_shell(&name) && (arguments.iter().any(|word| word.starts_with(['-', '+'])) || input) {
        return shell(&first.text, arguments, wrappers, depth);
    }
    Runs::Program(argv.to_vec())
}

/// What a builtin does; nothing for a command that is none, and for those that are like programs.
fn builtin(name: &str, arguments: &[&str]) -> Option<Runs> {
    // The index of a variable is evaluated, and with it what stands in there.
    let index = |word: &&str| word.contains('[') && word.contains(['$', '`']);
    let evaluates = Some(Runs::Unclear(Unclear::Evaluates));
    match name {
        // One operand, and no variable to go by.
        "cd" if arguments.len() <= 1 => Some(Runs::Builtin),
        "test" | "[" | "printf" | "wait" if arguments.iter().any(index) => evaluates,
        ":" | "true" | "false" | "pwd" | "test" | "[" => Some(Runs::Builtin),
        "printf" if arguments.first().is_some_and(|word| word.starts_with("-v")) => {
            Some(Runs::Unclear(Unclear::Environment))
        }
        name if EVALUATES.contains(&name) => evaluates,
        name if CHANGES.contains(&name) => Some(Runs::Unclear(Unclear::Environment)),
        _ => None,
    }
}

/// The commands of a shell's text: of a shell that is called by its name and gets `-c` and nothing that makes it read other
/// files first.
fn shell(called: &str, arguments: &[&str], wrappers: &[String], depth: usize) -> Runs {
    let unclear = Runs::Unclear(Unclear::Shell);
    let options = arguments.iter().take_while(|word| word.starts_with(['-', '+']));
    let known = |option: &&str| matches!(*option, "-c" | "-ec" | "-ce" | "--norc" | "--noprofile");
    let plain = positional::SHELLS.contains(&called) && wrappers.is_empty() && depth == 0;
    if !plain || !options.into_iter().all(known) {
        return unclear;
    }
    match positional::payload(arguments) {
        Some((text, [])) => match parse::parse(text) {
            Ok(script) if obstacle::first(text, &script).is_none() => {
                let groups = groups(&script, depth + 1);
                let bare = groups.iter().flat_map(|group| &group.candidates).all(|candidate| {
                    candidate
                        .argv
                        .first()
                        .is_some_and(|word| !word.text.contains('/') && !word.text.ends_with("-wrapper"))
                });
                if bare && !groups.is_empty() { Runs::Shell(groups) } else { unclear }
            }
            _ => unclear,
        },
        _ => unclear,
    }
}

#[cfg(test)]
mod tests;
