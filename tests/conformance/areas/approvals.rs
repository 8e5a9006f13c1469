//! What a recorded case says of entries, safe bins, skills and programs, as creel has it.

use std::path::Path;

use creel::approvals::assess::{Assessed, By, Part};
use creel::approvals::document::{Entry, Source};
use creel::approvals::programs::{HostPrograms, Lookup as _, Program};
use creel::config::reader::Set;
use creel::config::{SafeBinProfile, SafeBinSettings};
use creel::shell::analyse::is_shell;
use creel::shell::inline_eval::{interpreter_like, program};
use serde_json::Value;

/// What is in the way of each command, and of the text as a whole; of a command that nothing covers, what it is like.
pub(crate) fn gaps(assessed: &Assessed) -> Vec<String> {
    let whole = assessed.analysis.as_ref().err().map(|refused| format!("{:?}", refused.obstacle));
    let of = |part: &Part| match &part.by {
        By::Nothing(gap) => {
            Some(format!("{gap:?} {}", qualities(part, assessed).join(" ")).trim_end().to_owned())
        }
        _ => None,
    };
    whole.into_iter().chain(assessed.parts.iter().filter_map(of)).collect()
}

/// What a command is like, as far as rules ask.
pub(crate) fn qualities(part: &Part, assessed: &Assessed) -> Vec<&'static str> {
    let name = part.effective.first().map(|word| program::name(&word.text)).unwrap_or_default();
    let said = [
        (part.effective.iter().skip(1).any(|word| word.expands), "expands"),
        (is_shell(&name), "shell"),
        (interpreter_like(&name), "interpreter"),
        (part.program.as_ref().is_some_and(Program::multi_call), "multi-call"),
        (part.dir.as_deref() != Some(&assessed.cwd), "moved"),
        (!part.wrappers.is_empty(), "wrapped"),
    ];
    said.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Entries of an allowlist; a blank one is kept in its place and matches nothing.
pub(crate) fn entries(list: &Value) -> Vec<Entry> {
    let of = |entry: &Value| Entry {
        arg_pattern: text(&entry["argPattern"]),
        command_text: text(&entry["commandText"]),
        source: if entry["source"] == "allow-always" { Source::AllowAlways } else { Source::Manual },
        ..Entry::of(text(&entry["pattern"]).unwrap_or_default())
    };
    list.as_array().into_iter().flatten().map(of).collect()
}

/// The tree of a file, or that of the file beside it from which it takes its tree.
pub(crate) fn tree(file: &Value) -> Value {
    if file.get("fixture").is_some() {
        return file.clone();
    }
    let path = crate::harness::vectors().join("allowlist.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let all: Value = serde_json::from_str(&text).unwrap();
    serde_json::json!({"fixture": all["fixture"]})
}

/// The programs of the tree. No elements at all are no directory; an empty one is where the command runs.
pub(crate) fn programs(input: &Value, root: &Path) -> HostPrograms {
    let elements = texts(&input["path"]);
    let path = if elements.is_empty() { "/nonexistent".to_owned() } else { elements.join(":") };
    HostPrograms::new(&path, Some(root.join("home/user")))
}

/// The keys of safe bins; numbers that the configuration would refuse are brought into its range.
pub(crate) fn settings(input: &Value) -> SafeBinSettings {
    let keyed = |value| Set { value, key: String::new() };
    let number = |value: &Value| value.as_f64().filter(|number| *number >= 0.0).map(whole);
    let profile = |value: &Value| {
        let least = number(&value["minPositional"]).unwrap_or_default();
        SafeBinProfile {
            min_positional: least,
            max_positional: number(&value["maxPositional"]).map(|most| most.max(least)),
            value_flags: texts(&value["allowedValueFlags"]),
            denied_flags: texts(&value["deniedFlags"]),
        }
    };
    let profiles = input["safeBinProfiles"].as_object().into_iter().flatten();
    SafeBinSettings {
        bins: input.get("safeBins").map(|list| keyed(texts(list))),
        trusted_dirs: texts(&input["safeBinTrustedDirs"])
            .into_iter()
            .map(|directory| Set { value: directory, key: String::new() })
            .collect(),
        profiles: profiles.map(|(name, value)| (name.trim().to_lowercase(), profile(value))).collect(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a recording")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Programs of skills, where they count.
pub(crate) fn skills(input: &Value, lookup: &HostPrograms) -> Vec<Program> {
    if input["autoAllowSkills"] != Value::Bool(true) {
        return Vec::new();
    }
    let of = |skill: &Value| {
        // Whoever supplies them writes names and paths as they are.
        let found = lookup.program(skill["resolvedPath"].as_str()?.trim(), None)?;
        let name = skill["name"].as_str()?.trim().to_lowercase();
        Some(Program { invoked: found.invoked.with_file_name(name), real: found.real })
    };
    input["skillBins"].as_array().into_iter().flatten().filter_map(of).collect()
}
