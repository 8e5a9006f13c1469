//! Findings that an operator has accepted: `security.audit.suppressions` (spec `approvals.md` 17.05). They are told apart from
//! the others, never hidden. Pure.

use serde::Serialize;
use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::at;
use crate::config::Document;
use crate::config::index::{element, member};

/// The key.
const KEY: &str = "security.audit.suppressions";
const KNOWN: [&str; 4] = ["checkId", "titleIncludes", "detailIncludes", "reason"];
/// The finding that says that some are suppressed.
const ACTIVE: &str = "security.audit.suppressions.active";
const INVALID: &str = "security.audit.suppressions.invalid";

/// A finding that was accepted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suppressed {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// The operator's reason.
    pub suppression_reason: String,
    /// The key that accepts it.
    pub suppressed_by: String,
}

struct Rule<'a> {
    key: String,
    check: &'a str,
    title: Option<String>,
    detail: Option<String>,
    reason: &'a str,
}

/// Parts findings into those that stand and those that were accepted. What cannot be read suppresses nothing.
pub(super) fn part(document: &Document, findings: Vec<Finding>) -> (Vec<Finding>, Vec<Suppressed>) {
    let Some(written) = at(document.root(), &["security", "audit", "suppressions"]) else {
        return (findings, Vec::new());
    };
    let Some(items) = written.as_array() else {
        let mut findings = findings;
        findings.push(invalid(document, KEY, "it is no list"));
        return (findings, Vec::new());
    };
    let mut rules = Vec::new();
    let (mut standing, mut accepted) = (Vec::new(), Vec::new());
    for (place, item) in items.iter().enumerate() {
        let key = element(KEY, place);
        match rule(item, &key) {
            Ok(rule) => rules.push(rule),
            Err((key, why)) => standing.push(invalid(document, &key, why)),
        }
    }
    for finding in findings {
        match rules.iter().find(|rule| rule.meets(&finding)) {
            Some(rule) => accepted.push(Suppressed {
                finding,
                suppression_reason: rule.reason.to_owned(),
                suppressed_by: rule.key.clone(),
            }),
            None => standing.push(finding),
        }
    }
    if !rules.is_empty() {
        standing.push(active(document, rules.len(), accepted.len()));
    }
    (standing, accepted)
}

fn rule<'a>(item: &'a Value, key: &str) -> Result<Rule<'a>, (String, &'static str)> {
    let map = item.as_object().ok_or((key.to_owned(), "it is no object"))?;
    if let Some(unknown) = map.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err((member(key, unknown), "the key is not known"));
    }
    let text = |name: &str| match map.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.as_str())),
        Some(_) => Err((member(key, name), "it is no text, or blank")),
    };
    let missing = |name: &str| (member(key, name), "it is missing");
    let lower = |text: Option<&str>| text.map(str::to_lowercase);
    Ok(Rule {
        key: key.to_owned(),
        check: text("checkId")?.ok_or_else(|| missing("checkId"))?,
        title: lower(text("titleIncludes")?),
        detail: lower(text("detailIncludes")?),
        reason: text("reason")?.ok_or_else(|| missing("reason"))?,
    })
}

impl Rule<'_> {
    fn meets(&self, finding: &Finding) -> bool {
        let within = |part: &Option<String>, text: &str| {
            part.as_ref().is_none_or(|part| text.to_lowercase().contains(part.as_str()))
        };
        finding.check_id == self.check
            && within(&self.title, &finding.title)
            && within(&self.detail, &finding.detail)
    }
}

fn active(document: &Document, rules: usize, accepted: usize) -> Finding {
    Finding::new(
        ACTIVE,
        Severity::Info,
        "Findings are suppressed",
        format!("{rules} suppressions hold back {accepted} findings; they are listed below the others"),
        format!("remove what is no longer accepted from {KEY}"),
    )
    .at(document, KEY)
}

fn invalid(document: &Document, key: &str, why: &str) -> Finding {
    Finding::new(
        INVALID,
        Severity::Warn,
        "A suppression has no effect",
        format!("{key}: {why}"),
        "write checkId and reason, and titleIncludes or detailIncludes where they help",
    )
    .at(document, key)
}
