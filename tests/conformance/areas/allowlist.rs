//! `allowlist.json`: shell text judged by an allowlist, safe bins and skills. Every part of the verdict is compared: whether the
//! text can be analysed, the words of its commands, what covers each of them, whether all are covered and for good, what
//! "always" would remember, whether it runs unasked, code in arguments, and the guard of control commands.

use std::cell::OnceCell;
use std::path::Path;

use creel::approvals::allowlist::Allowlist as Entries;
use creel::approvals::assess::{Assessed, By, Part, Rules, assess};
use creel::approvals::programs::{HostPrograms, Program};
use creel::approvals::safe_bins::SafeBins;
use creel::shell::analyse::{Group, Obstacle, Runs};
use creel::shell::guard::{self, GuardError, GuardFacts};
use serde_json::{Value, json};

use super::approvals::{entries, programs, settings, skills};
use super::fixture::Fixture;
use crate::harness::{Area, Case, Difference, Direction, Facet, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct Allowlist {
    fixture: OnceCell<Fixture>,
}

impl Area for Allowlist {
    fn name(&self) -> &'static str {
        "allowlist"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let fixture = self.fixture.get_or_init(|| Fixture::new(case.file));
        let (input, expect) = (fixture.fill(case.input), fixture.fill(case.expect));
        let assessed = assessed(&input, fixture.root());
        let mut facets = Facets::default();
        compare(&assessed, &expect, &mut facets);
        let command = input["command"].as_str().unwrap_or_default();
        let guarded = match guard::check(command, &GuardFacts::default()) {
            Err(GuardError::Approve) => json!("approve"),
            Err(GuardError::ChannelLogin { .. }) => json!("channel-login"),
            _ => Value::Null,
        };
        facets.refusal("controlGuard", expect["controlGuard"].clone(), guarded);
        Judgement::Facets(facets.list)
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

/// creel's verdict. The system's programs are those of the recording: `usr/bin` of the tree.
fn assessed(input: &Value, root: &Path) -> Assessed {
    let lookup: HostPrograms = programs(input, root);
    let entries = entries(&input["allowlist"]);
    let allow = Entries::compile(&entries.iter().collect::<Vec<_>>(), &lookup);
    let safe = SafeBins::new(&settings(input), &lookup).with_system(&[&root.join("usr/bin")]);
    let skills: Vec<Program> = skills(input, &lookup);
    let rules =
        Rules { allow: &allow, deny: &Entries::default(), safe: &safe, skills: &skills, strict_inline: true };
    let text = input["command"].as_str().unwrap_or_default();
    assess(text, Path::new(input["cwd"].as_str().unwrap_or_default()), &rules, &lookup)
}

/// Differences, each with its direction.
#[derive(Default)]
struct Facets {
    list: Vec<Facet>,
}

impl Facets {
    fn add(&mut self, part: &str, upstream: Value, creel: Value, kind: Difference) {
        if upstream != creel {
            self.list.push(Facet { part: part.to_owned(), upstream, creel, kind });
        }
    }

    /// `true` is the generous answer.
    fn allowed(&mut self, part: &str, upstream: bool, creel: bool) {
        let kind = if upstream { Difference::Stricter } else { Difference::Looser };
        self.add(part, json!(upstream), json!(creel), kind);
    }

    /// Anything but nothing is a refusal.
    fn refusal(&mut self, part: &str, upstream: Value, creel: Value) {
        let kind = if creel.is_null() { Difference::Looser } else { Difference::Stricter };
        self.add(part, upstream, creel, kind);
    }
}

fn compare(assessed: &Assessed, expect: &Value, facets: &mut Facets) {
    let flag = |name: &str| expect[name].as_bool().unwrap_or_default();
    let upstream = flag("analysisOk");
    let kind = if upstream { Difference::Stricter } else { Difference::Looser };
    let said = match &assessed.analysis {
        Ok(_) => json!(true),
        Err(refused) => json!(format!("{:?}", refused.obstacle)),
    };
    if upstream != assessed.analysis.is_ok() {
        facets.add("analysisOk", json!(upstream), said, kind);
    }
    if flag("satisfied") != assessed.satisfied {
        let kind = if assessed.satisfied { Difference::Looser } else { Difference::Stricter };
        facets.add("satisfied", json!(flag("satisfied")), json!(gaps(assessed)), kind);
    }
    if expect.get("durable").is_some() {
        facets.allowed("durable", flag("durable"), assessed.durable);
    }
    if upstream && assessed.analysis.is_ok() {
        facets.refusal("inlineEval", expect["inlineEval"].clone(), json!(assessed.inline));
        segments(assessed, expect, facets);
    }
}

/// The words of each command and, where both say the same of the whole, what covers each.
fn segments(assessed: &Assessed, expect: &Value, facets: &mut Facets) {
    let listed = expect["segments"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let theirs: Vec<Vec<String>> = listed
        .iter()
        .map(|segment| segment["argv"].as_array().into_iter().flatten().map(text).collect())
        .collect();
    let groups = assessed.analysis.as_deref().unwrap_or_default();
    facets.add("argv", json!(theirs), json!(words(groups)), Difference::Other);
    if listed.len() != assessed.parts.len() || expect["satisfied"] != json!(assessed.satisfied) {
        return;
    }
    for (segment, part) in listed.iter().zip(&assessed.parts) {
        let (by, entry) = covered(part);
        let kind = match (segment["by"].is_null(), by.is_null()) {
            (false, true) => Difference::Stricter,
            (true, false) => Difference::Looser,
            _ => Difference::Other,
        };
        let upstream = json!([segment["by"], segment.get("entry").unwrap_or(&Value::Null)]);
        facets.add("by", upstream, json!([by, entry]), kind);
        let creel = part.program.as_ref().map(|program| json!([program.invoked, program.real]));
        let upstream = json!([segment["exec"]["path"], segment["exec"]["realPath"]]);
        if let Some(creel) = creel.filter(|_| upstream != json!([null, null])) {
            facets.add("exec", upstream, creel, Difference::Other);
        }
    }
}

/// What is in the way of each command, and of the text as a whole.
fn gaps(assessed: &Assessed) -> Vec<String> {
    let whole = assessed.analysis.as_ref().err().map(|refused| format!("{:?}", refused.obstacle));
    let of = |part: &Part| match &part.by {
        By::Nothing(gap) => Some(format!("{gap:?}")),
        _ => None,
    };
    whole.into_iter().chain(assessed.parts.iter().filter_map(of)).collect()
}

fn covered(part: &Part) -> (Value, Value) {
    match part.by {
        By::Entry(at) => (json!("allowlist"), json!(at)),
        By::SafeBin => (json!("safeBins"), Value::Null),
        By::Builtin => (json!("safeBuiltins"), Value::Null),
        By::Skill => (json!("skills"), Value::Null),
        By::Nothing(_) => (Value::Null, Value::Null),
    }
}

/// The words of each command as upstream lists them: those of a shell's text in place of the shell's, the closing bracket
/// left out, `time` as a word.
fn words(groups: &[Group]) -> Vec<Vec<String>> {
    let mut listed = Vec::new();
    for candidate in groups.iter().flat_map(|group| &group.candidates) {
        if let Runs::Shell(groups) = &candidate.runs {
            listed.extend(words(groups));
            continue;
        }
        let mut argv: Vec<String> = candidate.argv.iter().map(|word| word.text.clone()).collect();
        if argv.first().is_some_and(|word| word == "[") {
            argv.pop();
        }
        if candidate.wrappers.first().is_some_and(|word| word == "time")
            && argv.first().is_some_and(|word| word != "time")
        {
            argv.insert(0, "time".to_owned());
        }
        listed.push(argv);
    }
    listed
}

fn command<'a>(facts: &'a crate::harness::Facts<'_>) -> &'a str {
    facts.input["command"].as_str().unwrap_or_default()
}

fn obstacle(facts: &crate::harness::Facts<'_>, wanted: &[Obstacle]) -> bool {
    wanted.iter().any(|wanted| facts.creel == &json!(format!("{wanted:?}")))
}

/// The lines of `docs/compatibility.md`.
const RULES: &[Rule] = &[
    Rule {
        name: "analysis-harmless-redirects",
        direction: Direction::Looser,
        applies: |facts| {
            let reason = facts.input["expect"]["reason"].as_str().unwrap_or_default();
            facts.part == "analysisOk" && matches!(reason, "redirect" | "heredoc")
        },
    },
    Rule {
        name: "analysis-declarations",
        direction: Direction::Looser,
        applies: |facts| facts.part == "analysisOk" && command(facts).starts_with("unset "),
    },
    Rule {
        name: "analysis-assignment-statements",
        direction: Direction::Stricter,
        applies: |facts| obstacle(facts, &[Obstacle::Nothing]) && command(facts).contains('='),
    },
    Rule {
        name: "analysis-assigned-values",
        direction: Direction::Stricter,
        applies: |facts| {
            obstacle(facts, &[Obstacle::DynamicArgument]) && command(facts).contains("=/")
                || command(facts).contains("=$")
        },
    },
    Rule {
        name: "analysis-characters",
        direction: Direction::Stricter,
        applies: |facts| facts.creel == &json!("Unread(Control)"),
    },
    Rule {
        name: "analysis-dollar-quotes",
        direction: Direction::Stricter,
        applies: |facts| {
            facts.part == "analysisOk" && ["$'", "$\""].iter().any(|quote| command(facts).contains(quote))
        },
    },
    Rule {
        name: "analysis-other-shells",
        direction: Direction::Stricter,
        applies: |facts| {
            let said = facts.creel.as_str().unwrap_or_default();
            said.starts_with("Unread(Unmodelled(")
                || said == "Unread(Disagreement)"
                || obstacle(facts, &[Obstacle::Test])
        },
    },
    Rule {
        name: "analysis-syntax",
        direction: Direction::Stricter,
        applies: |facts| facts.creel == &json!("Unread(Syntax)"),
    },
    Rule {
        name: "analysis-time-alone",
        direction: Direction::Stricter,
        applies: |facts| command(facts).trim() == "time",
    },
    Rule {
        name: "analysis-shell-words",
        direction: Direction::Other,
        applies: |facts| {
            facts.part == "argv" && command(facts).contains("sh") && command(facts).contains("c ")
        },
    },
    Rule {
        name: "analysis-time-words",
        direction: Direction::Other,
        applies: |facts| facts.part == "argv" && command(facts).starts_with("time "),
    },
    Rule {
        name: "analysis-declaration-words",
        direction: Direction::Other,
        applies: |facts| {
            facts.part == "argv" && ["unset ", "typeset "].iter().any(|word| command(facts).starts_with(word))
        },
    },
    Rule {
        name: "analysis-exact-words",
        direction: Direction::Other,
        applies: |facts| {
            let words = facts.upstream.to_string();
            facts.part == "argv" && (words.contains('\'') || command(facts).ends_with('$'))
        },
    },
];
