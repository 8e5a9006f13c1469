//! The automatic reviewer of mode `auto` (spec `approvals.md` §13): an external command or an HTTP endpoint that looks at what
//! is exactly fixed, and allows one run, denies, or leaves it to a person. Every failure leaves it to a person.

use serde::Serialize;

/// What the reviewer is told (13.05).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// The command.
    pub command: String,
    /// Its words, where it is one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Its program, where it is one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    /// The directory.
    pub cwd: String,
    /// Names of variables, sorted.
    pub env_keys: Vec<String>,
    /// The host.
    pub host: String,
    /// Why it is asked.
    pub reason: String,
    /// What is known of it.
    pub analysis: Analysis,
}

/// What is known of the command.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Analysis {
    /// It was understood.
    pub parsed: bool,
    /// The list covers it.
    pub allowlist_matched: bool,
    /// An approval for good covers it.
    pub durable_approval_matched: bool,
    /// It carries code in an argument.
    pub inline_eval: bool,
}

/// What the reviewer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewed {
    /// This one run.
    Allow {
        /// Why, shortened.
        rationale: String,
    },
    /// No; another way is safer.
    Deny {
        /// Why, shortened.
        rationale: String,
    },
    /// A person decides, and why the reviewer does not.
    Ask(String),
}

/// The reviewer that is configured, and what it has denied in a row for each session (13.15). Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Reviewer {}

impl Reviewer {
    /// Asks about a command.
    pub async fn review(
        &self,
        settings: &crate::config::exec::ReviewerSettings,
        session: &str,
        case: &Case,
    ) -> Reviewed {
        let _ = (settings, session, case);
        todo!()
    }

    /// A person has decided: the count of denials begins anew.
    pub fn decided(&self, session: &str) {
        let _ = session;
    }
}
