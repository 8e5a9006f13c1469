//! Credentials in a command. A person decides about what is shown, so what runs must never be hidden with them: hidden is
//! only the value behind the name of a credential in one word, or the word behind an option for one, as far as the text is
//! understood and that word is no program; and, anywhere but in a command word, what has the shape of a known token.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest as _, Sha256};

use crate::shell::analyse::{Runs, analyse};
use crate::shell::parse::{self, Simple, Span, Word};
use crate::shell::words;
use crate::shown::deceives;

/// Texts inside texts that are looked into.
const MAX_DEPTH: usize = 3;

/// Shapes of tokens; the whole match, or the first group, is hidden.
const SHAPES: &[&str] = &[
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}",
    r"\bgh[opsur]_[A-Za-z0-9]{16,}",
    r"\bgithub_pat_[A-Za-z0-9_]{16,}",
    r"\bgl(?:pat|ptt|dt|rt|ft|soat)-[A-Za-z0-9_-]{16,}",
    r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
    r"\bxapp-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\bya29\.[A-Za-z0-9_-]{16,}",
    r"\bnpm_[A-Za-z0-9]{20,}",
    r"\bpypi-[A-Za-z0-9_-]{16,}",
    r"\bhf_[A-Za-z0-9]{16,}",
    r"\b(?:gsk|dop_v1|r8|shpat)_[A-Za-z0-9]{16,}",
    r"\b(?:xai|pplx|tvly|nvapi|dckr_pat)-[A-Za-z0-9_-]{16,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}",
    r"\bglsa_[A-Za-z0-9]{16,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
    r"\b[0-9]{8,10}:[A-Za-z0-9_-]{30,}",
    // Addresses with a password, or with a token in the place of a name.
    r#"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@'"`$\\;|&<>()]*:([^/\s@'"`$\\;|&<>()]+)@"#,
    r#"[A-Za-z][A-Za-z0-9+.-]*://([^/\s:@'"`$\\;|&<>()]{20,})@"#,
];

/// A header in one word: its last group is hidden.
const HEADER: &str = r"(?is)^(?:proxy-)?(?:authorization|cookie|set-cookie|private-token|[a-z0-9-]*(?:api-?key|token|secret|password)[a-z0-9-]*)[ \t]*:[ \t]*(?:(?:bearer|basic|token|digest|negotiate|apikey)[ \t]+)?(\S.*)$";
/// The same where the text is not understood: no blank in what is hidden, and it does not look like a name.
const LOOSE_HEADER: &str = r"(?i)authorization:[ ]*(?:bearer|basic|token)[ ]+([A-Za-z0-9_.~+/=-]{16,})";

/// In prose, where nothing runs: the value behind a credential's name, whatever stands in it.
const PROSE: &[&str] = &[
    r#"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|credentials?|cookie)[a-z0-9_-]*["']?[ ]*[:=][ ]*["']?(?:bearer[ ]+|basic[ ]+)?([^\s"',;]{3,})"#,
    r#"(?i)--[a-z-]*(?:password|passwd|passphrase|secret|token|api-?key)[ ]+["']?([^\s"'-][^\s"']{2,})"#,
    r#"(?i)authorization["']?[ ]*:[ ]*["']?(?:(?:bearer|basic|token)[ ]+)?([^\s"',;]{6,})"#,
];

struct Looks {
    shapes: Vec<Regex>,
    header: Regex,
    loose: Regex,
    prose: Vec<Regex>,
}

static LOOKS: LazyLock<Option<Looks>> = LazyLock::new(|| {
    let all = |list: &[&str]| list.iter().map(|text| Regex::new(text)).collect::<Result<Vec<_>, _>>().ok();
    Some(Looks {
        shapes: all(SHAPES)?,
        header: Regex::new(HEADER).ok()?,
        loose: Regex::new(LOOSE_HEADER).ok()?,
        prose: all(PROSE)?,
    })
});

/// What is hidden of a text: pieces in bytes, sorted, without overlap.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let Some(looks) = &*LOOKS else { return Vec::new() };
    let mut found =
        Found { looks, whole: text, made: made(text, 0), commands: Vec::new(), hidden: Vec::new() };
    if !found.text(text, 0, 0) {
        for captures in looks.loose.captures_iter(text) {
            found.hidden.extend(captures.get(1).map(|value| value.range()));
        }
    }
    found.shapes(&looks.shapes, text);
    found.sorted(text)
}

/// What is hidden of prose: more than of a command, because nothing in it runs.
pub(super) fn find_in_prose(text: &str) -> Vec<Range<usize>> {
    let Some(looks) = &*LOOKS else { return std::iter::once(0..text.len()).collect() };
    let mut found = Found { looks, whole: text, made: false, commands: Vec::new(), hidden: Vec::new() };
    found.shapes(&looks.shapes, text);
    found.shapes(&looks.prose, text);
    found.sorted(text)
}

/// The first digits of the digest of what is hidden.
pub(super) fn digest(secret: &str) -> String {
    let whole = crate::state::hex(&Sha256::digest(secret.as_bytes()));
    whole.chars().take(8).collect()
}

/// Whether a program, or what one is given to run, is made of expansions.
fn made(text: &str, depth: usize) -> bool {
    let Ok(script) = parse::parse(text) else { return true };
    let mut found = false;
    script.each_simple(&mut |simple| {
        let Some((first, arguments)) = simple.words.split_first() else { return };
        let literal = |word: &Word| word.text().is_some();
        let runs_words = first.text().is_some_and(|name| {
            words::launches(name) || matches!(name, "eval" | "source" | "." | "trap" | "alias")
        });
        found |= !literal(first) || runs_words && !arguments.iter().all(literal);
        if let Some(span) = words::payload(text, simple).filter(|_| depth < MAX_DEPTH) {
            found |= text.get(span.start..span.end).is_none_or(|inner| made(inner, depth + 1));
        }
    });
    found
}

struct Found<'l> {
    looks: &'l Looks,
    /// The whole text.
    whole: &'l str,
    /// Some of what runs is made of variables.
    made: bool,
    /// Words that run: nothing of them is hidden.
    commands: Vec<Range<usize>>,
    hidden: Vec<Range<usize>>,
}

impl Found<'_> {
    fn shapes(&mut self, shapes: &[Regex], text: &str) {
        for captures in shapes.iter().flat_map(|shape| shape.captures_iter(text)) {
            let value = captures.get(1).or_else(|| captures.get(0)).map(|value| value.range());
            self.hidden.extend(value);
        }
    }

    /// Looks through a text that stands at `offset`. Says whether it was understood.
    fn text(&mut self, text: &str, offset: usize, depth: usize) -> bool {
        let Ok(script) = parse::parse(text) else { return false };
        let runs = Effective::of(text);
        script.each_simple(&mut |simple| self.simple(text, offset, depth, simple, &runs));
        true
    }

    fn simple(&mut self, text: &str, offset: usize, depth: usize, simple: &Simple, runs: &Effective) {
        let add = |this: &mut Self, span: Span| this.hidden.push(span.start + offset..span.end + offset);
        for assignment in &simple.assignments {
            let value = assignment.value.text().unwrap_or_default();
            if credential(&assignment.name) && secret(value) && !self.used(&assignment.name, value) {
                add(self, assignment.value.span);
            }
        }
        let Some((first, arguments)) = simple.words.split_first() else { return };
        self.commands.push(first.span.start + offset..first.span.end + offset);
        let program = first.text().unwrap_or_default();
        let mut before = "";
        for word in arguments {
            let Some(value) = word.text() else {
                before = "";
                continue;
            };
            if let Some(secret) = self.within(program, value) {
                add(self, piece(text, word, secret));
            } else if secret(value) && asks(program, before) && runs.argument(simple, program, word.span) {
                add(self, word.span);
            }
            before = value;
        }
        let payload = words::payload(text, simple).filter(|_| depth < MAX_DEPTH);
        if let Some((span, inner)) = payload.and_then(|span| Some((span, text.get(span.start..span.end)?))) {
            self.text(inner, offset + span.start, depth + 1);
        }
    }

    /// The credential in one word: of a header, or behind the name of an option or of a variable.
    fn within<'v>(&self, program: &str, value: &'v str) -> Option<&'v str> {
        if let Some(found) = self.looks.header.captures(value).and_then(|captures| captures.get(1)) {
            return Some(found.as_str()).filter(|value| !value.starts_with('@'));
        }
        let (name, rest) = value.split_once('=')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let named = !name.is_empty() && name.chars().all(plain) && credential(name);
        let shown = if name.starts_with('-') { words::launches(program) } else { self.used(name, rest) };
        (named && secret(rest) && !shown).then_some(rest)
    }

    /// Whether a variable is taken again, so that its value may be what runs. Where nothing that runs is made of variables,
    /// a value that does not look like the name of a program is none.
    fn used(&self, name: &str, value: &str) -> bool {
        let taken = self.whole.match_indices('$').any(|(at, _)| {
            let rest = self.whole.get(at + 1..).unwrap_or_default();
            rest.strip_prefix('{').unwrap_or(rest).trim_start_matches(['!', '#']).starts_with(name)
        });
        let odd = value.len() >= 16 && value.bytes().any(|byte| byte.is_ascii_digit());
        taken && (self.made || !odd)
    }

    /// Without what runs, and what only a look at the text itself tells apart from something else.
    fn sorted(mut self, text: &str) -> Vec<Range<usize>> {
        let meets = |one: &Range<usize>, other: &Range<usize>| one.start < other.end && other.start < one.end;
        let commands = std::mem::take(&mut self.commands);
        let fits = |range: &Range<usize>| {
            let plain = text.get(range.clone()).is_some_and(|secret| !secret.chars().any(deceives));
            plain && !range.is_empty() && !commands.iter().any(|command| meets(range, command))
        };
        self.hidden.retain(fits);
        self.hidden.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in self.hidden {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

/// What commands of a text really run, behind wrappers.
struct Effective(Vec<(usize, Option<usize>)>);

impl Effective {
    fn of(text: &str) -> Self {
        let groups = analyse(text).unwrap_or_default();
        let one = |candidate: crate::shell::analyse::Candidate| {
            let program = match &candidate.runs {
                Runs::Program(words) => words.first().map(|word| word.span.start),
                Runs::Builtin | Runs::Shell(_) | Runs::Unclear(_) => None,
            };
            (candidate.span.start, program)
        };
        Self(groups.into_iter().flat_map(|group| group.candidates).map(one).collect())
    }

    /// Whether a word is an argument, and neither a program nor in front of one.
    fn argument(&self, simple: &Simple, program: &str, word: Span) -> bool {
        if !words::launches(program) {
            return true;
        }
        let known = self.0.iter().find(|(start, _)| *start == simple.span.start);
        known.and_then(|(_, program)| *program).is_some_and(|program| program < word.start)
    }
}

/// Whether the word behind this option is a credential.
fn asks(program: &str, option: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    match (name, option) {
        ("curl", "-u" | "--user" | "-U" | "--proxy-user" | "-b" | "--cookie") | ("sshpass", "-p") => true,
        _ => option.starts_with("--") && !option.contains('=') && credential(option),
    }
}

/// What names of credentials contain.
const WORDS: &[&str] = &["password", "passwd", "passphrase", "secret", "token", "credential", "cookie"];
/// What they end with.
const ENDS: &[&str] =
    &["apikey", "api_key", "access_key", "private_key", "auth_key", "secret_key", "encryption_key", "auth"];
/// Names that are theirs as a whole.
const WHOLE: &[&str] = &["pass", "pwd", "pgpassword", "mysql_pwd", "auth", "key"];
/// What stands behind a name that is not the credential itself.
const NONE: &[&str] =
    &["file", "path", "dir", "stdin", "env", "name", "type", "url", "command", "cmd", "program", "helper"];

/// Whether this is the name of a credential: of a variable or of an option.
fn credential(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase().replace(['-', '.'], "_");
    if name.rsplit('_').next().is_some_and(|last| NONE.contains(&last)) {
        return false;
    }
    WORDS.iter().any(|word| name.contains(word))
        || ENDS.iter().any(|end| name.ends_with(end))
        || WHOLE.contains(&name.as_str())
        || name.ends_with("_pass")
        || name.ends_with("_pwd")
}

/// Whether a value may be a secret: no switch, no number, no reference, no file and no path. Where a program is meant, it
/// is one of these.
fn secret(value: &str) -> bool {
    let word = matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "none" | "null" | "-"
    );
    let counted = value.len() < 4 && value.bytes().all(|byte| byte.is_ascii_digit());
    let elsewhere = ["$", "@", "/", "./", "../", "~/", "-"].iter().any(|start| value.starts_with(start));
    !(word || counted || elsewhere)
}

/// Where `secret` stands in a word as written; the whole word where that cannot be said.
fn piece(text: &str, word: &Word, secret: &str) -> Span {
    let raw = text.get(word.span.start..word.span.end).unwrap_or_default();
    match raw.rfind(secret) {
        Some(at) => Span { start: word.span.start + at, end: word.span.start + at + secret.len() },
        None => word.span,
    }
}
