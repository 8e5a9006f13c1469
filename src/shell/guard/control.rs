//! Commands that steer the gateway, which no agent runs.

use super::GuardError;
use crate::shell::inline_eval::program;
use crate::shell::lines::Line;

/// The answers that an approval takes.
const ANSWERS: &[&str] = &["allow-once", "allow-always", "always", "deny"];

/// The command line's own name for what waits for a person.
const APPROVALS: [&str; 2] = ["approvals", "exec-approvals"];

/// Whether a command line is one of them.
pub(super) fn refuses(line: &Line<'_>) -> Option<GuardError> {
    if !line.rough {
        return judge(line.argv);
    }
    (0..line.argv.len()).find_map(|at| judge(line.argv.get(at..)?))
}

fn judge(argv: &[String]) -> Option<GuardError> {
    let (first, rest) = argv.split_first()?;
    if first == "/approve" || first.starts_with("/approve@") {
        let answer = rest.get(1).is_some_and(|word| ANSWERS.contains(&word.to_ascii_lowercase().as_str()));
        return answer.then_some(GuardError::Approve);
    }
    let name = program::name(first);
    let name = name.strip_suffix(".cmd").unwrap_or(&name);
    // A package runner takes a version behind the name.
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    // Whoever may run programs here may speak to the keeper: its command line is the chat of this machine.
    if matches!(name, "creel" | "openclaw") && asks_for(rest, &APPROVALS, &["approve", "resolve", "watch"]) {
        return Some(GuardError::Approve);
    }
    let logs_in = name == "openclaw" && asks_for(rest, &["channels", "channel"], &["login"]);
    logs_in.then(|| GuardError::ChannelLogin { command: shown(argv) })
}

/// Whether the first two operands are of these. Behind an option that is not known, a word may be its value.
fn asks_for(arguments: &[String], first: &[&str], second: &[&str]) -> bool {
    let operands = |from: usize| {
        let rest = arguments.get(from..).unwrap_or_default();
        let mut value = false;
        rest.iter().enumerate().filter_map(move |(at, word)| {
            let option = word.starts_with('-');
            let may_be_value = std::mem::replace(&mut value, option && !word.contains('='));
            (!option).then_some((from + at, word, may_be_value))
        })
    };
    for (at, word, may_be_value) in operands(0) {
        if first.contains(&word.as_str()) {
            for (_, next, may_be_value) in operands(at + 1) {
                if second.contains(&next.as_str()) {
                    return true;
                }
                if !may_be_value {
                    break;
                }
            }
        }
        if !may_be_value {
            return false;
        }
    }
    false
}

fn shown(argv: &[String]) -> String {
    let words: Vec<&str> = argv.iter().take(6).map(String::as_str).collect();
    crate::shown::one_line(&words.join(" "))
}
