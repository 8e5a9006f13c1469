//! Which arguments a program may have. What is not positively known is refused (spec `approvals.md` §6.3).

use crate::config::SafeBinProfile;

/// The rules for one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) min: usize,
    pub(super) max: Option<usize>,
    /// Options with a value.
    pub(super) values: Vec<String>,
    /// Options without one.
    pub(super) booleans: Vec<String>,
    pub(super) denied: Vec<String>,
    /// It was written by a person, for a program that creel does not know.
    pub(super) custom: bool,
}

/// What is known of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Value,
    Boolean,
    Denied,
}

impl Profile {
    pub(super) fn custom(written: &SafeBinProfile) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            min: number(written.min_positional),
            max: written.max_positional.map(|most| number(most.max(written.min_positional))),
            values: written.value_flags.clone(),
            booleans: Vec::new(),
            denied: written.denied_flags.clone(),
            custom: true,
        }
    }

    /// Whether each argument is known.
    pub(super) fn accepts(&self, arguments: &[String]) -> bool {
        self.operands(arguments)
            .is_some_and(|count| count >= self.min && self.max.is_none_or(|most| count <= most))
    }

    /// How many operands there are; nothing where an argument is refused.
    fn operands(&self, arguments: &[String]) -> Option<usize> {
        let mut count = 0;
        let mut rest = arguments.iter().map(String::as_str);
        let mut options = true;
        while let Some(token) = rest.next() {
            match token {
                "" | "-" if options => {}
                "--" if options => options = false,
                long if options && long.starts_with("--") => self.long(long, &mut rest)?,
                short if options && short.starts_with('-') => self.cluster(short, &mut rest)?,
                operand => {
                    self.literal(operand).then_some(())?;
                    count += 1;
                }
            }
        }
        Some(count)
    }

    /// `--name`, `--name=value`, and beginnings of a name that mean one option only.
    fn long<'a>(&self, token: &'a str, rest: &mut impl Iterator<Item = &'a str>) -> Option<()> {
        let (name, joined) = token.split_once('=').map_or((token, None), |(name, value)| (name, Some(value)));
        match (self.named(name)?, joined) {
            (Known::Denied, _) | (Known::Boolean, Some(_)) => None,
            (Known::Boolean, None) => Some(()),
            (Known::Value, Some(value)) => self.literal(value).then_some(()),
            (Known::Value, None) => self.value(rest.next()?),
        }
    }

    /// Letters behind one dash, read one by one.
    fn cluster<'a>(&self, token: &'a str, rest: &mut impl Iterator<Item = &'a str>) -> Option<()> {
        for (at, letter) in token.char_indices().skip(1) {
            match self.known(&format!("-{letter}"))? {
                Known::Denied => return None,
                Known::Boolean => {}
                Known::Value => {
                    let behind = token.get(at + letter.len_utf8()..).unwrap_or_default();
                    return self.value(if behind.is_empty() { rest.next()? } else { behind });
                }
            }
        }
        Some(())
    }

    fn value(&self, value: &str) -> Option<()> {
        (!value.is_empty() && self.literal(value)).then_some(())
    }

    fn known(&self, flag: &str) -> Option<Known> {
        let listed = |flags: &[String]| flags.iter().any(|known| known == flag);
        if listed(&self.denied) {
            return Some(Known::Denied);
        }
        if listed(&self.values) {
            return Some(Known::Value);
        }
        listed(&self.booleans).then_some(Known::Boolean)
    }

    /// A long option by its name or by a beginning of it that no other option has.
    fn named(&self, name: &str) -> Option<Known> {
        if let Some(known) = self.known(name) {
            return Some(known);
        }
        let all = self.denied.iter().chain(&self.values).chain(&self.booleans);
        let mut meant: Vec<&String> =
            all.filter(|flag| flag.starts_with("--") && flag.starts_with(name)).collect();
        meant.sort_unstable();
        meant.dedup();
        match meant.as_slice() {
            [one] => self.known(one),
            _ => None,
        }
    }

    /// Whether a word can be neither expanded nor opened as a file (6.10).
    fn literal(&self, word: &str) -> bool {
        let drive = word.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
            && word.get(1..).is_some_and(|rest| rest.starts_with(":\\"));
        let path = ["./", "../", "~", "/"].iter().any(|start| word.starts_with(start)) || drive;
        let expands = word.contains(['*', '?', '[', ']', '`']) || parameter(word);
        let file = path || self.custom && names_a_file(word);
        !file && !expands
    }
}

/// Whether a dollar begins an expansion in it.
fn parameter(word: &str) -> bool {
    let special = |next: char| {
        next.is_ascii_alphanumeric()
            || matches!(next, '_' | '{' | '(' | '[' | '@' | '*' | '#' | '?' | '$' | '!' | '-')
    };
    word.match_indices('$')
        .any(|(at, _)| word.get(at + 1..).and_then(|rest| rest.chars().next()).is_some_and(special))
}

/// Whether a word may name a file of a program that creel knows nothing about: it leads somewhere, is hidden, or has an
/// ending. Nothing on disk is asked.
fn names_a_file(word: &str) -> bool {
    let ending = |(name, end): (&str, &str)| {
        !name.is_empty()
            && (1..=5).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
    };
    word.contains(['/', '\\']) || word.starts_with('.') || word.rsplit_once('.').is_some_and(ending)
}
