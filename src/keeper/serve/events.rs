//! Events as they come (spec `exec.md` §12).

use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Reply;
use super::methods::told;
use crate::keeper::KeeperError;
use crate::keeper::error::Told;
use crate::process::sessions::Sessions;
use crate::process::store::events::Event;

/// Events read at once.
const BATCH: usize = 100;
/// Characters of a text that is passed on.
const RELAYED: usize = 8000;
/// What stands where a text was cut.
const CUT: &str = "… (truncated)";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Subscribe {
    /// Only events after this one.
    #[serde(default)]
    since: u64,
    /// Only those of one conversation.
    #[serde(default)]
    session: Option<String>,
    /// Go on when there are no more.
    #[serde(default)]
    follow: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Ack {
    seqs: Vec<u64>,
}

/// Sends `{"event": …}` for each that waits, and with `follow` for each that comes. The result tells the last number.
pub(super) async fn subscribe(sessions: &Sessions, asked: Subscribe, reply: &Reply) -> Result<Value, Told> {
    let events = sessions.events();
    // Before the first look: what comes meanwhile is seen.
    let mut news = events.news();
    let mut since = asked.since;
    loop {
        news.mark_unchanged();
        let batch = told(events.since(since, asked.session.as_deref(), BATCH))?;
        let full = batch.len() >= BATCH;
        for event in batch {
            since = event.seq;
            if !reply.update(json!({ "event": relayed(event) })).await {
                return Err(KeeperError::Ending.into());
            }
        }
        if full {
            continue;
        }
        if !asked.follow {
            return Ok(json!({ "next": since }));
        }
        tokio::select! {
            () = reply.cancelled.cancelled() => return Ok(json!({ "next": since })),
            changed = news.changed() => if changed.is_err() {
                return Err(KeeperError::Ending.into());
            },
        }
    }
}

/// Notes that these have reached who they are for: nobody is told of them again.
pub(super) fn ack(sessions: &Sessions, asked: &Ack) -> Result<Value, Told> {
    told(sessions.events().delivered(&asked.seqs))?;
    Ok(json!({ "acked": asked.seqs.len() }))
}

/// An event with a text that a conversation can bear.
fn relayed(mut event: Event) -> Event {
    if let Some((at, _)) = event.text.char_indices().nth(RELAYED) {
        event.text.truncate(at);
        event.text.push_str(CUT);
    }
    event
}
