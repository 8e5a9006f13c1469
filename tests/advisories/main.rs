//! Public advisories, class by class: each row with what must be noticed and a twin that must not be. The numbers are those of
//! the rows (`A001` …).

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests: a failure here is a failed test")]

mod class1;
mod class2;

use creel::shell::analyse::{self, Argument, Group, Runs};

/// Every program that a text would run, with its words; `None` where something in it is not said or not clear.
fn programs(text: &str) -> Option<Vec<Vec<String>>> {
    fn of(groups: &[Group], found: &mut Vec<Vec<String>>) -> Option<()> {
        for candidate in groups.iter().flat_map(|group| &group.candidates) {
            match &candidate.runs {
                Runs::Program(argv) => found.push(words(argv)),
                Runs::Builtin => {}
                Runs::Shell(groups) => of(groups, found)?,
                Runs::Unclear(_) => return None,
            }
        }
        Some(())
    }
    let mut found = Vec::new();
    of(&analyse::analyse(text).ok()?, &mut found)?;
    Some(found)
}

fn words(argv: &[Argument]) -> Vec<String> {
    argv.iter().map(|word| word.text.clone()).collect()
}

/// Whether a list of bare names covers all of a text.
fn covered(allowed: &[&str], text: &str) -> bool {
    let listed = |argv: &Vec<String>| argv.first().is_some_and(|word| allowed.contains(&word.as_str()));
    programs(text).is_some_and(|programs| programs.iter().all(listed))
}

/// None of the texts is covered: a person is asked, or nothing runs.
#[track_caller]
fn misses(allowed: &[&str], texts: &[&str]) {
    for text in texts {
        assert!(!covered(allowed, text), "{text:?} is covered by {allowed:?}: {:?}", programs(text));
    }
}

/// Each of the texts is covered.
#[track_caller]
fn passes(allowed: &[&str], texts: &[&str]) {
    for text in texts {
        assert!(
            covered(allowed, text),
            "{text:?} is not covered by {allowed:?}: {:?}",
            analyse::analyse(text)
        );
    }
}
