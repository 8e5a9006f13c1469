//! Names of programs.

use super::table;

/// The name of a program as it is called: without directory and `.exe`, in lower case.
pub fn name(executable: &str) -> String {
    let base = executable.trim().rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    base.strip_suffix(".exe").map_or(base.clone(), str::to_owned)
}

/// A name without a version behind it: `python3.11`, `node-18`, `lua5.4`.
pub(crate) fn unversioned(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if bare.len() == name.len() { name } else { bare.strip_suffix('-').unwrap_or(bare) }
}

/// Whether a pattern of an allowlist names an interpreter, with a version or wildcards behind the name. An entry for one
/// says nothing about what it is given to run.
pub fn interpreter_like(pattern: &str) -> bool {
    let name = name(pattern);
    let tail = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '*' | '?');
    let bare = name.trim_end_matches(tail);
    !bare.is_empty() && [name.as_str(), bare].iter().any(|name| table::listed(name))
}
