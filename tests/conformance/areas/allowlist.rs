//! `allowlist.json`: shell text. Judged so far: whether a text can be analysed, the words of its commands, and the guard of
//! control commands.

use creel::shell::analyse::{self, Group, Obstacle, Runs};
use creel::shell::guard::{self, GuardError, GuardFacts};
use serde_json::{Value, json};

use crate::harness::{Area, Case, Difference, Direction, Facet, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct Allowlist;

impl Area for Allowlist {
    fn name(&self) -> &'static str {
        "allowlist"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let root = "/vectors";
        let text = |value: &Value| value.as_str().unwrap_or_default().replace("${ROOT}", root);
        let command = text(&case.input["command"]);
        let said = analyse::analyse(&command);
        let mut facets = Vec::new();
        let mut differ = |part: &str, upstream: Value, creel: Value, kind| {
            if upstream != creel {
                facets.push(Facet { part: part.to_owned(), upstream, creel, kind });
            }
        };
        let upstream = case.expect["analysisOk"].as_bool().unwrap_or_default();
        let kind = if upstream { Difference::Stricter } else { Difference::Looser };
        let creel = match &said {
            Ok(_) => json!(true),
            Err(refused) => json!(format!("{:?}", refused.obstacle)),
        };
        if upstream != said.is_ok() {
            differ("analysisOk", json!(upstream), creel, kind);
        }
        if let (true, Ok(groups)) = (upstream, &said) {
            let segments = case.expect["segments"].as_array().map_or(&[][..], Vec::as_slice);
            let theirs: Vec<Vec<String>> = segments
                .iter()
                .map(|segment| segment["argv"].as_array().into_iter().flatten().map(text).collect())
                .collect();
            differ("argv", json!(theirs), json!(words(groups)), Difference::Other);
        }
        let guarded = match guard::check(&command, &GuardFacts::default()) {
            Err(GuardError::Approve) => json!("approve"),
            Err(GuardError::ChannelLogin { .. }) => json!("channel-login"),
            _ => Value::Null,
        };
        let kind = if guarded.is_null() { Difference::Looser } else { Difference::Stricter };
        differ("controlGuard", case.expect["controlGuard"].clone(), guarded, kind);
        Judgement::Facets(facets)
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
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
