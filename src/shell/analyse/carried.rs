//! A shell's text that only runs its own arguments: `sh -c '"$0" "$@"' tool args` (4.17). What they make is known, so it is
//! what is judged; a text that does anything else with them is not.

use super::{Argument, builtin, wrapper};
use crate::shell::inline_eval::program;
use crate::shell::parse::{Command, Script, Simple, Span, Word};

/// The words that the text runs; `arguments` begin with `$0`. Nothing where that is not certain.
///
/// The command must be `$0`: a text that has a name of its own for it is for other commands to call.
pub(super) fn words(text: &str, script: &Script, arguments: &[Argument]) -> Option<Vec<Argument>> {
    if arguments.iter().any(|word| word.expands) {
        return None;
    }
    let simple = only(script)?;
    let made = simple.words.iter().map(|word| expanded(text, word, arguments));
    let mut words = made.collect::<Option<Vec<_>>>()?.concat();
    let literal = |at: usize| simple.words.get(at).and_then(Word::literal);
    let first = match (literal(0), literal(1)) {
        (Some("exec"), Some("--")) => 2,
        (Some("exec"), _) => 1,
        _ => 0,
    };
    let zero = simple.words.get(first).is_some_and(|word| written(text, word).0 == Some("0"));
    let words = words.split_off(first);
    (zero && ends(&words)).then_some(words)
}

/// The one command that the text consists of.
fn only(script: &Script) -> Option<&Simple> {
    let [item] = script.items.as_slice() else { return None };
    let [Command::Simple(simple)] = item.first.commands.as_slice() else { return None };
    let bare = item.rest.is_empty() && !item.background && !item.first.timed && !item.first.negated;
    (bare && simple.assignments.is_empty() && simple.redirects.is_empty()).then_some(simple)
}

/// Whether what is carried is a program that carries nothing further, and no word of the shell that carries it.
fn ends(words: &[Argument]) -> bool {
    let Some(first) = words.first() else { return false };
    let name = program::name(&first.text);
    !first.text.is_empty()
        && !first.text.starts_with('-')
        && builtin::of(words).is_none()
        && wrapper::inner(&name, &first.text, words) == wrapper::Inner::None
        && !wrapper::starts_others(&name, words)
        && !wrapper::is_shell(&name)
}

/// A parameter that a word is as a whole, and whether it is quoted.
fn written<'t>(text: &'t str, word: &Word) -> (Option<&'t str>, bool) {
    let written = text.get(word.span.start..word.span.end).unwrap_or_default();
    let inside = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = inside.unwrap_or(written).strip_prefix('$').and_then(|name| {
        let braced = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let digits = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        match braced {
            Some(name) if digits(name) || name == "@" => Some(name),
            None if digits(name) && name.len() == 1 || name == "@" => Some(name),
            _ => None,
        }
    });
    (name, inside.is_some())
}

/// The words that a word becomes.
fn expanded(text: &str, word: &Word, arguments: &[Argument]) -> Option<Vec<Argument>> {
    let (name, quoted) = written(text, word);
    let Some(name) = name else {
        let text = word.literal()?.to_owned();
        // It stands in the shell's text and nowhere else.
        return Some(vec![Argument { text, expands: false, span: Span::default() }]);
    };
    let words = match name {
        "@" => arguments.get(1..).unwrap_or_default().to_vec(),
        number => vec![arguments.get(number.parse::<usize>().ok()?)?.clone()],
    };
    (quoted || words.iter().all(whole)).then_some(words)
}

/// Whether a value stays one word without quotes.
fn whole(word: &Argument) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    !word.text.is_empty() && word.text.chars().all(plain)
}
