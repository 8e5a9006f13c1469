//! Events as they come.

use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Reply;
use crate::keeper::error::Told;
use crate::process::sessions::Sessions;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Subscribe {
    #[serde(default)]
    since: u64,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    follow: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Ack {
    seqs: Vec<u64>,
}

pub(super) async fn subscribe(_sessions: &Sessions, asked: Subscribe, reply: &Reply) -> Result<Value, Told> {
    let _ = (asked.since, asked.session, asked.follow, reply);
    Ok(json!({}))
}

pub(super) fn ack(_sessions: &Sessions, asked: &Ack) -> Result<Value, Told> {
    Ok(json!({ "acked": asked.seqs.len() }))
}
