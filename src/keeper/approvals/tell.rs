//! Questions to a user interface that listens at the approval socket (spec `approvals.md` §1.6).

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::bound::own;
use super::lines::{Ask, Decided, MAX, line};
use crate::approvals::desk::{Desk, KIND, Place, Record, Resolver};
use crate::keeper::lines::{self, Line};
use crate::runner::host::within;
use crate::state::{HOST_COMMANDS, StateDir};

/// How long after a user interface has gone it is looked whether one is there again.
const AGAIN: Duration = Duration::from_secs(1);

/// Puts every question to the user interface that is there, until `stop`.
pub(super) async fn run(desk: &Desk, state: &StateDir, stop: &CancellationToken) {
    let mut news = desk.news();
    let mut told: HashSet<String> = HashSet::new();
    let mut again: HashSet<String> = HashSet::new();
    let mut open = JoinSet::new();
    loop {
        news.mark_unchanged();
        let pending = desk.pending();
        told.retain(|id| pending.iter().any(|record| record.id == *id));
        for record in pending {
            if !desk.is_serving()
                && told.insert(record.id.clone())
                && let Some(place) = Place::of(state)
            {
                let (desk, commands) = (desk.clone(), state.root().join(HOST_COMMANDS));
                open.spawn(async move {
                    put(&desk, &place, &record, commands).await;
                    record.id
                });
            }
        }
        tokio::select! {
            () = stop.cancelled() => break,
            Some(over) = open.join_next(), if !open.is_empty() => {
                // Whoever listens next is asked again, if it waits still.
                if let Ok(id) = over {
                    again.insert(id);
                }
            }
            () = tokio::time::sleep(AGAIN), if !again.is_empty() => {
                told.retain(|id| !again.contains(id));
                again.clear();
            }
            changed = news.changed() => if changed.is_err() { break },
        }
    }
    open.shutdown().await;
}

/// One question on one connection, until somebody has answered: the connection's end withdraws it.
async fn put(desk: &Desk, place: &Place, record: &Record, commands: PathBuf) {
    let Ok(mut stream) = UnixStream::connect(&place.path).await else { return };
    if !own(&stream) {
        tracing::warn!(target: "approvals", "another user listens at the approval socket; it is not asked");
        return;
    }
    // The kernel names whoever has begun to listen.
    let listener = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let agents =
        tokio::task::spawn_blocking(move || listener.is_none_or(|process| within(&commands, process)));
    if agents.await.unwrap_or(true) {
        tracing::warn!(target: "approvals", "a command of an agent listens at the approval socket; it is not asked");
        return;
    }
    let _listening = desk.listening();
    let asked = async {
        let request = request(record);
        stream.write_all(&line(&Ask::of(&place.token, &record.id, &request))).await.ok()?;
        stream.shutdown().await.ok()?;
        let mut reader = BufReader::new(&mut stream);
        loop {
            let Ok(Line::Whole(text)) = lines::next(&mut reader, MAX).await else { return None };
            if let Some(word) = Decided::read(&text, &record.id) {
                return Some(word);
            }
        }
    };
    let word = tokio::select! {
        word = asked => word,
        _ = desk.settled(&record.id) => return,
    };
    // What is no decision is a denial; that there is no answer is none.
    if let Some(word) = word
        && let Err(error) = desk.verdict(&record.id, KIND, &word, &Resolver::device("socket"))
    {
        tracing::warn!(target: "approvals", %error, "an answer over the approval socket is not taken");
    }
}

fn request(record: &Record) -> Value {
    json!({
        "command": record.command_text,
        "commandArgv": record.argv,
        "cwd": record.cwd,
        "host": record.host,
        "agentId": record.agent_id,
        "sessionKey": record.session_key,
        "resolvedPath": record.resolved_path,
        "envKeys": record.env_keys,
        "warningText": record.warnings.join("\n"),
        "commandAnalysis": record.command_analysis,
        "commandSpans": record.command_spans,
        "askReason": record.ask_reason,
        "allowedDecisions": record.allowed_decisions,
        "createdAtMs": record.created_at_ms,
        "expiresAtMs": record.expires_at_ms,
    })
}
