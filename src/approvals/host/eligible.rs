//! Whether the automatic reviewer may be asked about a command (spec `approvals.md` 13.01, 13.02): only about one that is
//! exactly fixed.

use super::asking::Review;
use crate::approvals::assess::{Assessed, By, Gap, Part};
use crate::approvals::policy::ModePolicy;
use crate::shell::analyse::{Group, Runs};

/// Commands of a text that is still reviewed.
const MOST: usize = 64;
const UNBOUND: &str = "Exec auto-review skipped: dispatch chain cannot be bound";
const UNREAD: &str = "Exec auto-review skipped: the command cannot be analysed";
const TOO_MANY: &str = "Exec auto-review skipped: the text has too many commands";
const SUPPRESSES: &str = "Exec auto-review skipped: a change of audit suppressions needs a person";
const STARTUP: &str =
    "Exec auto-review skipped: startup files of a login or interactive shell need human approval";

/// What of the wrappers leaves open what runs.
const INDIRECT: [&str; 6] = ["builtin", "command", "exec", "xcrun", "busybox", "toybox"];

pub(super) fn eligible(policy: ModePolicy, assessed: &Assessed) -> Review {
    if !policy.reviewer() {
        return Review::Off;
    }
    let Ok(groups) = &assessed.analysis else { return Review::Skipped(UNREAD) };
    if assessed.unseen {
        return Review::Skipped(UNREAD);
    }
    if assessed.suppresses {
        return Review::Skipped(SUPPRESSES);
    }
    if groups.iter().map(|group| group.candidates.len()).sum::<usize>().max(assessed.parts.len()) > MOST {
        return Review::Skipped(TOO_MANY);
    }
    if assessed.parts.iter().any(starts_a_shell) {
        return Review::Skipped(STARTUP);
    }
    let nested = groups.iter().flat_map(|group: &Group| &group.candidates);
    let nested = nested.into_iter().any(|candidate| matches!(candidate.runs, Runs::Shell(_)));
    if nested || !assessed.parts.iter().all(direct) {
        return Review::Skipped(UNBOUND);
    }
    Review::Eligible
}

/// A shell that reads startup files.
fn starts_a_shell(part: &Part) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let Some(word) = part.argv.first().map(|word| name(&word.text)) else { return false };
    let shell = matches!(word.as_str(), "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish");
    let startup = |text: &str| {
        matches!(text, "--login" | "--interactive" | "--rcfile" | "--init-file")
            || text
                .strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains(['l', 'i']))
    };
    shell && part.argv.iter().skip(1).any(|word| startup(&word.text))
}

/// Every program that it starts is named and was found.
fn direct(part: &Part) -> bool {
    let wrapped = part.wrappers.iter().all(|(word, program)| {
        let name = word.rsplit('/').next().unwrap_or_default();
        program.is_some() && !INDIRECT.contains(&name)
    });
    let clear = !matches!(part.by, By::Nothing(Gap::NotFound | Gap::Unclear(_)));
    let found = part.program.is_some() || part.by == By::Builtin;
    wrapped && clear && found && !part.nested
}
