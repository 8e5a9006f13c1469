//! Where a rule is written: file, key, line and column.

use serde::Serialize;

use crate::approvals::document::{Coverage, Entry, Source};
use crate::approvals::policy;
use crate::config::Config;
use crate::config::index::{self, Index};

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The key, or the name of a built-in rule.
    pub key: String,
    /// The file; absent for what is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The entry of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryShown>,
}

impl Rule {
    /// Something that is built in.
    pub fn built_in(key: impl Into<String>) -> Self {
        Self { key: key.into(), file: None, line: None, column: None, entry: None }
    }

    /// A key of the configuration; one that is not written is built in.
    pub fn in_config(config: &Config, key: &str) -> Self {
        let Some(at) = config.origin(key) else { return Self::built_in(key) };
        Self {
            key: key.to_owned(),
            file: Some(at.file.display().to_string()),
            line: Some(at.line),
            column: Some(at.column),
            entry: None,
        }
    }

    /// Where a value comes from. `what` names the key of a built-in one.
    pub fn of_source(source: &policy::Source, what: &str, config: &Config, document: Option<&Index>) -> Self {
        match source {
            policy::Source::Key(key) | policy::Source::Derived(key) => Self::in_config(config, key),
            policy::Source::Document { locator, key } => in_document(key, locator, document),
            policy::Source::BuiltIn | policy::Source::Inherited => {
                Self::built_in(format!("tools.exec.{what} (creel default)"))
            }
        }
    }

    /// As people read it: `file:line:column key`, with the entry.
    pub fn shown(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        if let Some(file) = &self.file {
            text.push_str(&crate::shown::one_line(file));
            if let (Some(line), Some(column)) = (self.line, self.column) {
                let _ = write!(text, ":{line}:{column}");
            }
            text.push(' ');
        }
        text.push_str(&crate::shown::one_line(&self.key));
        if let Some(entry) = &self.entry {
            let _ = write!(text, " = {}", entry.shown());
        }
        text
    }
}

/// A key of an approvals document; `index` is that of the file's text, for line and column.
pub fn in_document(key: &str, file: &str, index: Option<&Index>) -> Rule {
    let at = index.and_then(|index| index.get(&written(key)));
    Rule {
        key: key.to_owned(),
        file: Some(file.to_owned()),
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        entry: None,
    }
}

/// A key as the index of a text spells it: ids of agents are told bare (`agents.*.ask`), and quoted there.
fn written(key: &str) -> String {
    let split = key.strip_prefix("agents.").and_then(|rest| rest.rsplit_once('.'));
    split.map_or_else(|| key.to_owned(), |(id, last)| format!("{}.{last}", index::member("agents", id)))
}

/// An entry of a list, as far as it decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryShown {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its pattern.
    pub pattern: String,
    /// What arguments must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// What of a command it looks at.
    pub covers: &'static str,
    /// An approval wrote it.
    pub approved: bool,
}

impl EntryShown {
    /// Of an entry.
    pub fn of(entry: &Entry) -> Self {
        Self {
            id: entry.id.clone(),
            pattern: entry.pattern.clone(),
            arg_pattern: entry.arg_pattern.clone(),
            covers: entry.coverage().label(),
            approved: entry.source == Source::AllowAlways,
        }
    }

    /// As people read it.
    pub fn shown(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("{:?}", crate::shown::one_line(&self.pattern));
        if let Some(pattern) = &self.arg_pattern {
            let _ = write!(text, " with arguments {:?}", crate::shown::one_line(pattern));
        }
        if self.covers == Coverage::Inactive.label() {
            text.push_str(" (inactive)");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_document_has_line_and_column() {
        let text = "{\n  \"version\": 1,\n  \"agents\": {\"*\": {\"allowlist\": [\"rg\"]}}\n}";
        let index = Index::of(text).unwrap();
        let rule = in_document("agents.*.allowlist[0]", "a.json", Some(&index));
        assert_eq!((rule.line, rule.column), (Some(3), Some(34)), "{rule:?}");
        assert_eq!(rule.shown(), "a.json:3:34 agents.*.allowlist[0]");
        let missing = in_document("defaults.ask", "a.json", Some(&index));
        assert_eq!((missing.line, missing.shown().as_str()), (None, "a.json defaults.ask"));
    }

    #[test]
    fn what_deceives_is_spelled_out() {
        let entry = Entry { arg_pattern: Some("^x\u{202e}$".to_owned()), ..Entry::of("/bin/\u{1b}x") };
        let shown = EntryShown::of(&entry).shown();
        assert!(!shown.contains('\u{202e}') && !shown.contains('\u{1b}'), "{shown}");
    }
}
