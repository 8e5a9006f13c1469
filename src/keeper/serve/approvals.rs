//! Questions for people over the keeper's socket (spec `approvals.md` §9). Who may speak here is this user, or root: to approve
//! is to execute (9.06). An agent has no way to these methods.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Reply;
use super::methods::{read, told};
use super::raised::{self, Raised};
use crate::approvals::desk::{Desk, DeskError, LISTED, Record, Resolver, Terms};
use crate::approvals::policy::Decision;
use crate::keeper::error::Told;

/// How the methods begin.
pub(super) const METHODS: &str = "approvals.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfId {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resolve {
    id: String,
    decision: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    terms: Option<Terms>,
    /// Who decides, for people.
    #[serde(default)]
    by: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Watch {
    /// Only questions of this tool call: a surface of its own, not one for everybody's.
    call: Option<String>,
    /// The surface is the operator's own terminal: nothing is redacted.
    own: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct List {
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Revoke {
    id: String,
    #[serde(default)]
    by: Option<String>,
}

/// Whether a method decides, or shows what only people are shown.
pub(super) fn is_for_people(method: &str) -> bool {
    matches!(method, "approvals.resolve" | "approvals.verdict" | "approvals.watch")
}

/// Answers a request about approvals; `None` for a method that there is not.
pub(super) async fn answer(
    desk: &Desk,
    method: &str,
    params: Value,
    reply: &Reply,
) -> Option<Result<Value, Told>> {
    Some(match method {
        "approvals.pending" => Ok(json!({ "approvals": desk.pending() })),
        "approvals.get" => {
            given(method, params, |OfId { id }| told(desk.find(&id))).map(|record| json!(record))
        }
        "approvals.resolve" => given(method, params, |asked| resolve(desk, asked)),
        "approvals.verdict" => given(method, params, |asked| verdict(desk, asked)),
        "approvals.history" => given(method, params, |List { limit }| {
            told(desk.history(limit.unwrap_or(LISTED))).map(|records| json!({ "approvals": records }))
        }),
        "approvals.watch" => match read(method, params) {
            Ok(asked) => watch(desk, asked, reply).await,
            Err(error) => Err(error.into()),
        },
        "approvals.request" => match read::<Raised>(method, params) {
            Ok(asked) => raised::request(desk, asked, reply).await,
            Err(error) => Err(error.into()),
        },
        "approvals.wait" => match read::<OfId>(method, params) {
            Ok(OfId { id }) => raised::wait(desk, &id, reply).await,
            Err(error) => Err(error.into()),
        },
        "approvals.grants.list" => given(method, params, |List { limit }| {
            told(desk.list_grants(limit.unwrap_or(LISTED))).map(|grants| json!({ "grants": grants }))
        }),
        "approvals.grants.revoke" => given(method, params, |Revoke { id, by }| {
            let outcome = told(desk.revoke_grant(&id, by.as_deref().unwrap_or("operator")))?;
            Ok(json!({ "outcome": outcome, "grantId": id.trim() }))
        }),
        _ => return None,
    })
}

fn given<P: serde::de::DeserializeOwned, R>(
    method: &str,
    params: Value,
    work: impl FnOnce(P) -> Result<R, Told>,
) -> Result<R, Told> {
    work(read(method, params)?)
}

fn resolver(by: Option<String>) -> Resolver {
    let by: Option<String> = by.map(|by| crate::shown::one_line(&by).chars().take(64).collect());
    Resolver::device(by.as_deref().unwrap_or("operator"))
}

/// A word that is no decision is an error, and the question stands (9.25).
fn resolve(desk: &Desk, asked: Resolve) -> Result<Value, Told> {
    let Resolve { id, decision, kind, terms, by } = asked;
    if let Some(kind) = kind.filter(|kind| kind != crate::approvals::desk::KIND) {
        return told(Err(DeskError::Kind { id, kind: kind.chars().take(64).collect() }));
    }
    let decision =
        told(Decision::parse(&decision).ok_or_else(|| DeskError::Word(decision.chars().take(64).collect())))?;
    told(desk.answer(&id, decision, terms.as_ref(), &resolver(by))).map(|answered| json!(answered))
}

/// A word that is no decision denies (9.25).
fn verdict(desk: &Desk, asked: Resolve) -> Result<Value, Told> {
    let Resolve { id, decision, kind, by, .. } = asked;
    let kind = kind.unwrap_or_else(|| crate::approvals::desk::KIND.to_owned());
    told(desk.verdict(&id, &kind, &decision, &resolver(by))).map(|answered| json!(answered))
}

/// Sends `{"watching": true}`, then `{"requested": …}` for each question that waits or comes, and `{"resolved": …}` for each of
/// those when it ends: a surface then withdraws it.
async fn watch(desk: &Desk, asked: Watch, reply: &Reply) -> Result<Value, Told> {
    // One that looks at a single call is there for nobody else.
    let everybody = asked.call.is_none().then(|| desk.watch());
    let mut news = desk.news();
    if !reply.update(json!({ "watching": true })).await {
        return Ok(json!({}));
    }
    let mut shown: HashSet<String> = HashSet::new();
    loop {
        news.mark_unchanged();
        for update in changes(desk, &asked, &mut shown) {
            if !reply.update(update).await {
                return Ok(json!({}));
            }
        }
        tokio::select! {
            () = reply.cancelled.cancelled() => break,
            changed = news.changed() => if changed.is_err() { break },
        }
    }
    drop(everybody);
    Ok(json!({}))
}

/// What a surface does not know yet.
fn changes(desk: &Desk, asked: &Watch, shown: &mut HashSet<String>) -> Vec<Value> {
    let mut pending = if asked.own { desk.pending_here() } else { desk.pending() };
    pending.retain(|record| asked.call.is_none() || record.tool_call_id == asked.call);
    // The oldest first: they are answered in the order in which they came.
    pending.reverse();
    let ended: Vec<String> =
        shown.iter().filter(|id| !pending.iter().any(|record| record.id == **id)).cloned().collect();
    let mut updates: Vec<Value> = Vec::new();
    for id in ended {
        shown.remove(&id);
        updates.extend(desk.find(&id).ok().map(|record| json!({ "resolved": record })));
    }
    for record in pending {
        if shown.insert(record.id.clone()) {
            updates.push(json!({ "requested": record as Record }));
        }
    }
    updates
}
