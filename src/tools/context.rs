//! Who calls a tool, and from where: beside the parameters, never chosen by the model.

use serde::{Deserialize, Serialize};

use super::presence::Presence;
use crate::approvals::review::Said;

/// The call's surroundings as the agent host knows them. Everything is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Context {
    /// The agent; by default the configured one.
    pub agent: Option<String>,
    /// The session key; by default the agent's main session.
    pub session: Option<String>,
    /// The caller's id of this call: said again, it is the same call and not another command.
    pub call_id: Option<String>,
    /// Channel or provider of the message that started the run; absent for a run without one.
    pub channel: Option<String>,
    /// Recipient of notices.
    pub to: Option<String>,
    /// Account of the channel.
    pub account: Option<String>,
    /// Thread of the channel.
    pub thread: Option<String>,
    /// Id of the chat.
    pub chat: Option<String>,
    /// The sender.
    pub sender: Option<SenderId>,
    /// The session's stamp: its creator's role demands a sandbox.
    pub sandbox_required: bool,
    /// An administrator let the session out of its sandbox.
    pub sandbox_opted_out: bool,
    /// Profile of the session's creator.
    pub creator: Option<String>,
    /// The run belongs to a subagent.
    pub subagent: bool,
    /// The run belongs to a schedule.
    pub cron: bool,
    /// Nobody waits for the run: a question that no connected surface can answer is answered at once, by the fallback of the
    /// approvals document.
    pub unattended: bool,
    /// Tools that the run does not have, besides the configuration's policy.
    pub without: Vec<String>,
    /// The caller can ask a person inside the call.
    pub approval_surface: bool,
    /// What was said before, the oldest first: a bounded part of it is shown to the reviewer (spec `approvals.md` 13.06).
    pub transcript: Vec<Said>,
    /// Level of `/elevated` in the message.
    pub elevated: Option<String>,
    /// `/exec` options in the message, as `key=value` words.
    pub exec: Option<String>,
    /// Variables that plugins resolved for this call.
    pub plugin_env: std::collections::BTreeMap<String, String>,
    /// Whether the caller is still there; whoever carries the call knows.
    #[serde(skip)]
    pub presence: Presence,
}

/// A sender as channels know them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SenderId {
    /// Id in the channel.
    pub id: Option<String>,
    /// Address of a direct chat.
    pub from: Option<String>,
    /// Telephone number.
    pub e164: Option<String>,
    /// User name; the sender can change it.
    pub username: Option<String>,
    /// Display name; the sender can change it.
    pub name: Option<String>,
    /// Tag; the sender can change it.
    pub tag: Option<String>,
    /// The sender owns the installation.
    pub owner: bool,
    /// The sender may give commands (channel allowlists, pairing, access groups).
    pub authorized: bool,
}
