//! `allow-always.json`: what "always" writes down for a command, and whether that covers the command when it comes again.

use std::cell::OnceCell;
use std::path::Path;

use creel::approvals::allowlist::{Allowlist, bound_pattern};
use creel::approvals::assess::{Assessed, By, Gap, Rules, assess};
use creel::approvals::document::Entry;
use creel::approvals::programs::HostPrograms;
use creel::approvals::remember::{Remembered, remember};
use creel::approvals::safe_bins::SafeBins;
use creel::config::SafeBinSettings;
use serde_json::{Value, json};

use super::approvals::programs;
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

/// creel's answer, with what is in the way of each command.
fn told(creel: &Value, assessed: &Assessed) -> Value {
    let whole = assessed.analysis.as_ref().err().map(|refused| format!("{:?}", refused.obstacle));
    let gaps = assessed.parts.iter().filter_map(|part| match &part.by {
        By::Nothing(Gap::NoEntry) | By::Entry(_) | By::SafeBin | By::Builtin | By::Skill => None,
        By::Nothing(gap) => Some(format!("{gap:?}")),
    });
    json!([creel, whole.into_iter().chain(gaps).collect::<Vec<_>>()])
}

const RULES: &[Rule] = &[];
