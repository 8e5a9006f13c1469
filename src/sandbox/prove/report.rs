//! The result of a proof.

use serde::{Deserialize, Serialize};

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// No program may gain privileges.
    NoNewPrivileges,
    /// Dropped capabilities are gone from every set.
    Capabilities,
    /// A system-call filter is active.
    Seccomp,
    /// Real, effective, saved and file-system user and group.
    User,
    /// No supplementary group.
    Groups,
    /// Network interfaces.
    Network,
    /// The root file system is mounted read-only.
    ReadOnlyRoot,
    /// A bind mount shows the directory that was validated, in the mode asked for.
    Mount,
    /// Nothing writable is mounted below a read-only bind mount.
    Submounts,
    /// A temporary file system is there.
    Tmpfs,
    /// Limit on processes and threads.
    Pids,
    /// Limit on memory.
    Memory,
    /// Limit on memory plus swap.
    Swap,
    /// Limit on CPU time.
    Cpu,
    /// Limits on one process.
    Ulimits,
    /// `AppArmor` profile.
    Apparmor,
}

impl Rule {
    /// A rule of the boundary itself: what cannot be observed counts as not enforced (unknown never means yes).
    fn is_boundary(self) -> bool {
        matches!(
            self,
            Self::NoNewPrivileges
                | Self::Capabilities
                | Self::Seccomp
                | Self::Network
                | Self::ReadOnlyRoot
                | Self::Mount
                | Self::Apparmor
        )
    }

    /// Every rule, in the order of a report.
    pub const ALL: [Self; 16] = [
        Self::NoNewPrivileges,
        Self::Capabilities,
        Self::Seccomp,
        Self::User,
        Self::Groups,
        Self::Network,
        Self::ReadOnlyRoot,
        Self::Mount,
        Self::Submounts,
        Self::Tmpfs,
        Self::Pids,
        Self::Memory,
        Self::Swap,
        Self::Cpu,
        Self::Ulimits,
        Self::Apparmor,
    ];

    /// Reads [`Self::as_str`] back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == word)
    }

    /// The word that configuration and JSON use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoNewPrivileges => "no-new-privileges",
            Self::Capabilities => "capabilities",
            Self::Seccomp => "seccomp",
            Self::User => "user",
            Self::Groups => "groups",
            Self::Network => "network",
            Self::ReadOnlyRoot => "read-only-root",
            Self::Mount => "mount",
            Self::Submounts => "submounts",
            Self::Tmpfs => "tmpfs",
            Self::Pids => "pids",
            Self::Memory => "memory",
            Self::Swap => "swap",
            Self::Cpu => "cpu",
            Self::Ulimits => "ulimits",
            Self::Apparmor => "apparmor",
        }
    }
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The kernel enforces what was asked for.
    Ok,
    /// It does not.
    NotEnforced,
    /// It cannot be observed from where creel stands.
    Unknown,
}

impl Verdict {
    pub(super) fn of(ok: bool) -> Self {
        if ok { Self::Ok } else { Self::NotEnforced }
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is checked.
    pub rule: Rule,
    /// Which one, where a rule has several subjects: a path in the container.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<String>,
    /// What was asked for.
    pub asked: String,
    /// What the kernel says.
    pub observed: String,
    /// The outcome.
    pub verdict: Verdict,
}

impl Check {
    pub(super) fn new(
        rule: Rule,
        asked: impl Into<String>,
        observed: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        Self { rule, subject: None, asked: asked.into(), observed: observed.into(), verdict }
    }

    pub(super) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Rule and subject, for people.
    pub fn title(&self) -> String {
        match &self.subject {
            Some(subject) => format!("{} {subject}", self.rule.as_str()),
            None => self.rule.as_str().to_owned(),
        }
    }
}

/// All comparisons of one container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hardening {
    /// In a fixed order: process, network, files, limits.
    pub checks: Vec<Check>,
    /// What is no gap but should be known.
    pub warnings: Vec<String>,
}

impl Hardening {
    /// The checks that failed.
    pub fn gaps(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.verdict == Verdict::NotEnforced)
    }

    /// The checks that could not be made.
    pub fn unknown(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.verdict == Verdict::Unknown)
    }

    /// The checks that forbid the container: failed, or not observable where the boundary itself is concerned, and
    /// not covered by `allowed`.
    pub fn refused(&self, allowed: &[Rule]) -> Vec<Check> {
        let bad = |check: &&Check| match check.verdict {
            Verdict::Ok => false,
            Verdict::NotEnforced => true,
            Verdict::Unknown => check.rule.is_boundary(),
        };
        self.checks.iter().filter(bad).filter(|check| !allowed.contains(&check.rule)).cloned().collect()
    }

    /// Lets the engine's own word decide about limits that could not be observed: an engine that says that it
    /// cannot enforce a limit does not. Its yes changes nothing.
    pub fn believe_the_worst(&mut self, can: impl Fn(Rule) -> bool) {
        let limits = [Rule::Pids, Rule::Memory, Rule::Swap, Rule::Cpu];
        for check in &mut self.checks {
            if check.verdict == Verdict::Unknown && limits.contains(&check.rule) && !can(check.rule) {
                check.verdict = Verdict::NotEnforced;
                "the engine says that it cannot".clone_into(&mut check.observed);
            }
        }
    }
}
