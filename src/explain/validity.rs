//! Whether a configuration can be used as a whole, and whether a change leaves it so.
//!
//! The whole check is the file by itself, the layers merged for every agent, and what this host refuses of it.

use std::collections::HashMap;
use std::path::Path;

use super::refused_here;
use crate::config::{Config, ConfigError, Places, Problem};

/// How many problems a changed file has left, all of which it had before.
pub type Left = usize;

/// Everything that can be told before a sandbox is made.
pub fn check(config: &Config, places: &Places) -> Result<(), ConfigError> {
    config.refuse(problems(config, places))
}

/// What shows only once the file can be read as a whole.
fn problems(config: &Config, places: &Places) -> Vec<Problem> {
    let mut all = config.merged_problems(places);
    all.extend(refused_here(config, places));
    all
}

/// What is wrong with a text.
#[derive(Default)]
struct Look {
    problems: Vec<Problem>,
    /// The file by itself is unsound, so that nobody looked further.
    cut_short: bool,
}

impl Look {
    fn at(
        text: &str,
        file: &Path,
        places: &Places,
        var: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        match Config::parse(text, file, var) {
            Ok(config) => Ok(Self { problems: problems(&config, places), cut_short: false }),
            Err(ConfigError::Invalid { problems, .. }) => Ok(Self { problems, cut_short: true }),
            Err(error) => Err(error),
        }
    }
}

/// Refuses a change at `key` that leaves a problem which was not there before; `what` says what was changed. A file
/// that was invalid may stay so, but it may not get worse: then the problems that are left are counted.
pub fn no_worse(
    (before, after): (&str, &str),
    (key, what): (&str, &str),
    file: &Path,
    places: &Places,
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<Left, ConfigError> {
    let after = Look::at(after, file, places, var)?;
    // A text that could not be read at all had no problem that could be left.
    let before = Look::at(before, file, places, var).unwrap_or_default();
    let problems = worse(&before, &after, key);
    if problems.is_empty() {
        return Ok(after.problems.len());
    }
    // The place would be one in a text that was never written.
    let unplaced = |problem: Problem| Problem { origin: None, ..problem };
    Err(ConfigError::Change {
        key: key.to_owned(),
        what: what.to_owned(),
        problems: problems.into_iter().map(unplaced).collect(),
    })
}

/// The problems of `after` that are new. They are told apart by their words, because the keys of a list's elements
/// move when one is taken out.
fn worse(before: &Look, after: &Look, changed: &str) -> Vec<Problem> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for problem in &before.problems {
        *known.entry(&problem.message).or_default() += 1;
    }
    let mut is_new = |problem: &&Problem| match known.get_mut(problem.message.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        // Nobody looked this far before: what the change does not touch was there.
        _ => !before.cut_short || after.cut_short || touch(changed, &problem.key),
    };
    after.problems.iter().filter(|problem| is_new(problem)).cloned().collect()
}

/// One key is the other, or lies in it.
fn touch(one: &str, other: &str) -> bool {
    let within = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    within(one, other) || within(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "{agents: {defaults: {sandbox: {";

    fn change(before: &str, after: &str, key: &str) -> Result<Left, Vec<String>> {
        let places = Places { home: None, state: "/nowhere/state".into() };
        let texts = (&*format!("{OPEN}{before}}}}}}}}}"), &*format!("{OPEN}{after}}}}}}}}}"));
        let key = format!("agents.defaults.sandbox.{key}");
        no_worse(texts, (&key, "it"), Path::new("/c"), &places, &|_| None).map_err(|error| match error {
            ConfigError::Change { problems, .. } => problems.into_iter().map(|one| one.key).collect(),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn a_change_may_not_make_it_worse() {
        let bad = "agents.defaults.sandbox.";
        let refused = |key: &str| Err(vec![format!("{bad}{key}")]);
        assert_eq!(change("", "mode: 'all'", "mode"), Ok(0));
        assert_eq!(change("", "mode: 'al'", "mode"), refused("mode"));
        // What was there stays, and no more.
        let binds = |list: &str| format!("docker: {{binds: [{list}]}}");
        let (one, two) = (binds("'/etc:/x'"), binds("'/etc:/x', '/etc:/y'"));
        assert_eq!(change("", &one, "docker.binds"), refused("docker.binds[0]"));
        assert_eq!(change(&one, &format!("mode: 'all', {one}"), "mode"), Ok(1));
        assert_eq!(change(&one, &two, "docker.binds[1]"), refused("docker.binds[1]"));
        assert_eq!(change(&two, &binds("'/etc:/y'"), "docker.binds[0]"), Ok(1), "keys move");
        assert_eq!(
            change(&two, &binds("'/etc:/x', '/etc:/x'"), "docker.binds[1]"),
            refused("docker.binds[1]")
        );
        // The layers merged, by a key that is sound by itself.
        let limits = |memory: &str| format!("docker: {{memory: '{memory}', memorySwap: '1g'}}");
        assert_eq!(change(&limits("1g"), &limits("2g"), "docker.memory"), refused("docker.memorySwap"));
    }

    /// A problem that hides others may be mended one by one.
    #[test]
    fn what_was_hidden_does_not_hinder() {
        let hidden = "docker: {binds: ['/etc:/x']}";
        assert_eq!(
            change(&format!("mode: 'al', {hidden}"), &format!("mode: 'all', {hidden}"), "mode"),
            Ok(1)
        );
        assert_eq!(change("mode: 'al', scop: 1", "mode: 'all', scop: 1", "mode"), Ok(1));
        let refused = change("scop: 1", hidden, "docker");
        assert_eq!(refused, Err(vec!["agents.defaults.sandbox.docker.binds[0]".to_owned()]));
    }

    #[test]
    fn a_profile_that_is_not_there_is_a_problem() {
        let refused = change("", "docker: {seccompProfile: '/no/such/profile'}", "docker");
        assert_eq!(refused, Err(vec!["agents.defaults.sandbox.docker.seccompProfile".to_owned()]));
    }
}
