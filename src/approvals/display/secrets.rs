//! Credentials in a command. A person decides about what is shown, so what runs must never be hidden with them: hidden are
//! only words of a program that runs none of its words, as far as the text is understood, and of these only what is made of
//! the characters of credentials and stands behind the name of one, in a header that an HTTP client is given, or has the
//! shape of a known token. Everything else is shown.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest as _, Sha256};

use super::kinds::{Client, Kind};
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
];

/// Addresses with a password, or with a token in the place of a name.
const ADDRESSES: &[&str] = &[
    r#"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@'"`$\\;|&<>()]*:([^/\s@'"`$\\;|&<>()]+)@"#,
    r#"[A-Za-z][A-Za-z0-9+.-]*://([^/\s:@'"`$\\;|&<>()]{20,})@"#,
];

/// A header of HTTP: its last group is hidden, which is one word of [`alphabet`].
const HEADER: &str = r"(?i)^(?:proxy-)?(?:authorization|private-token|[a-z0-9-]*(?:api-?key|token|secret|password)[a-z0-9-]*)[ \t]*:[ \t]*(?:(?:bearer|basic|token|negotiate|apikey)[ \t]+)?([A-Za-z0-9_.~+/=:%@,-]+)$";
/// A header with cookies.
const COOKIES: &str = r"(?i)^(?:set-)?cookie[ \t]*:[ \t]*(\S.*)$";

/// In prose, where nothing runs: the value behind a credential's name, whatever stands in it.
const PROSE: &[&str] = &[
    r#"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|credentials?|cookie)[a-z0-9_-]*["']?[ ]*[:=][ ]*["']?(?:bearer[ ]+|basic[ ]+)?([^\s"',;]{3,})"#,
    r#"(?i)--[a-z-]*(?:password|passwd|passphrase|secret|token|api-?key)[ ]+["']?([^\s"'-][^\s"']{2,})"#,
    r#"(?i)authorization["']?[ ]*:[ ]*["']?(?:(?:bearer|basic|token)[ ]+)?([^\s"',;]{6,})"#,
];

struct Looks {
    shapes: Vec<Regex>,
    addresses: Vec<Regex>,
    header: Regex,
    cookies: Regex,
    prose: Vec<Regex>,
}

static LOOKS: LazyLock<Option<Looks>> = LazyLock::new(|| {
    let all = |list: &[&str]| list.iter().map(|text| Regex::new(text)).collect::<Result<Vec<_>, _>>().ok();
    Some(Looks {
        shapes: all(SHAPES)?,
        addresses: all(ADDRESSES)?,
        header: Regex::new(HEADER).ok()?,
        cookies: Regex::new(COOKIES).ok()?,
        prose: all(PROSE)?,
    })
});

/// Characters of which credentials are made, and no code that does anything: no blank, no quote, no sign of a shell.
fn alphabet(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.~+/=:%@,#".contains(c)
}

/// What is hidden of a text: pieces in bytes, sorted, without overlap, each of nothing but [`alphabet`].
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let Some(looks) = &*LOOKS else { return Vec::new() };
    let mut found =
        Found { looks, whole: text, made: made(text, 0), feeds: feeds(text, 0), hidden: Vec::new() };
    if !found.text(text, 0, 0) {
        // Where nothing is known of what runs, only what cannot be a program.
        found.all(&looks.addresses, text, 0);
    }
    let bounded =
        |range: &Range<usize>| text.get(range.clone()).is_some_and(|secret| secret.chars().all(alphabet));
    found.hidden.retain(bounded);
    found.sorted()
}

/// What is hidden of each of the words of a command: the same as of the command, because a word alone does not tell that
/// the one in front of it asks for a credential.
pub(super) fn find_in_words(argv: &[String], redact: bool) -> Vec<Vec<Range<usize>>> {
    let mut of_words = vec![Vec::new(); argv.len()];
    if !redact {
        return of_words;
    }
    let line = crate::shell::quote::line(argv);
    let found = find(&line);
    let mut start = 0;
    for (word, hidden) in argv.iter().zip(&mut of_words) {
        let end = start + crate::shell::quote::line(std::slice::from_ref(word)).len();
        // From behind, so that each piece is found in front of the one that follows.
        let mut rest = word.as_str();
        for range in found.iter().rev().filter(|range| range.start >= start && range.end <= end) {
            let Some(at) = line.get(range.clone()).and_then(|secret| rest.rfind(secret)) else { continue };
            hidden.push(at..at + range.len());
            rest = rest.get(..at).unwrap_or_default();
        }
        hidden.reverse();
        start = end + 1;
    }
    of_words
}

/// What is hidden of prose: more than of a command, because nothing in it runs.
pub(super) fn find_in_prose(text: &str) -> Vec<Range<usize>> {
    let Some(looks) = &*LOOKS else { return std::iter::once(0..text.len()).collect() };
    let mut found = Found { looks, whole: text, made: false, feeds: false, hidden: Vec::new() };
    for shapes in [&looks.shapes, &looks.addresses, &looks.prose] {
        found.all(shapes, text, 0);
    }
    found.hidden.retain(|range| text.get(range.clone()).is_some_and(|secret| !secret.chars().any(deceives)));
    found.sorted()
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
        let runs_words =
            first.text().is_some_and(|name| words::launches(name) || Kind::of(name) == Kind::Runs);
        found |= !literal(first) || runs_words && !arguments.iter().all(literal);
        if let Some(span) = words::payload(text, simple).filter(|_| depth < MAX_DEPTH) {
            found |= text.get(span.start..span.end).is_none_or(|inner| made(inner, depth + 1));
        }
    });
    found
}

/// Whether something in a text runs what is passed to it by a file, a pipe or a variable.
fn feeds(text: &str, depth: usize) -> bool {
    let Ok(script) = parse::parse(text) else { return true };
    let runs = Effective::of(text);
    let mut found = false;
    script.each_simple(&mut |simple| {
        if let Some(span) = words::payload(text, simple).filter(|_| depth < MAX_DEPTH) {
            found |= text.get(span.start..span.end).is_none_or(|inner| feeds(inner, depth + 1));
        } else if !simple.words.is_empty() {
            let kind = runs.program(simple).map(|(program, _)| Kind::of(program));
            found |= !matches!(kind, Some(Kind::Plain | Kind::Prints));
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
    /// Something runs what it is passed.
    feeds: bool,
    hidden: Vec<Range<usize>>,
}

impl Found<'_> {
    fn all(&mut self, shapes: &[Regex], text: &str, offset: usize) {
        for captures in shapes.iter().flat_map(|shape| shape.captures_iter(text)) {
            let value = captures.get(1).or_else(|| captures.get(0)).map(|value| value.range());
            self.hidden.extend(value.map(|value| value.start + offset..value.end + offset));
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
        for assignment in &simple.assignments {
            let Some(value) = assignment.value.text() else { continue };
            if self.used(&assignment.name, value) {
                continue;
            }
            if credential(&assignment.name) && secret(value) {
                self.piece(text, offset, &assignment.value, value);
            }
            self.shapes(text, offset, &assignment.value);
        }
        let payload = words::payload(text, simple).filter(|_| depth < MAX_DEPTH);
        if let Some((span, inner)) = payload.and_then(|span| Some((span, text.get(span.start..span.end)?))) {
            self.text(inner, offset + span.start, depth + 1);
            return;
        }
        let Some((program, arguments)) = runs.program(simple) else { return };
        let arguments = before_operands(arguments);
        match Kind::of(program) {
            Kind::Plain => self.plain(text, offset, program, arguments),
            Kind::Prints if !self.feeds && simple.redirects.is_empty() => {
                self.plain(text, offset, program, arguments);
            }
            Kind::Carries => self.environment(text, offset, arguments),
            Kind::Text => self.addresses(text, offset, arguments),
            Kind::Prints | Kind::Runs => {}
        }
    }

    /// Arguments of a program that runs none of them.
    fn plain(&mut self, text: &str, offset: usize, program: &str, arguments: &[Word]) {
        let client = Client::of(program);
        let mut before = "";
        for word in arguments {
            let Some(value) = word.text() else {
                before = "";
                continue;
            };
            if let Some(header) = client.and_then(|client| client.header(before, value)) {
                self.header(text, offset, word, header);
            } else if let Some(cookies) = client.and_then(|client| client.cookies(before, value)) {
                self.cookies(text, offset, word, cookies);
            } else if let Some(secret) = self.named(value) {
                self.piece(text, offset, word, secret);
            } else if secret(value) && asks(program, before) {
                self.piece(text, offset, word, value);
            }
            if !self.made {
                self.shapes(text, offset, word);
            }
            before = value;
        }
    }

    /// What a carrier sets for what it runs: `-e NAME=value`, in front of anything that runs text.
    fn environment(&mut self, text: &str, offset: usize, arguments: &[Word]) {
        let mut before = "";
        for word in arguments {
            let value = word.text().unwrap_or_default();
            if !matches!(Kind::of(value), Kind::Plain) {
                return;
            }
            let set =
                if matches!(before, "-e" | "--env") { Some(value) } else { value.strip_prefix("--env=") };
            if let Some(secret) = set.and_then(|set| self.named(set)) {
                self.piece(text, offset, word, secret);
            }
            before = value;
        }
    }

    /// Passwords in addresses that are words of their own, and no value of an option that may be code.
    fn addresses(&mut self, text: &str, offset: usize, arguments: &[Word]) {
        let mut before = "";
        for word in arguments {
            let value = word.text().unwrap_or_default();
            if !before.starts_with('-') && !value.starts_with('-') && value.chars().all(alphabet) {
                let raw = text.get(word.span.start..word.span.end).unwrap_or_default();
                let looks = self.looks;
                self.all(&looks.addresses, raw, offset + word.span.start);
            }
            before = value;
        }
    }

    /// Tokens of known shapes, and passwords in addresses, in a word that holds nothing that runs.
    fn shapes(&mut self, text: &str, offset: usize, word: &Word) {
        if word.text().is_some() {
            let raw = text.get(word.span.start..word.span.end).unwrap_or_default();
            let looks = self.looks;
            self.all(&looks.shapes, raw, offset + word.span.start);
            self.all(&looks.addresses, raw, offset + word.span.start);
        }
    }

    fn header(&mut self, text: &str, offset: usize, word: &Word, header: &str) {
        let looks = self.looks;
        if let Some(value) = looks.header.captures(header).and_then(|captures| captures.get(1)) {
            if !value.as_str().starts_with('@') {
                self.piece(text, offset, word, value.as_str());
            }
        } else if let Some(value) = looks.cookies.captures(header).and_then(|captures| captures.get(1)) {
            self.cookies(text, offset, word, value.as_str());
        }
    }

    /// Cookies, each as a piece of its own.
    fn cookies(&mut self, text: &str, offset: usize, word: &Word, cookies: &str) {
        let one = |cookie: &str| cookie.contains('=') && cookie.chars().all(alphabet);
        if !cookies.split("; ").all(one) || cookies.starts_with('@') {
            return;
        }
        if let Some(span) = place(text, word, cookies) {
            let mut at = span.start + offset;
            for cookie in cookies.split("; ") {
                self.hidden.push(at..at + cookie.len());
                at += cookie.len() + 2;
            }
        }
    }

    fn piece(&mut self, text: &str, offset: usize, word: &Word, secret: &str) {
        if let Some(span) = place(text, word, secret) {
            self.hidden.push(span.start + offset..span.end + offset);
        }
    }

    /// The credential behind the name of an option or of a variable.
    fn named<'v>(&self, value: &'v str) -> Option<&'v str> {
        let (name, rest) = value.split_once('=')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let named = !name.is_empty() && name.chars().all(plain) && credential(name);
        let shown = !name.starts_with('-') && self.used(name, rest);
        (named && secret(rest) && !shown).then_some(rest)
    }

    /// Whether a variable is taken again, so that its value may be what runs. Where nothing that runs is made of variables,
    /// a value that does not look like the name of a program is none.
    fn used(&self, name: &str, value: &str) -> bool {
        if self.feeds && self.whole.matches(name).count() > 1 {
            return true;
        }
        let taken = self.whole.split('$').skip(1).any(|rest| {
            rest.strip_prefix('{').unwrap_or(rest).trim_start_matches(['!', '#']).starts_with(name)
        });
        let odd = value.len() >= 16 && value.bytes().any(|byte| byte.is_ascii_digit());
        taken && (self.made || !odd)
    }

    /// In order, and what overlaps as one.
    fn sorted(mut self) -> Vec<Range<usize>> {
        self.hidden.retain(|range| !range.is_empty());
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

/// What stands in front of `--`: behind it stand words that something else may run.
fn before_operands(arguments: &[Word]) -> &[Word] {
    let end = arguments.iter().position(|word| word.text() == Some("--"));
    arguments.get(..end.unwrap_or(arguments.len())).unwrap_or_default()
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

    /// The program that really runs, with its arguments; `None` where that cannot be said.
    fn program<'s>(&self, simple: &'s Simple) -> Option<(&'s str, &'s [Word])> {
        let (first, arguments) = simple.words.split_first()?;
        let name = first.text()?;
        if !words::launches(name) {
            return Some((name, arguments));
        }
        let (_, program) = self.0.iter().find(|(start, _)| *start == simple.span.start)?;
        let start = (*program)?;
        let at = simple.words.iter().position(|word| word.span.start == start)?;
        let (first, arguments) = simple.words.get(at..)?.split_first()?;
        first.text().filter(|name| !words::launches(name)).map(|name| (name, arguments))
    }
}

/// Whether the word behind this option is a credential.
fn asks(program: &str, option: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    match (name, option) {
        ("curl", "-u" | "--user" | "-U" | "--proxy-user") => true,
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
const NONE: &[&str] = &[
    "file",
    "path",
    "dir",
    "stdin",
    "env",
    "name",
    "type",
    "url",
    "command",
    "cmd",
    "program",
    "helper",
    "process",
    "exec",
    "script",
    "hook",
    "shell",
    "run",
    "executable",
    "bin",
    "handler",
    "plugin",
    "provider",
];

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

/// Where `secret` stands in a word as written; `None` where it is written otherwise: then it is shown.
fn place(text: &str, word: &Word, secret: &str) -> Option<Span> {
    let raw = text.get(word.span.start..word.span.end)?;
    let at = word.span.start + raw.rfind(secret)?;
    Some(Span { start: at, end: at + secret.len() })
}
