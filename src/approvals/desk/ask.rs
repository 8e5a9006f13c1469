//! A question begins, waits, and ends by itself.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::settle::End;
use super::{
    Desk, DeskError, LIFE, Live, MOST, Question, REDEEM, Record, Resolver, Settled, Status, Ticket, id, rows,
};
use crate::approvals::policy::{Answer, Decision};
use crate::process::store::events::EventKind;
use crate::process::store::now_ms;

/// Calls that wait for one question at once.
const MOST_ASKERS: u32 = 32;

/// Longest time that a question can wait.
const LONGEST: Duration = Duration::from_hours(7 * 24);

impl Desk {
    /// Registers a question, or joins the same one. It is registered when this returns: whoever is told can answer.
    ///
    /// A question that nobody could be shown is answered at once (9.15); [`Self::settled`] tells.
    ///
    /// # Errors
    ///
    /// When it cannot be shown whole, its id may not be chosen, too many wait, or it cannot be recorded. Nothing may run then.
    pub fn ask(&self, question: &Question) -> Result<Ticket, DeskError> {
        let reachable = !question.unattended || self.reachable();
        let mut live = self.live();
        self.end_overdue(&mut live);
        if let Some(ticket) = join(&mut live, question) {
            return ticket;
        }
        room(&live, question)?;
        let id = name(&live, question)?;
        let wait =
            question.timeout_ms.map_or(LIFE, Duration::from_millis).clamp(Duration::from_millis(1), LONGEST);
        let now = now_ms();
        let expires = now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let mut question = question.clone();
        if !question.offered.contains(&Decision::Deny) {
            question.offered.push(Decision::Deny);
        }
        let mut record = Record::of(&question, &id, now, expires)?;
        let settled = watch::Sender::new(None);
        if !reachable {
            record.status = Status::Denied;
            record.reason = Some("no-route".to_owned());
            record.resolved_at_ms = Some(now);
            record.resolver = Some(Resolver::system());
            settled.send_replace(Some(Settled::none(Answer::Unreachable, "no-route")));
        }
        self.begin(&record, &question)?;
        let deadline = Instant::now() + wait;
        let ended = (!reachable).then(Instant::now);
        live.insert(
            id.clone(),
            Live { question, record, deadline, askers: 1, settled, ended, consumed: false },
        );
        drop(live);
        self.announce();
        Ok(Ticket { id, expires_at_ms: expires, joined: false })
    }

    /// Waits for the end of a question. One that is not known has no answer.
    pub async fn settled(&self, id: &str) -> Settled {
        loop {
            let Some((mut settled, deadline)) =
                self.live().get(id).map(|live| (live.settled.subscribe(), live.deadline))
            else {
                return self.past(id);
            };
            if let Some(settled) = settled.borrow_and_update().clone() {
                return settled;
            }
            tokio::select! {
                _ = settled.changed() => {}
                () = tokio::time::sleep_until(deadline) => self.end_overdue(&mut self.live()),
            }
        }
    }

    /// Ends a question that a caller does not need an answer to any more (9.50). Where others asked the same, it waits on for
    /// them.
    pub fn cancel(&self, id: &str, reason: &str) {
        let mut live = self.live();
        let Some(asked) = live.get_mut(id).filter(|live| live.record.is_pending()) else { return };
        asked.askers = asked.askers.saturating_sub(1);
        if asked.askers == 0 {
            // A denial always ends it, recorded or not.
            let _ = self.settle(asked, &End::without(Status::Cancelled, Answer::TimedOut, reason));
        }
    }

    /// Ends questions in their time, until `stop`.
    pub async fn attend(&self, stop: &CancellationToken) {
        let mut news = self.news();
        loop {
            news.mark_unchanged();
            let next = {
                let mut live = self.live();
                self.end_overdue(&mut live);
                let waits = |live: &Live| live.ended.map_or(live.deadline, |ended| ended + REDEEM);
                live.values().map(waits).min()
            };
            tokio::select! {
                () = stop.cancelled() => return,
                changed = news.changed() => if changed.is_err() { return },
                () = until(next) => {}
            }
        }
    }

    /// Ends what nobody answered in time, and forgets what ended a while ago.
    pub(super) fn end_overdue(&self, live: &mut HashMap<String, Live>) {
        let now = Instant::now();
        for asked in live.values_mut().filter(|live| live.record.is_pending() && live.deadline <= now) {
            let _ = self.settle(asked, &End::without(Status::Expired, Answer::TimedOut, "timeout"));
        }
        live.retain(|_, live| live.ended.is_none_or(|ended| ended + REDEEM > now));
    }

    /// Ends what only surfaces that were there could answer, when none is there any more.
    pub(super) fn end_unreachable(&self) {
        if self.reachable() {
            return;
        }
        for asked in
            self.live().values_mut().filter(|live| live.record.is_pending() && live.question.unattended)
        {
            let _ = self.settle(asked, &End::without(Status::Denied, Answer::Unreachable, "no-route"));
        }
    }

    fn begin(&self, record: &Record, question: &Question) -> Result<(), DeskError> {
        let event = record.is_pending().then(|| {
            let text = format!(
                "Approval required ({}, agent {}): {}\ncreel approvals approve {} | creel approvals deny {}",
                record.host, record.agent_id, record.command_text, record.id, record.id
            );
            rows::event(record, EventKind::ApprovalRequested, &question.delivery, text)
        });
        let stored = record.clone();
        let added =
            self.store().run("store a question in", move |tx| rows::begin(tx, &stored, event.as_ref()))?;
        if !added {
            return Err(DeskError::Taken(record.id.clone()));
        }
        self.inner.events.announce();
        Ok(())
    }
}

fn name(live: &HashMap<String, Live>, question: &Question) -> Result<String, DeskError> {
    let Some(chosen) = &question.id else { return crate::state::random_uuid().map_err(DeskError::Random) };
    if !id::valid(chosen) {
        return Err(DeskError::Id(super::shortened(chosen)));
    }
    if live.contains_key(chosen) { Err(DeskError::Taken(chosen.clone())) } else { Ok(chosen.clone()) }
}

/// The question that waits and is the same.
fn join(live: &mut HashMap<String, Live>, question: &Question) -> Option<Result<Ticket, DeskError>> {
    if question.digest.is_empty() {
        return None;
    }
    let same = live.values_mut().find(|live| {
        let known = &live.question;
        live.record.is_pending()
            && known.digest == question.digest
            && known.agent == question.agent
            && known.session == question.session
            && known.external == question.external
            && offers(known, question)
    })?;
    if same.askers >= MOST_ASKERS {
        return Some(Err(DeskError::Joined { id: same.record.id.clone(), most: MOST_ASKERS }));
    }
    same.askers = same.askers.saturating_add(1);
    Some(Ok(Ticket { id: same.record.id.clone(), expires_at_ms: same.record.expires_at_ms, joined: true }))
}

/// Whether both can be decided in the same ways. Deny always is one.
fn offers(one: &Question, other: &Question) -> bool {
    let among = |list: &[Decision], decision| list.contains(&decision);
    [Decision::AllowOnce, Decision::AllowAlways]
        .into_iter()
        .all(|decision| among(&one.offered, decision) == among(&other.offered, decision))
}

fn room(live: &HashMap<String, Live>, question: &Question) -> Result<(), DeskError> {
    let waiting = || live.values().filter(|live| live.record.is_pending());
    let of_session = waiting()
        .filter(|live| live.question.session == question.session && live.question.agent == question.agent);
    let (all, own) = (waiting().count(), of_session.count());
    if all >= MOST.0 || own >= MOST.1 { Err(DeskError::Full(all)) } else { Ok(()) }
}

async fn until(next: Option<Instant>) {
    match next {
        Some(next) => tokio::time::sleep_until(next).await,
        None => std::future::pending().await,
    }
}
