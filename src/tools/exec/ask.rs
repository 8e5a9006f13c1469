//! A command beside the gateway about which somebody is asked: bound, reviewed, asked about, and started if the answer and
//! the world still agree (spec `approvals.md` §9, §10, §11.5, §13, §20 steps 11 to 15).

use std::sync::Arc;

use super::beside::{Caller, Fixed, Way, go, nobody, preflight};
use super::decide::{Decided, decide};
use super::error::{ExecError, thrown};
use super::gather::Gathered;
use super::job::Job;
use super::later::{self, Later};
use super::look::{self, Look, blocking};
use super::reviewing::{self, Outcome};
use super::shape::{self, Around, Reason};
use super::{Started, gather};
use crate::approvals::binding::Binding;
use crate::approvals::desk::{Desk, Operation, Question, Settled, Ticket};
use crate::approvals::display;
use crate::approvals::document::Entry;
use crate::approvals::host::{Asking, Cleared, HostDenied};
use crate::approvals::policy::{Answer, Decision, Target};
use crate::approvals::remember::Remembered;
use crate::approvals::store;
use crate::config::exec::Security;
use crate::error::Diagnose as _;
use crate::process::record::{Delivery, SessionId};
use crate::tools::{Context, ToolError, ToolResult, Toolbox};

/// The policy is not what was approved under (11.11).
pub(super) const CHANGED: &str = "Exec approval changed before execution";
/// Why nothing is offered for good.
const WITHHELD: &str = "Warning: something that this command runs can be changed by whoever runs commands here; it can only \
                        be approved for this run.";

/// Approvals of former versions hold for nothing (17.08).
const INACTIVE: &str = "Warning: entries of former approvals wait to be approved again (`creel doctor` names them); choose \
                        allow-always to renew this one.";

/// A command that waits, and everything that was found out about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) toolbox: &'a Toolbox,
    pub(super) job: &'a Job<'a>,
    pub(super) decided: &'a Decided,
    pub(super) fixed: &'a Fixed,
    pub(super) look: &'a Arc<Look>,
}

/// A question with what it binds.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) asking: Asking,
    pub(super) binding: Arc<Binding>,
    /// What "always" writes.
    pub(super) entries: Vec<Entry>,
}

/// Why a command does not run after all.
#[derive(Debug)]
pub(super) enum Refused {
    /// It was denied, and the reason as it is told (9.48).
    Denied(Reason),
    /// Nobody could be asked, and no fallback stands in.
    Nobody,
    /// It could not be started.
    Failed(ToolError),
}

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Nobody waits for a person: a schedule, or a caller that says so.
pub(super) fn unattended(context: &Context) -> bool {
    context.cron || context.unattended
}

/// Asks. With somebody to ask inside the call, or with nobody who would come back, the call waits; else it returns at once.
pub(super) async fn ask(
    case: &Case<'_>,
    asking: Asking,
    around: &mut Around,
    caller: Caller<'_>,
) -> Result<Started, ToolError> {
    let mut open = match bind(case, asking).await? {
        Ok(open) => open,
        Err(reason) => return Ok(Started::Not(denied(case, None, &reason, around))),
    };
    if let Some(cleared) = standing_grant(case, &open)? {
        return conclude(case, clear(case, &open, cleared, false, around).await, None, around);
    }
    match reviewing::review(case, &mut open, caller.cancel).await? {
        Outcome::Person => {}
        Outcome::Allowed(cleared) => {
            around.reviews = Some("approved");
            return conclude(case, clear(case, &open, cleared, false, around).await, None, around);
        }
        Outcome::Denied(rationale) => {
            return Ok(Started::Not(shape::review_denied(case.job, &case.fixed.cwd, &rationale, around)));
        }
    }
    let ticket = match case.toolbox.desk.ask(&question(case, &open)) {
        Ok(ticket) => ticket,
        Err(error) => {
            let words = format!("approval-request-failed: {}", error.report().message);
            let reason = Reason::told(words, &error);
            return Ok(Started::Not(denied(case, None, &reason, around)));
        }
    };
    telemetry(case, "requested", open.asking.reason().code());
    if case.job.context.approval_surface || unattended(case.job.context) {
        return inside(case, &open, &ticket, around, caller).await;
    }
    let result = pending(case, &open, &ticket, around);
    if let Some(call) = &case.job.call {
        case.toolbox.waiting.keep(call, result.clone());
    }
    later::spawn(Later::of(case, open, ticket));
    Ok(Started::Not(result))
}

/// What is told of questions and answers without a word of the command (9.55).
fn telemetry(case: &Case<'_>, event: &str, detail: &str) {
    let policy = case.decided.policy;
    let segments = case.look.assessed.parts.len();
    let (security, ask) = (policy.security, policy.ask);
    tracing::info!(target: "exec/approval", event, host = "gateway", ?security, ?ask, segments, detail);
}

/// Binds it, and takes back what cannot be offered then (11.10).
async fn bind(case: &Case<'_>, mut asking: Asking) -> Result<Result<Open, Reason>, ToolError> {
    let binding = match look::bound(case.look, case.fixed).await? {
        Ok(binding) => binding,
        Err(error) => return Ok(Err(Reason::of(&error))),
    };
    let entries = match &case.look.remembered {
        Remembered::Entries(entries) => binding.seal(entries),
        Remembered::OneShot(_) => None,
    };
    // A schedule is granted its operation, whose programs no entry pins (9.43).
    if entries.is_none() || unattended(case.job.context) && binding.mutable() {
        asking.withhold(WITHHELD);
    }
    Ok(Ok(Open { asking, binding: Arc::new(binding), entries: entries.unwrap_or_default() }))
}

/// A grant for exactly this operation of a scheduled run (9.42), used as it starts.
fn standing_grant(case: &Case<'_>, open: &Open) -> Result<Option<Cleared>, ToolError> {
    if !unattended(case.job.context) || !open.asking.grantable() || open.binding.mutable() {
        return Ok(None);
    }
    let (desk, agent) = (&case.toolbox.desk, case.job.gathered.subject.agent.as_str());
    let found = desk.operation(agent, &operation(case)).map_err(|error| thrown(&error))?;
    let Some(grant) = found else { return Ok(None) };
    Ok(open.asking.granted(&grant.grant_id))
}

fn operation(case: &Case<'_>) -> Operation {
    Operation::of(&case.job.params.command, &case.fixed.cwd, &case.fixed.env)
}

fn question(case: &Case<'_>, open: &Open) -> Question {
    let Case { job, fixed, .. } = case;
    let (resolved_path, argv) = case.look.single().map_or((None, None), |(path, argv)| (path, Some(argv)));
    let (agent, session) = (job.gathered.subject.agent.to_string(), job.gathered.subject.session.as_str());
    let mut env_keys: Vec<String> = fixed.env.iter().map(|(name, _)| name.clone()).collect();
    env_keys.sort();
    let mut warnings = open.asking.warnings().to_vec();
    let misses = case.look.misses();
    if !misses.is_empty() && case.look.assessed.parts.len() > 1 {
        warnings.push(format!("Not listed: {}.", misses.join(", ")));
    }
    if case.look.inactive() {
        warnings.push(INACTIVE.to_owned());
    }
    Question {
        id: None,
        command: job.params.command.clone(),
        argv,
        digest: open.binding.question(Target::Gateway, &agent, session),
        cwd: fixed.cwd.clone(),
        host: Some(Target::Gateway),
        session: Some(session.to_owned()),
        call: job.context.call_id.clone(),
        env_keys,
        resolved_path,
        reason: open.asking.reason().code().to_owned(),
        warnings,
        analysis: Some(display::summary(&case.look.assessed.analysis)),
        highlight: job.gathered.exec.command_highlighting,
        offered: open.asking.offered().to_vec(),
        delivery: delivery(job.context),
        timeout_ms: None,
        unattended: unattended(job.context),
        entries: open.entries.clone(),
        operation: unattended(job.context).then(|| operation(case)),
        expiry_days: job.gathered.exec.grant_expiry_days.and_then(|days| u32::try_from(days).ok()),
        external: false,
        agent,
    }
}

/// Where messages about it go.
pub(super) fn delivery(context: &Context) -> Delivery {
    Delivery {
        channel: context.channel.clone(),
        to: context.to.clone(),
        account: context.account.clone(),
        thread: context.thread.clone(),
    }
}

/// The call waits for the answer; the command's own time begins with the command.
async fn inside(
    case: &Case<'_>,
    open: &Open,
    ticket: &Ticket,
    around: &mut Around,
    caller: Caller<'_>,
) -> Result<Started, ToolError> {
    let desk = &case.toolbox.desk;
    let mut asked = Asked::new(desk, &ticket.id, "run-aborted");
    if let Some(partial) = caller.partial {
        let _ = partial.try_send(told(case, open, ticket, around));
    }
    let settled = tokio::select! {
        biased;
        () = caller.cancel.cancelled() => return Err(ExecError::Aborted.into()),
        // Consent belongs to a live request: with its caller the question goes, whoever may come back for the result.
        () = case.job.context.presence.gone() => return Err(ExecError::Aborted.into()),
        settled = desk.settled(&ticket.id) => settled,
    };
    asked.over();
    let started = answered(case, open, &ticket.id, settled, false, around).await;
    conclude(case, started, Some((&ticket.id, open)), around)
}

/// What the caller gets.
fn conclude(
    case: &Case<'_>,
    started: Result<SessionId, Refused>,
    asked: Option<(&str, &Open)>,
    around: &Around,
) -> Result<Started, ToolError> {
    match (started, asked) {
        (Ok(id), _) => Ok(Started::Session(id)),
        (Err(Refused::Denied(reason)), asked) => {
            Ok(Started::Not(denied(case, asked.map(|(id, _)| id), &reason, around)))
        }
        (Err(Refused::Nobody), asked) => {
            let reason =
                asked.map_or(crate::approvals::policy::Reason::Miss, |(_, open)| open.asking.reason());
            let refused =
                HostDenied::person(reason, &case.decided.standing(), Target::Gateway, &case.look.assessed);
            nobody(case.job, refused, &case.fixed.cwd, around)
        }
        (Err(Refused::Failed(error)), _) => Err(error),
    }
}

/// From an answer to a command that runs. What becomes of an approval is noted with it.
pub(super) async fn answered(
    case: &Case<'_>,
    open: &Open,
    id: &str,
    settled: Settled,
    detached: bool,
    around: &mut Around,
) -> Result<SessionId, Refused> {
    let leave = matches!(settled.answer, Answer::Decided(decision) if decision != Decision::Deny);
    let started = Box::pin(follow(case, open, id, settled, detached, around)).await;
    if leave {
        let failure = match &started {
            Ok(_) => None,
            Err(Refused::Denied(reason)) => Some(reason.words()),
            Err(Refused::Nobody) => Some("approval-timeout"),
            Err(Refused::Failed(error)) => Some(error.report.message.as_str()),
        };
        case.toolbox.desk.outcome(id, failure);
    }
    started
}

async fn follow(
    case: &Case<'_>,
    open: &Open,
    id: &str,
    settled: Settled,
    detached: bool,
    around: &mut Around,
) -> Result<SessionId, Refused> {
    let desk = &case.toolbox.desk;
    let unreachable = settled.answer == Answer::Unreachable;
    if let Answer::Decided(_) = settled.answer {
        case.toolbox.waiting.reviewer().decided(case.job.gathered.subject.session.as_str());
    }
    telemetry(case, "settled", &settled.reason);
    let by = desk.find(id).ok().and_then(|record| record.resolver).and_then(|by| by.id);
    let cleared = match open.asking.answered(settled.answer, id, by.as_deref()) {
        Ok(cleared) => cleared,
        Err(_) if unreachable && (open.asking.needs_answer() || fallback(case) == Security::Deny) => {
            return Err(Refused::Nobody);
        }
        Err(_) if !unreachable && !matches!(settled.answer, Answer::Decided(_) | Answer::Malformed) => {
            // Why nobody answered is told as it was: the question was taken back, or its time was over.
            let reason = match settled.reason.as_str() {
                "timeout" => "approval-timeout".to_owned(),
                other => other.to_owned(),
            };
            return Err(Refused::Denied(reason.into()));
        }
        Err(denial) => return Err(Refused::Denied(denial.reason().into())),
    };
    check(case, open).await?;
    desk.redeem(id, "exec").map_err(|error| Refused::Denied(Reason::shown(&error)))?;
    if settled.answer == Answer::Decided(Decision::AllowAlways) && settled.grant.is_none() {
        persist(case, &open.entries).await?;
    }
    start(case, open, cleared, detached, around).await
}

fn fallback(case: &Case<'_>) -> Security {
    case.decided.effective.ask_fallback.value
}

/// A command that a grant or the reviewer let run.
async fn clear(
    case: &Case<'_>,
    open: &Open,
    cleared: Cleared,
    detached: bool,
    around: &mut Around,
) -> Result<SessionId, Refused> {
    check(case, open).await?;
    if let crate::approvals::Ground::Grant(id) = cleared.ground() {
        case.toolbox.desk.use_grant(id).map_err(|error| Refused::Denied(Reason::shown(&error)))?;
    }
    start(case, open, cleared, detached, around).await
}

/// The policy and everything that was bound are what they were.
async fn check(case: &Case<'_>, open: &Open) -> Result<(), Refused> {
    unchanged(case.toolbox, case.job, case.decided).await.map_err(Refused::Denied)?;
    let verified = look::verified(case.look, &open.binding).await?;
    verified.map_err(|error| Refused::Denied(Reason::of(&error)))
}

/// Writes down what was approved for good.
async fn persist(case: &Case<'_>, entries: &[Entry]) -> Result<(), Refused> {
    let (state, agent) = (case.job.gathered.state.clone(), case.job.gathered.subject.agent.to_string());
    let entries = entries.to_vec();
    let written = blocking(move || store::add_entries(&state, &agent, &entries)).await?;
    written.map(drop).map_err(|error| {
        let words = format!("approval-state-write-failed: {}", error.report().message);
        Refused::Denied(Reason::told(words, &error))
    })
}

async fn start(
    case: &Case<'_>,
    open: &Open,
    cleared: Cleared,
    detached: bool,
    around: &mut Around,
) -> Result<SessionId, Refused> {
    preflight(case.job, case.decided, case.fixed, cleared.ground())?;
    let approval = match cleared.ground() {
        crate::approvals::Ground::Approved { id, .. } => Some(id.clone()),
        _ => None,
    };
    let job = Job { approval, ..case.job.clone() };
    let way = Way { cleared, binding: Some(&open.binding), detached };
    go(case.toolbox, &job, case.fixed, way, around)
        .await
        .map_err(|failure| Refused::Failed(ToolError::of(failure.0)))
}

/// Whether the policy still is what was decided under (11.11, 11.12): read anew. The reason where it is not.
pub(super) async fn unchanged(toolbox: &Toolbox, job: &Job<'_>, decided: &Decided) -> Result<(), Reason> {
    let changed = |_| Reason::from(CHANGED);
    let now = gather(toolbox, job.context, "exec").await.map_err(changed)?;
    let then: &Gathered = job.gathered;
    let again = decide(&now.known(job.context), job.params).map_err(|error| {
        tracing::info!(target: "approvals", %error, "the policy changed while somebody was asked");
        Reason::from(CHANGED)
    })?;
    let agent = Some(&then.subject.agent);
    let deny = then.document.denylist(agent) == now.document.denylist(agent);
    let same = (again.target, again.policy, again.strict_inline, again.level)
        == (decided.target, decided.policy, decided.strict_inline, decided.level);
    let before = look::snapshot(then, &decided.effective);
    let after = look::snapshot(&now, &again.effective);
    if deny && same && before.holds_under(&after) { Ok(()) } else { Err(CHANGED.into()) }
}

fn denied(case: &Case<'_>, id: Option<&str>, reason: &Reason, around: &Around) -> ToolResult {
    shape::denied(case.job, &case.fixed.cwd, id, reason, around)
}

fn pending(case: &Case<'_>, open: &Open, ticket: &Ticket, around: &Around) -> ToolResult {
    shape::pending(case.job, &case.fixed.cwd, &open.asking, ticket, around)
}

/// The question as a surface inside the call is told of it.
fn told(case: &Case<'_>, open: &Open, ticket: &Ticket, around: &Around) -> ToolResult {
    let mut result = pending(case, open, ticket, around);
    if let (Some(details), Ok(record)) = (result.details.as_object_mut(), case.toolbox.desk.find(&ticket.id))
    {
        details.insert("approval".to_owned(), serde_json::json!(record));
    }
    result
}

/// A question that is taken back with whoever asked it.
pub(super) struct Asked<'a> {
    desk: &'a Desk,
    id: &'a str,
    reason: &'static str,
    over: bool,
}

impl<'a> Asked<'a> {
    pub(super) fn new(desk: &'a Desk, id: &'a str, reason: &'static str) -> Self {
        Self { desk, id, reason, over: false }
    }

    /// It has its answer.
    pub(super) fn over(&mut self) {
        self.over = true;
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.desk.cancel(self.id, self.reason);
        }
    }
}
