//! Words of a text that are programs: for showing a text, never for judging it.

use super::analyse::{self, Group, Runs};
use super::inline_eval::{carrier, positional, program};
use super::parse::{self, Simple, Span, Word};

/// Texts inside texts that are looked into.
const MAX_DEPTH: usize = 3;

/// Whether a program starts another one that its arguments name.
pub fn launches(name: &str) -> bool {
    let name = program::name(name);
    carrier::is_one(&name) || positional::SHELLS.contains(&program::unversioned(&name))
}

/// Whether a program runs text that it is given, in a language of its own.
pub fn interprets(name: &str) -> bool {
    program::interpreter_like(name)
}

/// The name of a program without directory and version.
pub fn bare(name: &str) -> String {
    program::unversioned(&program::name(name)).to_owned()
}

/// The piece of `text` that holds a word's value as it is, where there is one: a quoted text without escapes.
pub fn verbatim(text: &str, word: &Word) -> Option<Span> {
    let value = word.text()?;
    let raw = text.get(word.span.start..word.span.end)?;
    let quotes = usize::from(raw.starts_with(['\'', '"']));
    let start = word.span.start + quotes;
    let span = Span { start, end: word.span.end - quotes };
    (text.get(span.start..span.end)? == value).then_some(span)
}

/// The text that a shell is given with `-c`, where it stands in `text` as it is.
pub fn payload(text: &str, simple: &Simple) -> Option<Span> {
    let (first, arguments) = simple.words.split_first()?;
    let name = program::name(first.text()?);
    if !positional::SHELLS.contains(&program::unversioned(&name)) {
        return None;
    }
    let values: Vec<&str> = arguments.iter().map(|word| word.text().unwrap_or_default()).collect();
    let (_, rest) = positional::payload(&values)?;
    let word = arguments.get(values.len().checked_sub(rest.len() + 1)?)?;
    verbatim(text, word)
}

/// Where programs stand in a text: command words of every command, also of substitutions, behind wrappers, and in the text
/// of a shell. Sorted, without overlap. `None` where the text is not understood.
pub fn programs(text: &str) -> Option<Vec<Span>> {
    let mut found = Vec::new();
    collect(text, 0, 0, &mut found)?;
    found.retain(|span| span.start < span.end);
    found.sort_unstable();
    let mut end = 0;
    // What overlaps says nothing: a text made of another one is placed at the whole of it.
    found.retain(|span| {
        let free = span.start >= end;
        if free {
            end = span.end;
        }
        free
    });
    Some(found)
}

fn collect(text: &str, offset: usize, depth: usize, found: &mut Vec<Span>) -> Option<()> {
    let script = parse::parse(text).ok()?;
    let at = |span: Span| Span { start: span.start + offset, end: span.end + offset };
    let mut payloads = Vec::new();
    script.each_simple(&mut |simple| {
        found.extend(simple.words.first().map(|word| at(word.span)));
        payloads.extend(payload(text, simple));
    });
    if let Ok(groups) = analyse::analyse(text) {
        found.extend(behind_wrappers(&groups).map(at));
    }
    for span in payloads.into_iter().filter(|_| depth < MAX_DEPTH) {
        if let Some(inner) = text.get(span.start..span.end) {
            // One that is not understood has nothing to show.
            let _ = collect(inner, offset + span.start, depth + 1, found);
        }
    }
    Some(())
}

/// The words that really run, behind wrappers.
pub fn behind_wrappers(groups: &[Group]) -> impl Iterator<Item = Span> {
    groups.iter().flat_map(|group| &group.candidates).filter_map(|candidate| match &candidate.runs {
        Runs::Program(words) => words.first().map(|word| word.span),
        Runs::Builtin | Runs::Shell(_) | Runs::Unclear(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        programs(text).unwrap().into_iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn every_command_word() {
        for (text, wanted) in [
            ("ls", vec!["ls"]),
            ("a | b && 'c' d; e", vec!["a", "b", "'c'", "e"]),
            ("timeout 3 make x", vec!["timeout", "make"]),
            ("echo $(id -u)", vec!["echo", "id"]),
            ("sh -c 'rg x | head'", vec!["sh", "rg", "head"]),
            ("bash -lc \"make all\" x", vec!["bash", "make"]),
            ("sh -c \"echo \\\"x\\\"\"", vec!["sh"]),
            ("if a; then b; fi", vec!["a", "b"]),
            ("X=1", vec![]),
            ("# nothing", vec![]),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
        assert_eq!(programs("a 'b"), None);
    }
}
