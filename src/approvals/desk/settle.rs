//! The one way in which a question ends: first the row, then whoever waits.

use tokio::time::Instant;

use super::error::told;
use super::grant::{Grant, minted};
use super::{Desk, DeskError, Live, Record, Resolver, Settled, Status, Terms, grants, rows};
use crate::approvals::policy::{Answer, Decision};
use crate::process::store::events::EventKind;
use crate::process::store::now_ms;

/// How a question ends.
#[derive(Debug)]
pub(super) struct End {
    pub(super) status: Status,
    pub(super) answer: Answer,
    pub(super) reason: String,
    pub(super) by: Resolver,
    pub(super) terms: Option<Terms>,
}

impl End {
    /// Nobody decided.
    pub(super) fn without(status: Status, answer: Answer, reason: &str) -> Self {
        Self { status, answer, reason: reason.to_owned(), by: Resolver::system(), terms: None }
    }

    /// Somebody did.
    pub(super) fn decided(decision: Decision, terms: Option<&Terms>, by: &Resolver) -> Self {
        let status = if decision == Decision::Deny { Status::Denied } else { Status::Allowed };
        let terms = terms.filter(|terms| !terms.is_empty()).cloned();
        Self { status, answer: Answer::Decided(decision), reason: "user".to_owned(), by: by.clone(), terms }
    }

    fn decision(&self) -> Option<Decision> {
        if let Answer::Decided(decision) = self.answer { Some(decision) } else { None }
    }
}

impl Settled {
    /// An end without a decision.
    pub(super) fn none(answer: Answer, reason: &str) -> Self {
        Self { answer, reason: reason.to_owned(), terms: None, grant: None }
    }
}

impl Desk {
    /// Ends a question. Leave that cannot be recorded is not given; anything else ends it in any case.
    pub(super) fn settle(&self, live: &mut Live, end: &End) -> Result<(), DeskError> {
        let now = now_ms();
        let grant = granted(live, end, now)?;
        let record = Record {
            status: end.status,
            decision: end.decision(),
            reason: Some(end.reason.clone()),
            resolved_at_ms: Some(now),
            resolver: Some(end.by.clone()),
            grant_id: grant.as_ref().map(|grant| grant.grant_id.clone()),
            ..live.record.clone()
        };
        let terms = grant.as_ref().map(|grant| grant.terms.clone());
        let event = rows::event(&record, EventKind::ApprovalResolved, &live.question.delivery, said(&record));
        let stored = record.clone();
        let delivery = live.question.delivery.clone();
        let done = self.store().run("end a question in", move |tx| {
            let ended = rows::end(tx, &stored, Some(&event))?;
            if let Some(grant) = grant.as_ref().filter(|_| ended) {
                grants::add(tx, grant)?;
            }
            if ended && stored.reason.as_deref() == Some(super::RESTART) {
                rows::restarted(tx, &stored, delivery, now)?;
            }
            Ok(ended)
        });
        let leave = end.status == Status::Allowed;
        match done {
            Ok(false) if leave => {
                return Err(DeskError::Expired { id: record.id, why: "another creel has ended it" });
            }
            Err(error) if leave => return Err(error.into()),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(target: "approvals", %error, "the end of a question is not recorded");
            }
        }
        let settled =
            Settled { answer: end.answer, reason: end.reason.clone(), terms, grant: record.grant_id.clone() };
        live.record = record;
        live.ended = Some(Instant::now());
        live.settled.send_replace(Some(settled));
        self.inner.events.announce();
        self.announce();
        Ok(())
    }
}

/// The grant that "always" makes, where it makes one.
fn granted(live: &Live, end: &End, now: u64) -> Result<Option<Grant>, DeskError> {
    if end.decision() != Some(Decision::AllowAlways) {
        return Ok(None);
    }
    let question = &live.question;
    let Some((covers, terms)) = minted(question, end.terms.as_ref(), now)? else { return Ok(None) };
    Ok(Some(Grant {
        grant_id: crate::state::random_uuid().map_err(DeskError::Random)?,
        agent_id: question.agent.clone(),
        covers,
        operation: question.operation.clone(),
        command: live.record.command_text.clone(),
        terms,
        use_count: 0,
        created_at_ms: now,
        created_by: end.by.id.clone().unwrap_or_else(|| end.by.kind.clone()),
        approval_id: live.record.id.clone(),
        last_used_at_ms: None,
        revoked_at_ms: None,
        revoked_by: None,
    }))
}

/// The end of a question for those who listen.
fn said(record: &Record) -> String {
    let how = match (record.status, record.reason.as_deref()) {
        (Status::Allowed | Status::Denied, Some("user")) => told(record.decision).to_owned(),
        (status, reason) => format!("{} ({})", status.word(), reason.unwrap_or_default()),
    };
    format!(
        "Approval {} {how} ({}, agent {}): {}",
        record.id, record.host, record.agent_id, record.command_text
    )
}
