//! What of a command nothing covers, in one line, and how it is listed. Pure.

use super::assess::{Assessed, Part};
use super::explain::{change, words};
use crate::process::shorten::middle;
use crate::shell::analyse::Refused;
use crate::shown;

/// Most characters of a command that are told in a message.
const SHOWN: usize = 120;

/// The first command that nothing covers, and why; of a text that is not understood what stands in the way.
pub(super) fn told(assessed: &Assessed) -> Option<String> {
    if let Err(refused) = &assessed.analysis {
        return Some(format!("it cannot be analysed: {}", obstacle(refused)));
    }
    let mut missed = assessed.parts.iter().filter(|part| !part.by.covers());
    let first = missed.next()?;
    let more = match missed.count() {
        0 => String::new(),
        1 => "; nor one more".to_owned(),
        more => format!("; nor {more} more"),
    };
    Some(format!("{:?}: {}{more}", text(assessed, first), words::covered(&first.by)))
}

/// Ways to look at it and to list it: commands to paste where they can be typed.
pub(super) fn ways(assessed: &Assessed, agent: &str) -> String {
    let look = if assessed.text.chars().any(shown::deceives) {
        "creel explain exec".to_owned()
    } else {
        format!("creel explain exec --agent {} -- {}", change::quoted(agent), change::quoted(&assessed.text))
    };
    match change::listing(assessed, agent) {
        Some(command) => format!("list it: `{command}`; see all of it: `{look}`"),
        None => format!("see what would have to be listed, or written otherwise: `{look}`"),
    }
}

fn obstacle(refused: &Refused) -> String {
    words::obstacle(refused.obstacle).1
}

/// A command as it stands in the text, on one line.
fn text(assessed: &Assessed, part: &Part) -> String {
    let words = || part.argv.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let typed = assessed.text.get(part.span.start..part.span.end).filter(|text| !text.is_empty());
    middle(&shown::one_line(&typed.map_or_else(words, str::to_owned)), SHOWN)
}
