//! Entries of an allowlist, compiled once: which of them covers a program with these arguments (spec `approvals.md` §5).
//! Pure; ten thousand entries cost no more than a few.
//!
//! | file | concern |
//! |---|---|
//! | `arguments` | what an entry says of arguments |
//! | `glob` | patterns |
//! | `index` | which entries may be meant, without looking at each |
//! | `pattern` | what a pattern names: anything, a bare name, a file |
//! | `within` | in which directory an entry holds |

mod arguments;
mod glob;
mod index;
mod pattern;
mod within;

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::document::{Coverage, Entry};
use super::programs::{Lookup, Program};
use arguments::ArgPattern;
pub use arguments::{MAX_INPUT, MAX_PATTERN, Unusable, bound_pattern};
use index::Index;
use pattern::Pattern;
pub use within::DIRECTORY;
use within::Within;

/// The key of an entry, unknown to others, that holds the file that its program was when it was approved: an entry for a
/// multi-call binary names the program by the link that was called.
pub const REAL_PATH: &str = "realPath";

/// A compiled list. Cloning it is cheap.
#[derive(Debug, Clone, Default)]
pub struct Allowlist {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    compiled: Vec<Compiled>,
    index: Index,
}

/// An entry as it is compared.
#[derive(Debug)]
struct Compiled {
    pattern: Pattern,
    arguments: Arguments,
    within: Within,
    /// What the program's content must be, in hex.
    content: Option<String>,
}

#[derive(Debug)]
enum Arguments {
    Any,
    /// One argument list in one directory.
    Bound(String),
    Pattern(ArgPattern),
    /// It waits to be approved again (5.20).
    Inactive,
}

/// A command as entries see it: after wrappers were looked through.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The command word as typed.
    pub word: &'a str,
    /// What it means; `None` where nothing was found.
    pub program: Option<&'a Program>,
    /// Its arguments, without the command word.
    pub arguments: &'a [String],
    /// The directory in which it runs; `None`: unknown, so that no grant for one directory holds.
    pub dir: Option<&'a Path>,
    /// It must be covered by its arguments too: a path alone says nothing about a shell (4.15).
    pub shell: bool,
}

impl Subject<'_> {
    /// The command word is a bare name, which a search in PATH has found.
    fn bare(&self) -> bool {
        !self.word.contains(['/', '\\', '~'])
    }
}

impl Allowlist {
    /// Compiles entries in the order in which they hold. `lookup` says where `~` is, and to which file an entry for a path
    /// leads now: a literal path means that file, by whatever path it is called.
    pub fn compile(entries: &[&Entry], lookup: &dyn Lookup) -> Self {
        let compiled: Vec<Compiled> = entries.iter().map(|entry| Compiled::new(entry, lookup)).collect();
        let mut index = Index::default();
        for (at, (entry, compiled)) in entries.iter().zip(&compiled).enumerate() {
            match entry.coverage() {
                Coverage::CommandText => index.add_marker(at, &entry.pattern),
                _ => index.add(at, &compiled.pattern),
            }
        }
        let entries = entries.iter().map(|entry| (*entry).clone()).collect();
        Self { inner: Arc::new(Inner { entries, compiled, index }) }
    }

    /// The entry that covers it, by its place in the list: of those whose pattern fits, the first whose `argPattern` fits
    /// too, else the first without one (5.18). Without a look at files: an entry that pins the content of its program covers
    /// nothing.
    pub fn find(&self, subject: &Subject<'_>) -> Option<usize> {
        self.find_by(subject, &|_| None)
    }

    /// The same; `digest` says what a file holds, where an entry that fits otherwise pins the content of its program.
    pub fn find_by(&self, subject: &Subject<'_>, digest: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
        let held = OnceCell::new();
        let holds = |compiled: &Compiled| {
            let Some(wanted) = &compiled.content else { return true };
            let made = || digest(&subject.program?.real);
            held.get_or_init(made).as_ref().is_some_and(|held| held.eq_ignore_ascii_case(wanted))
        };
        let bound = OnceCell::new();
        let mut plain = None;
        for at in self.inner.index.candidates(subject) {
            let Some(compiled) = self.inner.compiled.get(at) else { continue };
            if !compiled.within.holds(subject.dir) || !compiled.pattern.allows(subject) {
                continue;
            }
            match &compiled.arguments {
                Arguments::Any if plain.is_none() => {
                    // A path says nothing about the text of a shell.
                    let enough = !subject.shell || matches!(compiled.pattern, Pattern::Everything);
                    plain = (enough && holds(compiled)).then_some(at);
                }
                Arguments::Any | Arguments::Inactive => {}
                arguments if arguments.fit(subject, &bound).unwrap_or_default() && holds(compiled) => {
                    return Some(at);
                }
                Arguments::Bound(_) | Arguments::Pattern(_) => {}
            }
        }
        plain
    }

    /// The first entry that denies it, as a list of what is denied. By the file, by every name under which it is called or
    /// known, whether it was found or not; what cannot be compared is denied.
    pub fn denies(&self, subject: &Subject<'_>) -> Option<usize> {
        let bound = OnceCell::new();
        self.inner.index.denying(subject).into_iter().find(|at| {
            let Some(compiled) = self.inner.compiled.get(*at) else { return false };
            compiled.pattern.denies(subject)
                && match &compiled.arguments {
                    Arguments::Any | Arguments::Inactive => true,
                    arguments => arguments.fit(subject, &bound).unwrap_or(true),
                }
        })
    }

    /// The entry for this very text (5.22).
    pub fn marker(&self, text: &str) -> Option<usize> {
        if self.inner.index.has_markers() { self.inner.index.marker(&command_marker(text)) } else { None }
    }

    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.inner.entries
    }

    /// Nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.inner.entries.is_empty()
    }

    /// Entries whose `argPattern` can never be compared, by their place (5.17).
    pub fn problems(&self) -> Vec<(usize, Unusable)> {
        let of = |compiled: &Compiled| match &compiled.arguments {
            Arguments::Pattern(pattern) => pattern.check().err(),
            Arguments::Any | Arguments::Bound(_) | Arguments::Inactive => None,
        };
        self.inner
            .compiled
            .iter()
            .enumerate()
            .filter_map(|(at, compiled)| Some((at, of(compiled)?)))
            .collect()
    }
}

impl Compiled {
    fn new(entry: &Entry, lookup: &dyn Lookup) -> Self {
        let arguments = match (entry.coverage(), entry.arg_pattern.as_deref()) {
            (Coverage::Inactive | Coverage::CommandText, _) => Arguments::Inactive,
            (Coverage::ArgvAndCwd, Some(bound)) => Arguments::Bound(bound.to_owned()),
            (_, Some(pattern)) => Arguments::Pattern(ArgPattern::new(pattern)),
            (_, None) => Arguments::Any,
        };
        let content = entry.content_sha256.as_deref().map(|content| content.trim().to_owned());
        Self { pattern: Pattern::new(entry, lookup), arguments, within: Within::of(entry), content }
    }
}

impl Arguments {
    /// Whether the arguments fit what is said about them. `bound` keeps the generated value of the subject.
    fn fit(&self, subject: &Subject<'_>, bound: &OnceCell<Option<String>>) -> Result<bool, Unusable> {
        match self {
            Self::Any => Ok(true),
            Self::Inactive => Ok(false),
            Self::Bound(wanted) => {
                let made = || arguments::bound(subject.dir?, subject.arguments);
                Ok(bound.get_or_init(made).as_ref() == Some(wanted))
            }
            Self::Pattern(pattern) => pattern.matches(subject.arguments),
        }
    }
}

/// `=command:` and the first 16 hexadecimal digits of the text's digest.
fn command_marker(text: &str) -> String {
    let digest = Sha256::digest(text.trim());
    format!("=command:{}", crate::state::hex(digest.get(..8).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
