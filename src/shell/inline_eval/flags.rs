//! A flag in an argument list.

use super::table::Program;

/// The flag that puts code on the command line. Operands do not end the search: what a script is given may be taken
/// for the interpreter's by a reader too, and some programs take flags anywhere.
pub(super) fn find(program: &Program, arguments: &[&str]) -> Option<String> {
    let subcommand = arguments.iter().find(|argument| !argument.starts_with('-') && !argument.is_empty());
    if let Some(word) = subcommand.filter(|word| program.words.contains(word)) {
        return Some((*word).to_owned());
    }
    let own = arguments.iter().take_while(|argument| program.past_end || **argument != "--");
    own.filter(|argument| argument.starts_with('-')).find_map(|argument| flag(program, argument))
}

fn flag(program: &Program, argument: &str) -> Option<String> {
    let lower = argument.to_lowercase();
    let same = |flag: &&&str| **flag == argument || program.flags.contains(flag) && **flag == lower;
    if let Some(flag) = program.cased.iter().chain(program.flags).find(same) {
        return Some((*flag).to_owned());
    }
    equals(program, &lower)
        .or_else(|| joined(program, argument))
        .or_else(|| cluster(program, argument))
        .or_else(|| beginning(program, &lower))
}

/// `--eval=code`; an empty value is none.
fn equals(program: &Program, lower: &str) -> Option<String> {
    let (flag, value) = lower.split_once('=')?;
    let may = flag.starts_with("--") || program.single_equals;
    let known = program.flags.iter().find(|known| **known == flag)?;
    (may && !value.is_empty()).then(|| (*known).to_owned())
}

/// `-ecode`.
fn joined(program: &Program, argument: &str) -> Option<String> {
    let (_, told) =
        program.joined.iter().find(|(flag, _)| argument.starts_with(flag) && argument.len() > flag.len())?;
    Some((*told).to_owned())
}

/// `-lane code`: letters, then one that takes code. A letter that takes the rest as its value ends them; `x` behind a `0` is
/// a part of its number.
fn cluster(program: &Program, argument: &str) -> Option<String> {
    let (values, code) = program.cluster?;
    let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let mut before = ' ';
    for letter in letters.chars() {
        if code.contains(letter) {
            let told = if program.cased.iter().any(|flag| flag.ends_with(letter)) {
                letter
            } else {
                letter.to_ascii_lowercase()
            };
            return Some(format!("-{told}"));
        }
        if values.contains(letter) && (letter, before) != ('x', '0') {
            return None;
        }
        before = letter;
    }
    None
}

/// `--so=code`: option parsers take the beginning of a long flag for the flag.
fn beginning(program: &Program, lower: &str) -> Option<String> {
    let (name, value) = lower.split_once('=').map_or((lower, None), |(name, value)| (name, Some(value)));
    let fits = |(flag, least, empty): &&(&str, usize, bool)| {
        name.len() >= *least && flag.starts_with(name) && (*empty || value != Some(""))
    };
    let (flag, ..) = program.short_of.iter().find(fits)?;
    Some((*flag).to_owned())
}
