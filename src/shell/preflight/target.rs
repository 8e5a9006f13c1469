//! The script that a command names.

use super::Language;
use crate::shell::parse::{Command, Script, Simple};

/// The words of the first command; what is not known is left out of them from there on.
pub(super) fn first(command: &str, script: Option<&Script>) -> Vec<String> {
    let Some(script) = script else {
        let line = command.lines().next().unwrap_or_default();
        let bare = |word: &str| word.trim_matches(['"', '\'']).to_owned();
        return line.split_whitespace().map(bare).collect();
    };
    match script.items.first().and_then(|item| item.first.commands.first()) {
        Some(Command::Simple(simple)) => known(simple),
        _ => Vec::new(),
    }
}

/// The words of a command up to the first that is not known.
pub(super) fn known(simple: &Simple) -> Vec<String> {
    simple.words.iter().map_while(|word| word.literal().map(str::to_owned)).collect()
}

/// Which interpreter a word calls: by its bare name, in any case.
pub(super) fn interpreter(word: &str) -> Option<Language> {
    let name = word.to_ascii_lowercase();
    let minor = name
        .strip_prefix("python3.")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    match name.as_str() {
        "python" | "python3" => Some(Language::Python),
        "node" => Some(Language::Node),
        _ if minor => Some(Language::Python),
        _ => None,
    }
}

/// The words from the interpreter on: assignments and `env` with its options may stand in front.
pub(super) fn called(words: &[String]) -> Option<(Language, &[String])> {
    let mut rest = words;
    let mut env = false;
    loop {
        let (first, behind) = rest.split_first()?;
        rest = match first.as_str() {
            "env" if !env => {
                env = true;
                behind
            }
            "-u" | "--unset" if env => behind.get(1..)?,
            "-i" | "-" | "-0" | "-v" | "--ignore-environment" | "--" if env => behind,
            word if env && word.starts_with("--unset=") => behind,
            // Another directory, or words in a text: not followed.
            word if env && word.starts_with('-') => return None,
            word if assigns(word) => behind,
            word => return interpreter(word).map(|language| (language, behind)),
        };
    }
}

fn assigns(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The script that the words run, if they name one.
pub(super) fn script(words: &[String]) -> Option<(Language, String)> {
    let (language, arguments) = called(words)?;
    let operand = match language {
        Language::Python => python(arguments),
        Language::Node => node(arguments),
    }?;
    let end = match language {
        Language::Python => ".py",
        Language::Node => ".js",
    };
    is_named(operand, end).then(|| (language, operand.clone()))
}

fn python(arguments: &[String]) -> Option<&String> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-" => return None,
            "--" => return rest.next(),
            "-W" | "-X" | "-Q" | "--check-hash-based-pycs" => {
                rest.next();
            }
            long if long.starts_with("--") => {}
            cluster if cluster.starts_with('-') => {
                // What follows these letters is their value.
                let letters = cluster.trim_start_matches('-').chars().take_while(|c| !"WXQ".contains(*c));
                if letters.into_iter().any(|letter| matches!(letter, 'c' | 'm' | 'V' | 'h')) {
                    return None;
                }
            }
            _ => return Some(argument),
        }
    }
    None
}

fn node(arguments: &[String]) -> Option<&String> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-" => return None,
            "--" => return rest.next(),
            "-r"
            | "--require"
            | "--import"
            | "--loader"
            | "--experimental-loader"
            | "-C"
            | "--conditions" => {
                rest.next();
            }
            option if option.starts_with('-') => {
                let name = option.split('=').next().unwrap_or_default();
                if matches!(
                    name,
                    "-e" | "--eval" | "-p" | "--print" | "-pe" | "-c" | "--check" | "-v" | "--version"
                ) {
                    return None;
                }
            }
            _ => return Some(argument),
        }
    }
    None
}

/// Whether the arguments run a script at all, rather than code, a module, or nothing.
pub(super) fn runs(language: Language, arguments: &[String]) -> bool {
    let idle: &[&str] = match language {
        Language::Python => &["-c", "-m", "-V", "--version", "-h", "--help", "-"],
        Language::Node => {
            &["-e", "--eval", "-p", "--print", "-c", "--check", "-v", "--version", "-h", "--help", "-pe", "-"]
        }
    };
    let options = arguments.iter().take_while(|argument| argument.starts_with('-'));
    !options.into_iter().any(|option| idle.contains(&option.split('=').next().unwrap_or_default()))
}

/// Whether a word ends as names of scripts do; the case matters, as upstream has it.
pub(super) fn is_named(word: &str, end: &str) -> bool {
    word.strip_suffix(end).is_some()
}
