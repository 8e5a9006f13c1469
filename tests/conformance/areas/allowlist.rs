//! `allowlist.json`: shell text judged by an allowlist, safe bins and skills. Every part of the verdict is compared: whether the
//! text can be analysed, the words of its commands, what covers each of them, whether all are covered and for good, what
//! "always" would remember, whether it runs unasked, code in arguments, and the guard of control commands.

use std::cell::OnceCell;
use std::path::Path;

use creel::approvals::allowlist::Allowlist as Entries;
use creel::approvals::assess::{Assessed, By, Part, Rules, assess};
use creel::approvals::document::Entry;
use creel::approvals::enforce::enforce;
use creel::approvals::programs::{HostPrograms, Program};
use creel::approvals::safe_bins::SafeBins;
use creel::shell::analyse::{Group, Runs};
use creel::shell::guard::{self, GuardError, GuardFacts};
use serde_json::{Value, json};

use super::approvals::{entries, gaps, programs, qualities, settings, skills};
use super::fixture::Fixture;
use crate::harness::{Area, Case, Difference, Direction, Facet, Facts, Judgement, Rule};

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
        compare(&assessed, &entries(&input["allowlist"]), &expect, &mut facets);
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

    /// Anything but nothing is a refusal.
    fn refusal(&mut self, part: &str, upstream: Value, creel: Value) {
        let kind = if creel.is_null() { Difference::Looser } else { Difference::Stricter };
        self.add(part, upstream, creel, kind);
    }
}

fn compare(assessed: &Assessed, entries: &[Entry], expect: &Value, facets: &mut Facets) {
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
        let creel = if assessed.satisfied { means(assessed, entries) } else { gaps(assessed) };
        facets.add("satisfied", json!(flag("satisfied")), json!(creel), kind);
    }
    if expect.get("durable").is_some() && flag("durable") != assessed.durable {
        let kind = if assessed.durable { Difference::Looser } else { Difference::Stricter };
        facets.add("durable", json!(flag("durable")), json!(gaps(assessed)), kind);
    }
    // Satisfied, and it can be run as it was matched; a document that is allowed asks nobody.
    let pinned = enforce(assessed, false);
    if flag("satisfied") == assessed.satisfied && flag("autoRun") != (assessed.satisfied && pinned.is_ok()) {
        let kind = if flag("autoRun") { Difference::Stricter } else { Difference::Looser };
        let creel = pinned.err().map_or_else(|| "runs".to_owned(), |why| format!("{why:?}"));
        facets.add("autoRun", json!(flag("autoRun")), json!([creel]), kind);
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

/// By what a text is covered that upstream does not cover: an entry for the same file under another path, a command behind a
/// wrapper.
fn means(assessed: &Assessed, entries: &[Entry]) -> Vec<String> {
    let other_path = |part: &Part| {
        let By::Entry(at) = part.by else { return false };
        let Some((entry, program)) = entries.get(at).zip(part.program.as_ref()) else { return false };
        let literal = entry.pattern.contains('/') && !entry.pattern.contains(['*', '?']);
        literal && program.real.to_str() != Some(&entry.pattern)
    };
    let of = |part: &Part| {
        let mut said = qualities(part, assessed);
        if other_path(part) {
            said.push("same-file");
        }
        said.join(" ")
    };
    assessed.parts.iter().map(of).collect()
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

fn command<'a>(facts: &'a Facts<'_>) -> &'a str {
    facts.input["command"].as_str().unwrap_or_default()
}

/// Whether creel's answer, or one of its reasons, is or begins with one of these words.
fn says(facts: &Facts<'_>, wanted: &[&str]) -> bool {
    let fits = |said: &Value| {
        let said = said.as_str().unwrap_or_default();
        wanted.iter().any(|wanted| said.starts_with(wanted))
    };
    facts.creel.as_array().map_or_else(|| fits(facts.creel), |said| said.iter().any(fits))
}

/// Whether a command that nothing covers is like this.
fn uncovered(facts: &Facts<'_>, quality: &str) -> bool {
    let like = |said: &Value| {
        let mut words = said.as_str().unwrap_or_default().split(' ');
        words.next() == Some("NoEntry") && words.any(|word| word == quality)
    };
    matches!(facts.part, "satisfied" | "durable") && facts.creel.as_array().into_iter().flatten().any(like)
}

fn any_entry(facts: &Facts<'_>, wanted: impl Fn(&Value) -> bool) -> bool {
    facts.input["allowlist"].as_array().into_iter().flatten().any(wanted)
}

/// Whether every part of a looser answer has this quality or none at all.
fn by_means(facts: &Facts<'_>, quality: &str) -> bool {
    let said: Vec<&str> = facts.creel.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    facts.part == "satisfied" && said.iter().any(|said| said.split(' ').any(|word| word == quality))
}

macro_rules! rule {
    ($name:literal, $direction:ident, $applies:expr) => {
        Rule { name: $name, direction: Direction::$direction, applies: $applies }
    };
}

/// The lines of `docs/compatibility.md`.
const RULES: &[Rule] = &[
    rule!("analysis-harmless-redirects", Looser, |facts| {
        let reason = facts.input["expect"]["reason"].as_str().unwrap_or_default();
        matches!(reason, "redirect" | "heredoc")
    }),
    rule!("analysis-declarations", Looser, |facts| {
        facts.part == "analysisOk" && command(facts).starts_with("unset ")
    }),
    rule!("analysis-assignment-statements", Stricter, |facts| {
        says(facts, &["Nothing"]) && command(facts).contains('=')
    }),
    rule!("analysis-assigned-values", Stricter, |facts| {
        says(facts, &["DynamicArgument"]) && command(facts).contains('=')
    }),
    rule!("analysis-characters", Stricter, |facts| says(facts, &["Unread(Control)"])),
    rule!("analysis-dollar-quotes", Stricter, |facts| {
        ["$'", "$\""].iter().any(|quote| command(facts).contains(quote))
            && says(facts, &["DynamicArgument", "DynamicExecutable", "Unread"])
    }),
    rule!("analysis-other-shells", Stricter, |facts| {
        says(facts, &["Unread(Unmodelled(", "Unread(Disagreement)", "Test"])
    }),
    rule!("analysis-syntax", Stricter, |facts| says(facts, &["Unread(Syntax)"])),
    rule!("analysis-time-alone", Stricter, |facts| command(facts).trim() == "time"),
    rule!("entry-carriers", Stricter, |facts| says(facts, &["Unclear(Carrier)"])),
    rule!("entry-wrappers", Stricter, |facts| says(facts, &["Unclear(Wrapper)", "Untrusted("])),
    rule!("entry-shells", Stricter, |facts| says(facts, &["Unclear(Shell)"])),
    rule!("entry-environment", Stricter, |facts| says(facts, &["Unclear(Environment)"])),
    rule!("entry-evaluates", Stricter, |facts| says(facts, &["Unclear(Evaluates)"])),
    rule!("entry-found", Stricter, |facts| says(facts, &["NotFound"])),
    rule!("entry-multi-call", Stricter, |facts| uncovered(facts, "multi-call")),
    rule!("entry-directory", Stricter, |facts| uncovered(facts, "moved")),
    rule!("entry-limited-star", Stricter, |facts| {
        let limited = |entry: &Value| entry["pattern"] == "*" && entry.get("argPattern").is_some();
        facts.part == "satisfied" && says(facts, &["NoEntry"]) && any_entry(facts, limited)
    }),
    rule!("safe-bin-languages", Stricter, |facts| {
        let listed = facts.input.get("safeBins").is_some();
        listed && (uncovered(facts, "interpreter") || uncovered(facts, "shell"))
    }),
    rule!("entry-lone-shell", Stricter, |facts| {
        let lone = |part: &str| matches!(part.trim(), "bash" | "sh" | "dash" | "zsh" | "ksh" | "fish");
        uncovered(facts, "shell") && command(facts).split([';', '&', '|']).any(lone)
    }),
    rule!("entry-queries", Looser, |facts| {
        let asks = ["command -v ", "command -V ", "type ", "exit", "set -"];
        facts.part == "satisfied" && asks.iter().any(|word| command(facts).contains(word))
    }),
    rule!("safe-bin-name", Stricter, |facts| {
        let renamed = |part: &Value| {
            let (name, file) = (part["exec"]["name"].as_str(), part["exec"]["realPath"].as_str());
            let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
            part["by"] == "safeBins" && name.map(str::to_owned) != file.map(last)
        };
        matches!(facts.part, "satisfied" | "autoRun")
            && facts.input["expect"]["segments"].as_array().into_iter().flatten().any(renamed)
    }),
    rule!("entry-script", Stricter, |facts| uncovered(facts, "shell")),
    rule!("safe-bin-expansions", Stricter, |facts| uncovered(facts, "expands")),
    rule!("safe-bin-file-words", Stricter, |facts| {
        let custom = facts.input.get("safeBinProfiles").is_some();
        custom && facts.part == "satisfied" && command(facts).contains(['/', '\\', '.'])
    }),
    rule!("allowlist-inline-eval", Stricter, |facts| facts.part == "inlineEval"),
    rule!("durable-command-text", Stricter, |facts| {
        facts.part == "durable" && any_entry(facts, |entry| entry.get("commandText").is_some())
    }),
    rule!("entry-same-file", Looser, |facts| by_means(facts, "same-file")),
    rule!("entry-joined-values", Looser, |facts| by_means(facts, "wrapped")),
    rule!("run-shell-text", Looser, |facts| {
        facts.part == "autoRun" && command(facts).contains("sh ") && command(facts).contains('c')
    }),
    rule!("run-quoted-markers", Looser, |facts| facts.part == "autoRun" && command(facts).contains("<<")),
    rule!("guard-own-questions", Stricter, |facts| {
        let said = command(facts);
        facts.part == "controlGuard"
            && facts.creel == &json!("approve")
            && said.contains("approvals")
            && ["approve", "resolve", "watch", "deny"].iter().any(|word| said.contains(word))
    }),
    rule!("run-lone-marks", Looser, |facts| {
        let lone =
            |word: &str| word == "[" || word == "{" || word.contains('{') && !word.contains([',', '*', '?']);
        facts.part == "autoRun" && command(facts).split_whitespace().any(lone)
    }),
    rule!("entry-order", Other, |facts| facts.part == "by"),
    rule!("program-clean-path", Other, |facts| {
        let upstream = facts.upstream.to_string();
        facts.part == "exec" && ["/../", "/./", "//"].iter().any(|dots| upstream.contains(dots))
    }),
    rule!("program-looked-through", Other, |facts| {
        let words = command(facts);
        let through = ["sh", "stdbuf", "timeout"].iter().any(|name| words.contains(name));
        facts.part == "exec" && through
    }),
    rule!("analysis-shell-words", Other, |facts| {
        facts.part == "argv" && command(facts).contains("sh") && command(facts).contains("c ")
    }),
    rule!("analysis-time-words", Other, |facts| facts.part == "argv" && command(facts).starts_with("time ")),
    rule!("analysis-declaration-words", Other, |facts| {
        facts.part == "argv" && ["unset ", "typeset "].iter().any(|word| command(facts).starts_with(word))
    }),
    rule!("analysis-exact-words", Other, |facts| {
        let words = facts.upstream.to_string();
        facts.part == "argv" && (words.contains('\'') || command(facts).ends_with('$'))
    }),
];
