//! The automatic reviewer looks at a command before a person does (spec `approvals.md` §13).

use tokio_util::sync::CancellationToken;

use super::ask::{Case, Open};
use super::error::ExecError;
use crate::approvals::host::{Cleared, Review};
use crate::approvals::policy::Reason;
use crate::approvals::review::{self, Analysis, Reviewed};
use crate::tools::ToolError;

/// What follows from a review.
pub(super) enum Outcome {
    /// A person decides.
    Person,
    /// This one run.
    Allowed(Cleared),
    /// No, and why; nobody is asked.
    Denied(String),
}

/// Asks the reviewer, where it may be asked.
pub(super) async fn review(
    case: &Case<'_>,
    open: &mut Open,
    cancel: &CancellationToken,
) -> Result<Outcome, ToolError> {
    if *open.asking.review() != Review::Eligible {
        return Ok(Outcome::Person);
    }
    let session = case.job.gathered.subject.session.as_str();
    let told = told(case, open);
    let reviewer = case.toolbox.waiting.reviewer();
    let settings = &case.job.gathered.exec.reviewer;
    let reviewed = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ExecError::Aborted.into()),
        reviewed = reviewer.review(settings, session, &told) => reviewed,
    };
    Ok(match reviewed {
        Reviewed::Allow { rationale } => {
            tracing::info!(target: "approvals", session, %rationale, "the reviewer allowed a command");
            open.asking.reviewed().map_or(Outcome::Person, Outcome::Allowed)
        }
        Reviewed::Deny { rationale } => {
            tracing::info!(target: "approvals", session, %rationale, "the reviewer denied a command");
            Outcome::Denied(rationale)
        }
        Reviewed::Ask(why) => {
            open.asking.deferred(&why);
            Outcome::Person
        }
    })
}

/// What the reviewer is told (13.05).
fn told(case: &Case<'_>, open: &Open) -> review::Case {
    let assessed = &case.look.assessed;
    let (resolved_path, argv) = case.look.single().map_or((None, None), |(path, argv)| (path, Some(argv)));
    let mut env_keys: Vec<String> = case.fixed.env.iter().map(|(name, _)| name.clone()).collect();
    env_keys.sort();
    let inline_eval = assessed.strict_inline && assessed.inline.is_some();
    let reason = match open.asking.reason() {
        Reason::InlineEval => "strict-inline-eval",
        _ if assessed.heredoc => "heredoc",
        Reason::Unpinned => "execution-plan-miss",
        Reason::Miss => "allowlist-miss",
        Reason::Environment => "environment-miss",
        _ => "approval-required",
    };
    review::Case {
        command: case.job.params.command.clone(),
        argv,
        resolved_path,
        cwd: case.fixed.cwd.clone(),
        env_keys,
        host: "gateway".to_owned(),
        reason: reason.to_owned(),
        analysis: Analysis {
            parsed: assessed.analysis.is_ok(),
            allowlist_matched: assessed.satisfied,
            durable_approval_matched: assessed.durable,
            inline_eval,
            heredoc: assessed.heredoc,
        },
        said: case.job.context.transcript.clone(),
    }
}
