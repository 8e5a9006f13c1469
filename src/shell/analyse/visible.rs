//! Every command that can be seen in a text, for rules that deny: also in one that is refused as a whole, and as guesses where
//! it cannot be read. Whoever allows never looks here.

use std::collections::HashMap;

use crate::shell::lines::{self, UNKNOWN};

/// Most words that are told in all.
const MAX_WORDS: usize = 200_000;

/// What can be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visible {
    /// The words of each command, wrappers' inner commands and shells' texts among them; outer ones first. Parts of a word
    /// that are not known are `\0`.
    pub commands: Vec<Vec<String>>,
    /// The name of a command is not known, or the text cannot be read: there may be others.
    pub hidden: bool,
    /// There is more than is looked at.
    pub exceeded: bool,
    /// Directories that are gone to, each as written; the first is where the text starts.
    pub directories: Vec<String>,
    /// Values that PATH is given.
    pub paths: Vec<String>,
}

/// Looks at a text.
pub fn visible(text: &str) -> Visible {
    visible_with(text, [])
}

/// Looks at a text; the values of some variables are known.
pub fn visible_with(text: &str, variables: impl IntoIterator<Item = (String, String)>) -> Visible {
    let variables: HashMap<String, String> = variables.into_iter().collect();
    let mut seen = Visible::default();
    let mut left = MAX_WORDS;
    let looked = lines::each(text, variables, &mut |line| {
        let unknown = line.argv.first().is_some_and(|word| word.contains(UNKNOWN));
        seen.hidden |= line.rough || line.hidden || unknown && !line.guess;
        if line.directories.len() > seen.directories.len() {
            seen.directories = line.directories.to_vec();
        }
        if line.paths.len() > seen.paths.len() {
            seen.paths = line.paths.to_vec();
        }
        // A guess may begin at each of its words.
        let starts = if line.rough { line.argv.len() } else { 1 };
        for words in (0..starts).filter_map(|at| line.argv.get(at..)) {
            let Some(rest) = left.checked_sub(words.len()) else {
                seen.exceeded = true;
                return;
            };
            left = rest;
            seen.commands.push(words.to_vec());
        }
    });
    seen.exceeded |= looked.is_err();
    seen
}
