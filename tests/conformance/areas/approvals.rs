//! What a recorded case says of entries, safe bins, skills and programs, as creel has it.

use std::path::Path;

use creel::approvals::document::{Entry, Source};
use creel::approvals::programs::{HostPrograms, Lookup as _, Program};
use creel::config::reader::Set;
use creel::config::{SafeBinProfile, SafeBinSettings};
use serde_json::Value;

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

/// The programs of the tree.
pub(crate) fn programs(input: &Value, root: &Path) -> HostPrograms {
    HostPrograms::new(&texts(&input["path"]).join(":"), Some(root.join("home/user")))
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
        let found = lookup.program(skill["resolvedPath"].as_str()?, None)?;
        Some(Program { invoked: found.invoked.with_file_name(skill["name"].as_str()?), real: found.real })
    };
    input["skillBins"].as_array().into_iter().flatten().filter_map(of).collect()
}
