//! Programs that only filter their input, as configured, and lists of interpreters (spec `approvals.md` §17.1, 17.02). Pure.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::{self, at};
use crate::approvals::safe_bins::broad;
use crate::config::Document;
use crate::config::index::element;
use crate::shell::inline_eval::{interpreter_like, program};

/// How many directories are told.
const TOLD: usize = 10;
/// Directories that anybody may write to.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/private/tmp"];
/// Directories of package managers: their users write there without being root.
const MANAGED: [&str; 4] =
    ["/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin", "/home/linuxbrew/.linuxbrew/bin"];

/// Interpreters by their names without a version (17.02).
const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "busybox",
    "bun",
    "cmd",
    "cscript",
    "dash",
    "deno",
    "fish",
    "gawk",
    "gsed",
    "ksh",
    "lua",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "perl",
    "php",
    "powershell",
    "pypy",
    "pwsh",
    "python",
    "ruby",
    "sed",
    "sh",
    "toybox",
    "wscript",
    "zsh",
];

/// A block `exec` and its key.
struct Scope<'a> {
    key: String,
    exec: &'a Value,
}

/// `writable`: trusted directories of the configuration that others may write to on this machine.
pub(super) fn checks(document: &Document, home: Option<&Path>, writable: &[PathBuf]) -> Vec<Finding> {
    let root = document.root();
    let scopes = scopes(root);
    let global = at(root, &["tools", "exec", "safeBinProfiles"]);
    let mut all = Vec::new();
    for scope in &scopes {
        let profiles = [global, scope.exec.get("safeBinProfiles")];
        let profiled = |name: &str| {
            let of = |map: &Value| {
                map.as_object().is_some_and(|map| map.keys().any(|key| key.trim().eq_ignore_ascii_case(name)))
            };
            profiles.iter().copied().flatten().any(of)
        };
        for (name, key) in bins(scope) {
            if broad(&name) {
                all.push(broad_behavior(&name).at(document, &key));
            }
            if interpreter(&name) && !profiled(&name) {
                all.push(unprofiled(&name).at(document, &key));
            }
        }
    }
    all.extend(trusted(document, &scopes, home, writable));
    all
}

/// The global block, then that of every agent.
fn scopes(root: &Value) -> Vec<Scope<'_>> {
    let global = at(root, &["tools", "exec"]).map(|exec| Scope { key: "tools.exec".to_owned(), exec });
    let agents = raw::agents(root).into_iter().filter_map(|layer| {
        Some(Scope { key: format!("{}.tools.exec", layer.key), exec: at(layer.block, &["tools", "exec"])? })
    });
    global.into_iter().chain(agents).collect()
}

/// The texts of a list of a scope, each with its key.
fn texts<'a>(scope: &'a Scope<'_>, list: &str) -> Vec<(&'a str, String)> {
    let key = format!("{}.{list}", scope.key);
    let items = scope.exec.get(list).and_then(Value::as_array).into_iter().flatten().enumerate();
    items.filter_map(|(place, item)| Some((item.as_str()?.trim(), element(&key, place)))).collect()
}

fn bins(scope: &Scope<'_>) -> Vec<(String, String)> {
    texts(scope, "safeBins").into_iter().map(|(name, key)| (program::name(name), key)).collect()
}

fn interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let listed = INTERPRETERS.contains(&bare);
    listed || interpreter_like(name) && !broad(name)
}

fn broad_behavior(name: &str) -> Finding {
    Finding::new(
        "tools.exec.safe_bins_broad_behavior",
        Severity::Warn,
        "A language is listed as a safe bin",
        format!(
            "{name} reads files, runs programs or reads the environment by itself; creel ignores the entry"
        ),
        format!("remove {name}; an entry of the allowlist with argPattern can allow one use of it"),
    )
}

fn unprofiled(name: &str) -> Finding {
    Finding::new(
        "tools.exec.safe_bins_interpreter_unprofiled",
        Severity::Warn,
        "An interpreter is listed as a safe bin, without a profile",
        format!("{name} runs what its arguments say; creel ignores the entry"),
        format!("remove {name}; an entry of the allowlist with argPattern can allow one use of it"),
    )
}

fn trusted(
    document: &Document,
    scopes: &[Scope<'_>],
    home: Option<&Path>,
    writable: &[PathBuf],
) -> Option<Finding> {
    let mut risky: Vec<(String, &'static str, String)> = Vec::new();
    for scope in scopes {
        for (directory, key) in texts(scope, "safeBinTrustedDirs") {
            let open = writable.iter().any(|open| open.as_path() == full(directory, home));
            let why = risk(directory, home).or_else(|| open.then_some("others may write there"));
            risky.extend(why.map(|why| (directory.to_owned(), why, key)));
        }
    }
    let (_, _, first) = risky.first()?;
    let mut told: Vec<String> =
        risky.iter().take(TOLD).map(|(directory, why, _)| format!("{directory} ({why})")).collect();
    if risky.len() > TOLD {
        told.push("…".to_owned());
    }
    let finding = Finding::new(
        "tools.exec.safe_bin_trusted_dirs_risky",
        Severity::Warn,
        "Programs of a directory that others may change count as filters",
        told.join(", "),
        "trust directories that only root writes to; for the rest use paths in the allowlist",
    );
    Some(finding.at(document, first))
}

/// Trusted directories of every scope as they are on disk, to be looked at.
pub(super) fn trusted_dirs(document: &Document, home: Option<&Path>) -> Vec<PathBuf> {
    let scopes = scopes(document.root());
    let all = scopes.iter().flat_map(|scope| texts(scope, "safeBinTrustedDirs"));
    all.map(|(directory, _)| full(directory, home)).filter(|directory| directory.is_absolute()).collect()
}

fn full(directory: &str, home: Option<&Path>) -> PathBuf {
    let path = match (directory.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(directory),
    };
    crate::paths::lexical::clean(path)
}

fn risk(directory: &str, home: Option<&Path>) -> Option<&'static str> {
    if directory.starts_with('~') {
        return Some("in a home directory");
    }
    if !directory.starts_with('/') {
        return Some("relative");
    }
    let path = full(directory, home);
    let below = |list: &[&str]| list.iter().any(|parent| path.starts_with(parent));
    if below(&SHARED) {
        Some("anybody may write there")
    } else if MANAGED.iter().any(|managed| path == Path::new(managed)) {
        Some("a package manager's")
    } else if home.is_some_and(|home| home != Path::new("/") && path.starts_with(home))
        || below(&["/home", "/Users", "/root"])
        || path.to_str().is_some_and(|text| format!("{text}/").contains("/.local/bin/"))
    {
        Some("in a home directory")
    } else {
        None
    }
}
