//! PATH of a command on the gateway's host (spec `exec.md` §3.5). Pure.

use std::path::Path;

use crate::paths::lexical;

/// PATH where the gateway itself has none.
pub(super) const DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The configured directories before PATH (`tools.exec.pathPrepend`): trimmed, blank ones and repetitions dropped. A `~` at
/// the beginning is the home of the gateway's operator, also for a sandbox.
pub fn prepend(entries: &[String], home: Option<&Path>) -> Vec<String> {
    let expand = |entry: &String| lexical::expand_home(entry.trim(), home).to_str().map(str::to_owned);
    distinct(entries.iter().filter_map(expand).filter(|entry| !entry.is_empty()))
}

/// The login shell's entries before the gateway's, each once. Empty entries are dropped: they mean the current
/// directory, which is the agent's.
pub(super) fn merge(login: Option<&str>, inherited: Option<&str>) -> String {
    let inherited = inherited.filter(|path| !path.is_empty()).unwrap_or(DEFAULT);
    let entries = login.into_iter().chain([inherited]).flat_map(|path| path.split(':'));
    distinct(entries.filter(|entry| !entry.is_empty()).map(str::to_owned)).join(":")
}

/// `path` without the entries of `prepend`, which travel apart.
pub(super) fn without(path: &str, prepend: &[String]) -> String {
    let rest = path.split(':').filter(|entry| !prepend.iter().any(|one| one == entry));
    rest.collect::<Vec<_>>().join(":")
}

/// `prepend` before `path`, each entry once. Never empty: an empty PATH means the current directory.
pub(super) fn joined(prepend: &[String], path: &str) -> String {
    let rest = path.split(':').filter(|entry| !entry.is_empty()).map(str::to_owned);
    let all = distinct(prepend.iter().cloned().chain(rest));
    if all.is_empty() { DEFAULT.to_owned() } else { all.join(":") }
}

fn distinct(entries: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in entries {
        if !all.contains(&entry) {
            all.push(entry);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lists() {
        let given = texts(&[" ~/bin ", "", "  ", "/opt/x y", "/opt/x y", "~", "~user/bin", "/h/bin"]);
        let home = Some(Path::new("/h"));
        assert_eq!(prepend(&given, home), ["/h/bin", "/opt/x y", "/h/", "~user/bin"]);
        assert_eq!(prepend(&texts(&["~/bin"]), None), ["~/bin"]);
        assert_eq!(merge(Some("/a::/b"), Some("/b:/c:")), "/a:/b:/c");
        assert_eq!(merge(None, Some("/b")), "/b");
        assert_eq!(merge(None, None), DEFAULT);
        assert_eq!(merge(Some("/a"), Some("")), format!("/a:{DEFAULT}"));
        assert_eq!(without("/a:/b:/c", &texts(&["/b", "/x"])), "/a:/c");
        assert_eq!(joined(&texts(&["/b", "/x"]), "/a:/b"), "/b:/x:/a");
        assert_eq!((joined(&[], "/a"), joined(&[], "")), ("/a".to_owned(), DEFAULT.to_owned()));
    }
}
