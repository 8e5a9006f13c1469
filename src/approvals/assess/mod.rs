//! What covers each command of a text (spec `approvals.md` §4 to §6, §8). Pure: files are looked at through [`Lookup`].
//!
//! | file | concern |
//! |---|---|
//! | `denying` | entries that deny |
//! | `judge` | what covers one command |
//! | `starters` | programs that start what their arguments name |
//! | `suppress` | commands that change what the audit tells |

mod denying;
mod judge;
mod starters;
mod suppress;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::allowlist::Allowlist;
use super::policy::Facts;
use super::programs::{Lookup, Program};
use super::safe_bins::SafeBins;
use crate::policy::host_env;
use crate::shell::analyse::{self, Argument, Group, Refused, Runs, Unclear, Visible};
use crate::shell::inline_eval;
use crate::shell::parse::{self, Redirect, RedirectKind, Span};
use judge::Judge;

/// What commands are compared with.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Entries that allow: those of the document, then grants that still hold.
    pub allow: &'a Allowlist,
    /// Entries that deny (extension): looked at first, and whatever the mode.
    pub deny: &'a Allowlist,
    /// Programs that only filter.
    pub safe: &'a SafeBins,
    /// Programs of skills, by name and real path; only where they count as listed (§12).
    pub skills: &'a [Program],
    /// `strictInlineEval`.
    pub strict_inline: bool,
}

/// What is known of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessed {
    /// The text.
    pub text: String,
    /// Where it begins.
    pub cwd: PathBuf,
    /// Its commands, or why nothing is said about them.
    pub analysis: Result<Vec<Group>, Refused>,
    /// Each command, those of a shell's text in place of the shell; empty where nothing is said.
    pub parts: Vec<Part>,
    /// Code in an argument of an interpreter, as it is told to people; the first.
    pub inline: Option<String>,
    /// It changes which findings of the audit are suppressed (17.07).
    pub suppresses: bool,
    /// A word that begins a here-document stands in it (10.03).
    pub heredoc: bool,
    /// An entry that denies.
    pub denied: Option<DeniedBy>,
    /// There are entries that deny, and a part of what runs cannot be compared with them.
    pub unseen: bool,
    /// The rule of `strictInlineEval` that it was judged under.
    pub strict_inline: bool,
    /// Variables of the call about which no entry says anything ([`Self::called_with`]).
    pub sets: Vec<String>,
    /// Every part is covered.
    pub satisfied: bool,
    /// Every part is covered by an approval for good.
    pub durable: bool,
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Where it stands in the text; of a shell's text, where the shell's command stands.
    pub span: Span,
    /// It is a command of a shell's text: which command of the payload, else `None`.
    pub nested: bool,
    /// Its words as typed, wrappers included.
    pub argv: Vec<Argument>,
    /// Its words after wrappers were looked through; empty where that is unclear.
    pub effective: Vec<Argument>,
    /// Wrappers that were looked through, outermost first, and what they mean: in front of a command of a shell's text the
    /// shell itself.
    pub wrappers: Vec<(String, Option<Program>)>,
    /// The program, where one was found.
    pub program: Option<Program>,
    /// The script that it runs, where that is what is judged (4.16).
    pub script: Option<PathBuf>,
    /// The directory in which it runs, every link followed; `None` where that is not known.
    pub dir: Option<PathBuf>,
    /// The same as the text names it, links as they are.
    pub typed_dir: Option<PathBuf>,
    /// What covers it.
    pub by: By,
}

/// What covers a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The entry at this place of [`Rules::allow`].
    Entry(usize),
    /// It only filters its input.
    SafeBin,
    /// A builtin that starts nothing.
    Builtin,
    /// A program of a skill.
    Skill,
    /// Nothing.
    Nothing(Gap),
}

impl By {
    /// Whether it is covered.
    pub const fn covers(&self) -> bool {
        !matches!(self, Self::Nothing(_))
    }
}

/// Why nothing covers a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// The program was not found.
    NotFound,
    /// No entry matches.
    NoEntry,
    /// What it really runs is unclear; no entry covers that (4.09).
    Unclear(Unclear),
    /// A wrapper or shell in front of it was not found where only the system's programs are.
    Untrusted(String),
}

/// An entry that denies, and the command that it denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedBy {
    /// Its place in [`Rules::deny`]; `None` where the text is more than can be compared with such entries.
    pub entry: Option<usize>,
    /// Its pattern; empty without an entry.
    pub pattern: String,
    /// The command.
    pub command: String,
}

/// Judges a text that begins in `cwd`, which must be absolute and free of links.
pub fn assess(text: &str, cwd: &Path, rules: &Rules<'_>, lookup: &dyn Lookup) -> Assessed {
    let analysis = analyse::analyse(text);
    let groups = analysis.as_deref().unwrap_or_default();
    let judge = Judge { cwd, rules, lookup };
    let mut parts = Vec::new();
    judge.groups(groups, None, &mut parts);
    let satisfied = analysis.is_ok() && !parts.is_empty() && parts.iter().all(|part| part.by.covers());
    let durable = rules.allow.marker(text).is_some()
        || satisfied
            && parts.iter().all(|part| judge.durable(part))
            && parts.iter().any(|part| part.by != By::Builtin);
    let seen = Seen { text, cwd, home: lookup.home(), made: OnceCell::new() };
    let denied = denying::first(&judge, &parts, &seen);
    let unseen = !rules.deny.is_empty() && seen.get().hidden;
    Assessed {
        text: text.to_owned(),
        cwd: cwd.to_owned(),
        inline: inline(&analysis, rules, &seen)
            .or_else(|| parts.iter().find_map(code_of))
            .or_else(|| rules.strict_inline.then(|| unseen_code(&judge, &parts, &analysis, &seen)).flatten()),
        suppresses: suppress::changes(text, &seen),
        heredoc: heredoc(text),
        denied,
        unseen,
        strict_inline: rules.strict_inline,
        sets: Vec::new(),
        satisfied,
        durable,
        analysis,
        parts,
    }
}

/// Stands for the PATH that holds before the text: a directory that cannot be.
const OLD_PATH: &str = "/dev/null/path";

/// What can be seen of a text, looked at when it is first asked for.
struct Seen<'t> {
    text: &'t str,
    cwd: &'t Path,
    home: Option<&'t Path>,
    made: OnceCell<Visible>,
}

impl Seen<'_> {
    fn get(&self) -> &Visible {
        self.made.get_or_init(|| {
            // What is put in front of PATH is looked at, and not the PATH that programs are found in anyway.
            let known = [("HOME", self.home), ("PWD", Some(self.cwd)), ("PATH", Some(Path::new(OLD_PATH)))];
            let text =
                |(name, path): (&str, Option<&Path>)| Some((name.to_owned(), path?.to_str()?.to_owned()));
            analyse::visible_with(self.text, known.into_iter().filter_map(text))
        })
    }
}

/// Code in an argument, as it is told to people. What is not understood as a whole is looked at as far as it is seen: under
/// `strictInlineEval` it must not run for that.
fn inline(analysis: &Result<Vec<Group>, Refused>, rules: &Rules<'_>, seen: &Seen<'_>) -> Option<String> {
    match analysis {
        Ok(groups) => first_inline(groups),
        Err(_) if rules.strict_inline => {
            let commands = &seen.get().commands;
            // What is written to their input is not known.
            let code = |argv: &Vec<String>| {
                inline_eval::detect(argv).map(|hit| hit.descriptor).or_else(|| inline_eval::reads(argv, true))
            };
            commands.iter().find_map(code)
        }
        Err(_) => None,
    }
}

/// Code for an interpreter that is called by another name.
fn code_of(part: &Part) -> Option<String> {
    let file = judge::file_name(part.program.as_ref()?)?;
    let words: Vec<&str> = part.effective.iter().map(|word| word.text.as_str()).collect();
    analyse::hidden_code(file, &words)
}

/// The same in a text of which not every command is clear: at every word that can be seen to begin one.
fn unseen_code(
    judge: &Judge<'_>,
    parts: &[Part],
    analysis: &Result<Vec<Group>, Refused>,
    seen: &Seen<'_>,
) -> Option<String> {
    let unclear = |part: &Part| matches!(part.by, By::Nothing(Gap::Unclear(_) | Gap::Untrusted(_)));
    if analysis.is_ok() && !parts.iter().any(unclear) {
        return None;
    }
    seen.get().commands.iter().find_map(|argv| {
        let program = judge.lookup.program(argv.first()?, Some(judge.cwd))?;
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        analyse::hidden_code(judge::file_name(&program)?, &words)
    })
}

fn first_inline(groups: &[Group]) -> Option<String> {
    groups.iter().flat_map(|group| &group.candidates).find_map(|candidate| match &candidate.runs {
        Runs::Shell(inner) => candidate.inline.clone().or_else(|| first_inline(inner)),
        _ => candidate.inline.clone(),
    })
}

/// Whether a here-document begins in a text; quoted text that looks like one is none. What cannot be read may hold one.
fn heredoc(text: &str) -> bool {
    if !text.contains("<<") {
        return false;
    }
    let Ok(script) = parse::parse(text) else { return true };
    let mut found = false;
    script.each_simple(&mut |simple| {
        let document = |redirect: &Redirect| matches!(redirect.kind, RedirectKind::HereDocument { .. });
        found |= simple.redirects.iter().any(document);
    });
    found
}

impl Assessed {
    /// As it is called: an entry speaks of a program and its arguments, and what a call sets beside them is listed only where
    /// it has no influence on what runs.
    #[must_use]
    pub fn called_with(mut self, env: &[(String, String)]) -> Self {
        let spoken = |(name, value): &&(String, String)| !host_env::harmless(name, value);
        self.sets = env.iter().filter(spoken).map(|(name, _)| name.clone()).collect();
        self
    }

    /// As the policy judges it; `unpinned` is [`super::enforce::enforce`]'s to say.
    pub fn facts(&self, unpinned: bool) -> Facts {
        Facts {
            analysed: self.analysis.is_ok(),
            listed: self.satisfied,
            durable: self.durable,
            environment: !self.sets.is_empty(),
            inline_eval: self.strict_inline && self.inline.is_some(),
            unpinned: self.satisfied && unpinned,
            suppresses: self.suppresses,
            unseen: self.unseen,
        }
    }
}

#[cfg(test)]
mod denials;
#[cfg(test)]
mod linked;
#[cfg(test)]
mod tests;
