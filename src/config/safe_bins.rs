//! `tools.exec.safeBins` and its neighbours: programs that only filter their input (spec `approvals.md` §6).

use std::collections::BTreeMap;

use super::reader::{Block, Set};

const PROFILE_KEYS: &[&str] = &["minPositional", "maxPositional", "allowedValueFlags", "deniedFlags"];

/// What one layer says; `None` where it says nothing.
#[derive(Debug, Clone, Default)]
pub struct SafeBinLayer {
    /// The programs; replaces the list of the layer below.
    pub bins: Option<Set<Vec<String>>>,
    /// Directories whose programs are trusted, as written; added to those of the layer below.
    pub trusted_dirs: Option<Set<Vec<String>>>,
    /// Profiles by name; each replaces the one of that name of the layer below, and a built-in one.
    pub profiles: BTreeMap<String, Set<SafeBinProfile>>,
}

/// Which arguments a program may have. What is not declared is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafeBinProfile {
    /// Fewest operands.
    pub min_positional: u64,
    /// Most operands; no limit where absent. Never below the fewest.
    pub max_positional: Option<u64>,
    /// Options that take a value, long or short.
    pub value_flags: Vec<String>,
    /// Options that are refused, even as an abbreviation.
    pub denied_flags: Vec<String>,
}

/// The settings that hold for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafeBinSettings {
    /// The programs, in lower case, with the key that names them; the built-in list where absent.
    pub bins: Option<Set<Vec<String>>>,
    /// Trusted directories beside the built-in ones, each with its key.
    pub trusted_dirs: Vec<Set<String>>,
    /// Profiles by name, in lower case.
    pub profiles: BTreeMap<String, SafeBinProfile>,
}

impl SafeBinLayer {
    /// Reads the keys out of a block `exec`.
    pub(super) fn read(block: &Block<'_>) -> Self {
        let words = |name: &str| {
            let set = block.list(name)?;
            Some(set.map(|items| items.iter().filter_map(|item| entry(block, item)).collect()))
        };
        let trusted_dirs = words("safeBinTrustedDirs");
        for directory in trusted_dirs.iter().flat_map(|set: &Set<Vec<String>>| &set.value) {
            if !directory.starts_with('/') && !directory.starts_with("~/") {
                let message = format!("{directory:?} is no absolute directory");
                block.problem(
                    "safeBinTrustedDirs",
                    message,
                    "write absolute directories, like /opt/homebrew/bin",
                );
            }
        }
        let profiles =
            block.open("safeBinProfiles").map(|profiles| read_profiles(&profiles)).unwrap_or_default();
        Self { bins: words("safeBins"), trusted_dirs, profiles }
    }
}

fn entry(block: &Block<'_>, item: &Set<String>) -> Option<String> {
    let text = item.value.trim().to_owned();
    if text.is_empty() || text.chars().any(char::is_control) {
        block.problem_at(
            &item.key,
            format!("{:?} names nothing", item.value),
            "write a name, or remove the entry",
        );
        return None;
    }
    Some(text)
}

fn read_profiles(profiles: &Block<'_>) -> BTreeMap<String, Set<SafeBinProfile>> {
    let of = |name: &str| {
        let block = profiles.closed(name, PROFILE_KEYS)?;
        let min_positional = block.whole("minPositional", 0).map_or(0, |set| set.value);
        let max_positional = block.whole("maxPositional", 0).map(|set| set.value.max(min_positional));
        let value = SafeBinProfile {
            min_positional,
            max_positional,
            value_flags: flags(&block, "allowedValueFlags"),
            denied_flags: flags(&block, "deniedFlags"),
        };
        Some((name.trim().to_lowercase(), Set { value, key: profiles.key(name) }))
    };
    profiles.names().into_iter().filter_map(of).collect()
}

/// Options as they are typed: `--name`, or a dash and one character.
fn flags(block: &Block<'_>, name: &str) -> Vec<String> {
    let items = block.list(name).map(|set| set.value).unwrap_or_default();
    let flag = |item: Set<String>| {
        let text = item.value.trim();
        let long = text.strip_prefix("--").is_some_and(|rest| !rest.is_empty() && !rest.contains('='));
        let short = text.chars().count() == 2 && text.starts_with('-') && text != "--";
        if !long && !short {
            let message = format!("{:?} is no option", item.value);
            block.problem_at(&item.key, message, "write options as --name or -x, without a value");
            return None;
        }
        Some(text.to_owned())
    };
    items.into_iter().filter_map(flag).collect()
}

impl SafeBinSettings {
    /// The agent's values over the global ones.
    pub fn merge(global: &SafeBinLayer, agent: &SafeBinLayer) -> Self {
        let lower = |set: &Set<Vec<String>>| {
            let value = set.value.iter().map(|name| name.to_lowercase()).collect();
            Set { value, key: set.key.clone() }
        };
        let dirs = |layer: &SafeBinLayer| {
            let keyed = |set: &Set<Vec<String>>| {
                let of = |directory: &String| Set { value: directory.clone(), key: set.key.clone() };
                set.value.iter().map(of).collect::<Vec<_>>()
            };
            layer.trusted_dirs.as_ref().map(keyed).unwrap_or_default()
        };
        let mut profiles = global.profiles.clone();
        profiles.extend(agent.profiles.clone());
        Self {
            bins: agent.bins.as_ref().or(global.bins.as_ref()).map(lower),
            trusted_dirs: dirs(global).into_iter().chain(dirs(agent)).collect(),
            profiles: profiles.into_iter().map(|(name, set)| (name, set.value)).collect(),
        }
    }
}
