//! A command that waits for a person after its call has returned: a task of the keeper waits for the answer, starts the
//! command in the background or tells that it was denied (spec `exec.md` §12.4, `approvals.md` 9.51, 9.53).

use std::sync::Arc;

use super::ask::{Asked, Case, Open, Refused, answered, delivery};
use super::beside::Fixed;
use super::decide::Decided;
use super::gather::Gathered;
use super::job::Job;
use super::look::Look;
use super::params::Params;
use super::shape::{self, Around, Reason};
use crate::approvals::desk::Ticket;
use crate::process::store::events::{EventContext, EventKind, NewEvent};
use crate::tools::{Context, Toolbox};

/// Everything that is needed when the answer comes.
pub(super) struct Later {
    toolbox: Toolbox,
    gathered: Arc<Gathered>,
    params: Params,
    context: Context,
    call: Option<String>,
    tty: Option<(u16, u16)>,
    background: bool,
    decided: Decided,
    fixed: Fixed,
    look: Arc<Look>,
    open: Open,
    ticket: Ticket,
    around: Around,
}

impl Later {
    pub(super) fn of(case: &Case<'_>, open: Open, ticket: Ticket) -> Self {
        let Case { toolbox, job, decided, fixed, look } = case;
        Self {
            toolbox: Toolbox { waiting: toolbox.waiting.lent(), ..(*toolbox).clone() },
            gathered: Arc::clone(job.gathered),
            params: job.params.clone(),
            context: job.context.clone(),
            call: job.call.clone(),
            tty: job.tty,
            background: job.background,
            decided: (*decided).clone(),
            fixed: (*fixed).clone(),
            look: Arc::clone(look),
            open,
            ticket,
            around: Around::default(),
        }
    }

    fn job(&self) -> Job<'_> {
        Job {
            gathered: &self.gathered,
            params: &self.params,
            context: &self.context,
            call: self.call.clone(),
            tty: self.tty,
            background: self.background,
            approval: None,
        }
    }

    async fn wait(mut self) {
        let desk = self.toolbox.desk.clone();
        // Given up only with its keeper: no answer can revive it then.
        let mut asked = Asked::new(&desk, &self.ticket.id, "gateway-restart");
        let settled = desk.settled(&self.ticket.id).await;
        asked.over();
        drop(asked);
        let mut around = std::mem::take(&mut self.around);
        let job = self.job();
        let case = Case {
            toolbox: &self.toolbox,
            job: &job,
            decided: &self.decided,
            fixed: &self.fixed,
            look: &self.look,
        };
        match Box::pin(answered(&case, &self.open, &self.ticket.id, settled, true, &mut around)).await {
            Ok(_) => {
                if let Some(call) = &self.call {
                    self.toolbox.waiting.forget(call);
                }
            }
            Err(refused) => self.denied(&case, &refused, &around),
        }
    }

    /// The call is told when it is said again, and the conversation where somebody waits in it.
    fn denied(&self, case: &Case<'_>, refused: &Refused, around: &Around) {
        let reason: Reason = match refused {
            Refused::Denied(reason) => reason.clone(),
            Refused::Nobody => "approval-timeout".into(),
            Refused::Failed(error) => format!("spawn-failed: {}", error.report.message).into(),
        };
        let id = self.ticket.id.as_str();
        tracing::info!(target: "approvals", id, reason = reason.words(), "a command that waited does not run");
        if let Some(call) = &self.call {
            let result = shape::denied(case.job, &self.fixed.cwd, Some(id), &reason, around);
            self.toolbox.waiting.keep(call, result);
        }
        if self.context.subagent || super::ask::unattended(&self.context) {
            return;
        }
        let event = NewEvent {
            session_key: self.gathered.subject.session.as_str().to_owned(),
            kind: EventKind::FollowUp,
            text: shape::denial(Some(id), reason.words(), &self.params.command),
            context: EventContext { key: id.to_owned(), delivery: delivery(&self.context), wake: false },
        };
        if let Err(error) = self.toolbox.sessions.events().insert_once(event) {
            tracing::warn!(target: "approvals", id, %error, "a denial could not be told");
        }
    }
}

/// Waits behind the call.
pub(super) fn spawn(later: Later) {
    let waiting = later.toolbox.waiting.clone();
    waiting.spawn(later.wait());
}
