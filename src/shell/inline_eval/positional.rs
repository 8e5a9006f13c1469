//! Shells whose text only forwards to what stands behind it: `sh -c '"$0" "$@"' python3 -c …`.
//!
//! The text of a shell is judged by the analyser of shell text. Here is only what that cannot see: a command word that
//! comes from the arguments.

/// Shells with the grammar of POSIX (spec `approvals.md` 7.06).
pub(crate) const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "yash", "zsh"];
/// Words that may stand in front of a command word.
const PREFIXES: &[&str] = &[
    "exec", "command", "builtin", "eval", "time", "then", "do", "else", "if", "while", "until", "!", "env",
    "nohup",
];

/// The arguments behind the text of a shell whose text takes a command word from them.
pub(super) fn command<'a, 'w>(name: &str, arguments: &'a [&'w str]) -> Option<&'a [&'w str]> {
    if !SHELLS.contains(&super::program::unversioned(name)) {
        return None;
    }
    let (text, rest) = payload(arguments)?;
    parts(text).any(forwards).then_some(rest)
}

/// The command lines of a text that forwards, with the arguments in place of what stands for them: code may stand in either.
pub(super) fn substituted(arguments: &[&str]) -> Vec<Vec<String>> {
    let Some((text, rest)) = payload(arguments) else { return Vec::new() };
    parts(text).filter(|part| forwards(part)).map(|part| substitute(part, rest)).collect()
}

/// Most words that one line may become.
const MAX_WORDS: usize = 1024;

fn substitute(part: &str, arguments: &[&str]) -> Vec<String> {
    let words = part.split_whitespace().skip_while(|word| PREFIXES.contains(word) || word.contains('='));
    let each = words.flat_map(|word| {
        let bare = word.trim_matches(['"', '\'', '\\']);
        let name = bare.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
        match (name, name.and_then(|name| name.parse::<usize>().ok())) {
            (Some("@" | "*"), _) => arguments.get(1..).unwrap_or_default().to_vec(),
            (_, Some(number)) => arguments.get(number).copied().into_iter().collect(),
            _ => vec![bare],
        }
    });
    each.take(MAX_WORDS).map(str::to_owned).collect()
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split([';', '|', '&', '\n', '(', ')', '{', '}'])
}

/// The text behind `-c`, and what follows it.
pub(in crate::shell) fn payload<'a, 'w>(arguments: &'a [&'w str]) -> Option<(&'w str, &'a [&'w str])> {
    let mut inline = false;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let Some(letters) = argument.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            break;
        };
        at += 1;
        if letters == "-" {
            break;
        }
        let long = letters.starts_with('-');
        inline |= !long && letters.contains('c');
        let value =
            if long { ["-rcfile", "-init-file"].contains(&letters) } else { letters.ends_with(['o', 'O']) };
        at += usize::from(value);
    }
    let text = arguments.get(at).filter(|_| inline)?;
    Some((text, arguments.get(at + 1..)?))
}

/// Whether the command word of a part is an expansion of an argument.
fn forwards(part: &str) -> bool {
    let word = part
        .split_whitespace()
        .find(|word| !PREFIXES.contains(word) && !word.contains('='))
        .unwrap_or_default();
    let bare = word.trim_start_matches(['"', '\'', '\\']);
    let name = bare.strip_prefix('$').map(|name| name.trim_start_matches('{')).unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'))
}
