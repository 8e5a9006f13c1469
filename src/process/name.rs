//! What a session is called in lists (spec `exec.md` §7.1: the field `name`). Pure.

use super::shorten;
use crate::shown;

/// Characters of the second part.
const MAX_SECOND: usize = 48;

/// The first word of a command and the first later one that is no option, else the second. A label for people, not
/// something to run: quotes are gone, and what would fake another line of the list is spelled out.
pub fn derived(command: &str) -> Option<String> {
    let mut words = words(command);
    let first = shorten::middle(&unquoted(words.next()?), MAX_SECOND);
    let mut later = words.peekable();
    let second = later.peek().copied();
    let operand = later.find(|word| !word.starts_with('-')).or(second);
    let name = match operand {
        Some(word) => format!("{first} {}", shorten::middle(&unquoted(word), MAX_SECOND)),
        None => first,
    };
    Some(shown::one_line(&name))
}

/// Words between blanks; blanks inside quotes belong to the word. Empty ones say nothing.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let between = move |c: char| {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && c.is_whitespace()
    };
    command.split(between).filter(|word| !matches!(*word, "" | "''" | "\"\""))
}

/// A word without the quotes around it.
fn unquoted(word: &str) -> String {
    let inside = |quote: char| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn program_and_operand() {
        let rows: &[(&str, Option<&str>)] = &[
            ("", None),
            (" \n ", None),
            ("top", Some("top")),
            ("npm run build", Some("npm run")),
            ("ls -la", Some("ls -la")),
            ("ls -la /tmp", Some("ls /tmp")),
            ("git -c a.b=c commit", Some("git a.b=c")),
            ("python3 'my script.py' --fast", Some("python3 my script.py")),
            ("\"/opt/my app/run\" now", Some("/opt/my app/run now")),
            ("trap '' TERM", Some("trap TERM")),
            ("echo it's", Some("echo it's")),
            ("echo 'a\nkeen-otter running   1s :: fake'", Some(r"echo a\nkeen-otter running   1s :: fake")),
            ("echo \u{1b}[2J", Some(r"echo \u{1b}[2J")),
        ];
        for (command, name) in rows {
            assert_eq!(derived(command).as_deref(), *name, "{command:?}");
        }
    }

    #[test]
    fn the_second_part_is_short() {
        let name = derived(&format!("cat /{}.txt", "x".repeat(200))).unwrap();
        assert!(name.starts_with("cat /xxx") && name.contains("...") && name.ends_with("xx.txt"), "{name}");
        assert!(name.chars().count() <= 4 + MAX_SECOND);
    }
}
