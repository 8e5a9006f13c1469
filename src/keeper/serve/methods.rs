//! What can be asked of a keeper.

use std::sync::Arc;

use base64::Engine as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connection::Reply;
use super::delivered::Handed;
use super::{Row, Shared, attach, events};
use crate::approvals::desk::Desk;
use crate::error::Diagnose;
use crate::keeper::KeeperError;
use crate::keeper::error::Told;
use crate::process::record::{SessionId, View};
use crate::process::sessions::Sessions;
use crate::process::store::now_ms;
use crate::tools::Context;

/// Answers a request. Updates go to `reply` on the way.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    method: &str,
    params: Value,
    reply: &Reply,
) -> Result<Value, Told> {
    if let Some(sessions) = shared.service.sessions().filter(|_| looks(method, &params)) {
        let named = params.pointer("/sessionId").or_else(|| params.pointer("/args/sessionId"));
        let named = named.and_then(Value::as_str).map(|id| SessionId(id.trim().to_owned()));
        sessions.caught_up(named.as_ref()).await;
    }
    match method {
        "tool.call" => Box::pin(shared.calls.call(read(method, params)?, reply)).await,
        "tool.cancel" => {
            let OfCall { call_id } = read(method, params)?;
            Ok(json!({ "cancelled": shared.calls.cancel(&call_id) }))
        }
        "process.list" => {
            let OfAgent { agent } = read(method, params)?;
            let views = sessions(shared)?.views();
            let rows = views.iter().filter(|view| {
                !view.is_delivery() && agent.as_ref().is_none_or(|agent| *agent == view.begin.agent)
            });
            let rows: Vec<Row> = rows.map(|view| Row::of(view, now_ms())).collect();
            Ok(json!({ "sessions": rows }))
        }
        "process.show" => {
            let OfSession { session_id } = read(method, params)?;
            Ok(json!(Row::of(&view(sessions(shared)?, &session_id)?, now_ms())))
        }
        "process.act" => {
            let Act { agent, args } = read(method, params)?;
            let context = Context { agent: Some(agent), ..Context::default() };
            let done = shared.service.act(args, &context, reply.cancelled.clone()).await;
            let result = done.map_err(Told::from)?;
            let answer = json!(result);
            let _ = reply.hands.set(Handed(result.receipts));
            Ok(answer)
        }
        "process.attach" => attach::run(sessions(shared)?, read(method, params)?, reply).await,
        "process.input" => input(sessions(shared)?, read(method, params)?).await,
        "process.resize" => {
            let Resize { session_id, rows, cols } = read(method, params)?;
            told(sessions(shared)?.resize(&SessionId(session_id), rows, cols).await)?;
            Ok(json!({}))
        }
        "events.subscribe" => events::subscribe(sessions(shared)?, read(method, params)?, reply).await,
        "events.ack" => events::ack(sessions(shared)?, &read(method, params)?),
        "keeper.status" => Ok(status(shared)),
        approvals if approvals.starts_with(super::approvals::METHODS) => {
            if super::approvals::is_for_people(approvals) && agents(shared, reply.peer).await {
                return Err(KeeperError::Agent.into());
            }
            let desk = shared.service.desk().ok_or(KeeperError::Ending)?;
            let answered = Box::pin(super::approvals::answer(desk, approvals, params, reply)).await;
            answered.unwrap_or_else(|| Err(KeeperError::Method(approvals.chars().take(64).collect()).into()))
        }
        // Done when the answer was written.
        "keeper.stop" => Ok(json!({ "stopping": true, "process": std::process::id() })),
        other => Err(KeeperError::Method(other.chars().take(64).collect()).into()),
    }
}

/// Whether the answer tells how sessions stand: after a takeover that is known a moment later.
fn looks(method: &str, params: &Value) -> bool {
    method.starts_with("process.")
        || method == "events.subscribe"
        || method == "tool.call" && params.get("tool").and_then(Value::as_str) == Some("process")
}

/// Whether the caller is, or belongs to, a command that an agent runs beside the gateway. A caller whose process the kernel
/// does not name is one.
async fn agents(shared: &Shared, peer: Option<i32>) -> bool {
    let Some(peer) = peer else { return true };
    let commands = shared.state.join(crate::state::HOST_COMMANDS);
    let looked = tokio::task::spawn_blocking(move || crate::runner::host::within(&commands, peer)).await;
    looked.unwrap_or(true)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfCall {
    call_id: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct OfAgent {
    agent: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfSession {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    agent: String,
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resize {
    session_id: String,
    rows: u16,
    cols: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    session_id: String,
    /// Base64.
    #[serde(default)]
    data: String,
    #[serde(default)]
    eof: bool,
}

async fn input(sessions: &Sessions, asked: Input) -> Result<Value, Told> {
    let data = base64::engine::general_purpose::STANDARD.decode(asked.data.as_bytes()).map_err(|error| {
        KeeperError::Params { method: "process.input".to_owned(), reason: format!("data: {error}") }
    })?;
    let count = data.len();
    told(sessions.write(&SessionId(asked.session_id), data, asked.eof).await)?;
    Ok(json!({ "bytes": count }))
}

fn status(shared: &Shared) -> Value {
    let (running, kept) = shared.service.sessions().map_or((0, 0), |sessions| {
        let views = sessions.views();
        let running = views.iter().filter(|view| view.end.is_none()).count();
        (running, views.iter().filter(|view| view.end.is_some() && !view.is_delivery()).count())
    });
    let mut told = json!({
        "process": std::process::id(),
        "version": env!("CARGO_PKG_VERSION"),
        "build": shared.build,
        "state": shared.state,
        "uptimeMs": u64::try_from(shared.since.elapsed().as_millis()).unwrap_or(u64::MAX),
        // This caller apart.
        "clients": shared.clients().saturating_sub(1),
        "calls": shared.calls.count(),
        "running": running,
        "finished": kept,
        "approvals": shared.service.desk().map_or(0, Desk::waiting),
    });
    if let (Some(told), serde_json::Value::Object(about)) = (told.as_object_mut(), shared.service.about()) {
        told.extend(about);
    }
    told
}

/// Reads parameters; none at all are an empty object.
pub(super) fn read<P: DeserializeOwned>(method: &str, params: Value) -> Result<P, KeeperError> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params)
        .map_err(|error| KeeperError::Params { method: method.to_owned(), reason: error.to_string() })
}

fn sessions(shared: &Shared) -> Result<&Sessions, KeeperError> {
    shared.service.sessions().ok_or(KeeperError::Ending)
}

/// A session by its name.
pub(super) fn view(sessions: &Sessions, id: &str) -> Result<View, KeeperError> {
    sessions
        .view(&SessionId(id.to_owned()))
        .ok_or_else(|| KeeperError::NoSession(id.chars().take(64).collect()))
}

/// An error of the sessions as it travels.
pub(super) fn told<T>(done: Result<T, impl Diagnose>) -> Result<T, Told> {
    done.map_err(|error| error.report().into())
}
