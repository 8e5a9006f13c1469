//! One finding, in one shape for every check.

use serde::Serialize;

/// How much it matters; ordered, what matters least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Looked at, and as it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Works, and not as it should.
    Warning,
    /// Sandboxes do not work, or a rule is not in force.
    Error,
}

/// What `--fix` can do about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// Keys of former versions are rewritten.
    LegacyKeys,
    /// Modes of creel's own directories.
    StateModes,
    /// Containers that never became ready, or ended.
    BrokenSandboxes,
    /// Rendezvous directories of nobody.
    StaleRuns,
    /// Mode of the approvals document.
    ApprovalsFile,
    /// The agent `default` of the approvals document is called `main`.
    ApprovalsAgent,
    /// Programs that are configured as filters get an empty profile.
    SafeBinProfiles,
    /// Approvals that match nothing are removed.
    WaitingApprovals,
    /// The policy of `OpenClaw`'s database becomes the approvals document.
    ImportApprovals,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable id.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub what: String,
    /// The rule: file and key, or the built-in rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The smallest change that helps; empty where nothing has to be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// `--fix` does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}

impl Finding {
    fn new(id: &'static str, severity: Severity, what: impl Into<String>) -> Self {
        Self { id, severity, what: what.into(), rule: None, fix: String::new(), repair: None }
    }

    /// As it should be.
    pub(super) fn ok(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Ok, what)
    }

    /// Worth knowing.
    pub(super) fn note(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Note, what)
    }

    /// Works, and not as it should.
    pub(super) fn warning(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Warning, what)
    }

    /// Does not work.
    pub(super) fn error(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, what)
    }

    /// No sandbox can be made: an error where sessions use them, else a warning, because `creel exec` makes one
    /// whatever the mode is.
    pub(super) fn without_sandbox(used: bool, id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, if used { Severity::Error } else { Severity::Warning }, what)
    }

    #[must_use]
    pub(super) fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    #[must_use]
    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    #[must_use]
    pub(super) fn repair(mut self, repair: Repair) -> Self {
        self.repair = Some(repair);
        self
    }
}
