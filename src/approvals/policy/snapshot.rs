//! Whether a policy still is what was approved under (spec `approvals.md` 11.11).

use super::effective::Effective;
use crate::approvals::document::{Coverage, Entry, Source};
use crate::config::exec::{Ask, Security};

/// One entry as far as it decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    pattern: String,
    arg_pattern: Option<String>,
    always: bool,
    coverage: Coverage,
}

/// The policy at the time of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    security: Security,
    ask: Ask,
    ask_fallback: Security,
    auto_allow_skills: bool,
    rules: Vec<Rule>,
}

impl Snapshot {
    /// Of what holds, and of the entries that hold.
    pub fn of(effective: &Effective, allowlist: &[&Entry]) -> Self {
        let rule = |entry: &&Entry| Rule {
            pattern: entry.pattern.clone(),
            arg_pattern: entry.arg_pattern.clone(),
            always: entry.source == Source::AllowAlways,
            coverage: entry.coverage(),
        };
        Self {
            security: effective.security.effective,
            ask: effective.ask.effective,
            ask_fallback: effective.ask_fallback.value,
            auto_allow_skills: effective.auto_allow_skills,
            rules: allowlist.iter().map(rule).collect(),
        }
    }

    /// Whether an approval that was asked for under this policy may be used under another: nothing that decides was
    /// removed or changed. Added entries, and entries that became approvals for good and still match, change nothing.
    pub fn holds_under(&self, now: &Self) -> bool {
        let kept = |rule: &Rule| {
            now.rules.iter().any(|other| {
                rule.pattern == other.pattern
                    && rule.arg_pattern == other.arg_pattern
                    && (rule.always == other.always || other.always && other.coverage != Coverage::Inactive)
            })
        };
        (self.security, self.ask, self.ask_fallback, self.auto_allow_skills)
            == (now.security, now.ask, now.ask_fallback, now.auto_allow_skills)
            && self.rules.iter().all(kept)
    }
}
