//! A connection to the approval socket: lines in, a decision or a result out.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;

use super::lines::{MAX, Said, line};
use super::proof::knows;
use super::{Shared, run};
use crate::approvals::desk::Desk;
use crate::approvals::document::Token;
use crate::error::Diagnose as _;
use crate::keeper::lines::{self, Line};
use crate::keeper::serve::raised::{Raised, decided};

/// How long a line may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether whoever waits is still there.
const LOOK: Duration = Duration::from_millis(500);

/// Serves one connection. Whoever does not know the secret gets no word.
pub(super) async fn connection(shared: &Shared, stream: UnixStream, token: &Token) {
    let (read, mut write) = stream.into_split();
    let mut reader = BufReader::new(read);
    loop {
        let next = {
            let Ok(_reading) = shared.reading.acquire().await else { return };
            tokio::time::timeout(PATIENCE, lines::next(&mut reader, MAX)).await
        };
        let Ok(Ok(Line::Whole(text))) = next else { return };
        // Lines about something else are passed over.
        let Ok(said) = serde_json::from_slice::<Said>(&text) else { continue };
        let answer = match said {
            Said::Request { token: said, .. } if !knows(token, &said) => {
                tracing::warn!(target: "approvals", "a request at the approval socket with a wrong token");
                return;
            }
            Said::Request { id, request, .. } => request_of(shared, &write, id, request).await,
            Said::Exec { id, nonce, ts, hmac, request_json } => {
                let wanted = run::Line { id, nonce, ts, hmac, request_json };
                tokio::select! {
                    answer = run::run(shared, token, wanted) => Some(answer),
                    () = left(&write) => None,
                }
            }
        };
        let Some(answer) = answer else { return };
        if write.write_all(&line(&answer)).await.is_err() {
            return;
        }
    }
}

/// Puts a program's question to people. No line at all means no answer.
async fn request_of(shared: &Shared, stream: &OwnedWriteHalf, id: String, request: Value) -> Option<Value> {
    let desk = &shared.toolbox.desk;
    let asked: Raised = serde_json::from_value(request).ok()?;
    let question = asked.named(id).question().ok()?;
    let ticket = match desk.ask(&question) {
        Ok(ticket) => ticket,
        Err(error) => {
            tracing::warn!(target: "approvals", error = %error.report().message, "a question is not taken");
            return None;
        }
    };
    let mut asked = Asked { desk, id: Some(&ticket.id) };
    let settled = tokio::select! {
        settled = desk.settled(&ticket.id) => settled,
        () = left(stream) => return None,
        () = shared.stop.cancelled() => return None,
    };
    asked.id = None;
    // The program acts on it: it is used by being told, once.
    let decision = decided(&settled)?;
    if decision != crate::approvals::policy::Decision::Deny {
        desk.redeem(&ticket.id, "socket").ok()?;
    }
    Some(json!({ "type": "decision", "id": ticket.id, "decision": decision.word() }))
}

/// Takes the question back when whoever asked is gone.
struct Asked<'a> {
    desk: &'a Desk,
    id: Option<&'a str>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.desk.cancel(id, "run-aborted");
        }
    }
}

/// Returns when the other end is closed. That it has nothing more to say is not that.
async fn left(stream: &OwnedWriteHalf) {
    loop {
        match stream.ready(Interest::WRITABLE).await {
            Ok(ready) if !ready.is_write_closed() => tokio::time::sleep(LOOK).await,
            _ => return,
        }
    }
}
