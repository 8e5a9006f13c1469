//! `allow-always.json`: what "always" writes down for a command, and whether that covers the command when it comes again.

use std::cell::OnceCell;
use std::path::Path;

use creel::approvals::allowlist::{Allowlist, bound_pattern};
use creel::approvals::assess::{Assessed, Rules, assess};
use creel::approvals::document::Entry;
use creel::approvals::programs::HostPrograms;
use creel::approvals::remember::{Remembered, remember};
use creel::approvals::safe_bins::SafeBins;
use creel::config::SafeBinSettings;
use serde_json::{Value, json};

use super::approvals::{gaps, programs, qualities};
use super::fixture::Fixture;
use crate::harness::{Area, Case, Difference, Direction, Facet, Facts, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct AllowAlways {
    fixture: OnceCell<Fixture>,
}

impl Area for AllowAlways {
    fn name(&self) -> &'static str {
        "allow-always"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let fixture = self.fixture.get_or_init(|| Fixture::new(&super::approvals::tree(case.file)));
        let (input, expect) = (fixture.fill(case.input), fixture.fill(case.expect));
        let lookup = programs(&input, fixture.root());
        let assessed = assessed(&input, fixture.root(), &lookup, &[]);
        let (upstream, creel) = (theirs(&input, &expect), ours(&assessed));
        let mut facets = Vec::new();
        if upstream != creel {
            let kind = match (&upstream["patterns"], &creel["patterns"]) {
                (Value::Array(_), Value::Null) => Difference::Stricter,
                (Value::Null, Value::Array(_)) => Difference::Looser,
                _ => Difference::Other,
            };
            let upstream = json!([upstream, expect["replaySatisfied"]]);
            facets.push(Facet { part: "entries".to_owned(), upstream, creel: told(&creel, &assessed), kind });
        }
        if let Remembered::Entries(entries) = remember(&assessed) {
            let entries: Vec<&Entry> = entries.iter().collect();
            if !self::assessed(&input, fixture.root(), &lookup, &entries).satisfied {
                facets.push(Facet {
                    part: "replay".to_owned(),
                    upstream: json!(true),
                    creel: json!(false),
                    kind: Difference::Stricter,
                });
            }
        }
        Judgement::Facets(facets)
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

fn assessed(input: &Value, root: &Path, lookup: &HostPrograms, entries: &[&Entry]) -> Assessed {
    let allow = Allowlist::compile(entries, lookup);
    let safe = SafeBins::new(&SafeBinSettings::default(), lookup).with_system(&[&root.join("usr/bin")]);
    let strict_inline = input["strictInlineEval"] == json!(true);
    let rules = Rules { allow: &allow, deny: &Allowlist::default(), safe: &safe, skills: &[], strict_inline };
    let text = input["command"].as_str().unwrap_or_default();
    assess(text, Path::new(input["cwd"].as_str().unwrap_or_default()), &rules, lookup)
}

/// Upstream's entries, the hash computed where the recording leaves it out.
fn theirs(input: &Value, expect: &Value) -> Value {
    if expect["kind"] == json!("one-shot") {
        return json!({"reasons": expect["reasons"]});
    }
    let cwd = input["cwd"].as_str().unwrap_or_default();
    let of = |pattern: &Value| {
        let hashed: Vec<String> = pattern["hashedArgs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|argument| argument.as_str().unwrap_or_default().to_owned())
            .collect();
        let made = bound_pattern(cwd, &hashed);
        // The recording holds it where nothing in it depends on the tree.
        if let Some(recorded) = pattern["argPattern"].as_str().filter(|recorded| !recorded.contains("${")) {
            assert_eq!(made, recorded, "the hash of {hashed:?} in {cwd}");
        }
        json!([pattern["pattern"], made])
    };
    let patterns: Vec<Value> = expect["patterns"].as_array().into_iter().flatten().map(of).collect();
    json!({"patterns": patterns})
}

fn ours(assessed: &Assessed) -> Value {
    match remember(assessed) {
        Remembered::Entries(entries) => {
            let of = |entry: &Entry| json!([entry.pattern, entry.arg_pattern]);
            json!({"patterns": entries.iter().map(of).collect::<Vec<_>>()})
        }
        Remembered::OneShot(reasons) => {
            json!({"reasons": reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>()})
        }
    }
}

/// creel's answer, with what is in the way of each command and what it is like.
fn told(creel: &Value, assessed: &Assessed) -> Value {
    let like = assessed.parts.iter().map(|part| qualities(part, assessed).join(" "));
    json!([creel, gaps(assessed), like.collect::<Vec<_>>()])
}

fn says(facts: &Facts<'_>, wanted: &str) -> bool {
    facts.creel[1]
        .as_array()
        .into_iter()
        .flatten()
        .any(|said| said.as_str().unwrap_or_default().starts_with(wanted))
}

fn like(facts: &Facts<'_>, quality: &str) -> bool {
    let has = |said: &Value| said.as_str().unwrap_or_default().split(' ').any(|word| word == quality);
    facts.creel[2].as_array().into_iter().flatten().any(has)
}

macro_rules! rule {
    ($name:literal, $direction:ident, $applies:expr) => {
        Rule { name: $name, direction: Direction::$direction, applies: $applies }
    };
}

const RULES: &[Rule] = &[
    rule!("always-carriers", Stricter, |facts| says(facts, "Unclear(Carrier)")),
    rule!("always-wrappers", Stricter, |facts| says(facts, "Unclear(Wrapper)") || says(facts, "Untrusted(")),
    rule!("always-shells", Stricter, |facts| says(facts, "Unclear(Shell)")),
    rule!("always-found", Stricter, |facts| says(facts, "NotFound")),
    rule!("always-expansions", Stricter, |facts| like(facts, "expands")),
    rule!("always-script", Stricter, |facts| like(facts, "shell")),
    rule!("always-whole", Stricter, |facts| {
        facts.creel[2].as_array().is_some_and(|parts| parts.len() > 1) && like(facts, "interpreter")
    }),
    rule!("always-project", Stricter, |facts| facts.creel[0]["reasons"] == json!(["project-files"])),
    rule!("always-inline-eval", Stricter, |facts| facts.creel[0]["reasons"] == json!(["runtime-payload"])),
    rule!("always-harmless-redirects", Looser, |facts| {
        facts.upstream[0]["reasons"] == json!(["unplanned"])
            && facts.input["command"].as_str().is_some_and(|text| text.contains('>') || text.contains('<'))
    }),
    rule!("always-joined-values", Looser, |facts| like(facts, "wrapped")),
    rule!("always-multi-call", Other, |facts| like(facts, "multi-call")),
    rule!("always-directory", Other, |facts| like(facts, "moved")),
    rule!("always-reasons", Other, |facts| {
        facts.upstream[0].get("reasons").is_some() && facts.creel[0].get("reasons").is_some()
    }),
];
