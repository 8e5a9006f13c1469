//! Questions that wait for a person (spec `approvals.md` §9): registered before they are told, answered once, joined where the
//! same question waits already; grants with a budget.

use super::policy::{Answer, Decision, Target};
use crate::state::StateDir;

/// A question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The caller's own id, else one is made (9.09).
    pub id: Option<String>,
    /// The command as it was asked for.
    pub command: String,
    /// The digest of everything that is bound: the same digest joins one question.
    pub digest: String,
    /// The directory.
    pub cwd: String,
    /// The host.
    pub host: Option<Target>,
    /// The agent.
    pub agent: String,
    /// The session.
    pub session: Option<String>,
    /// The tool call.
    pub call: Option<String>,
    /// Names of the variables that the call sets.
    pub env_keys: Vec<String>,
    /// The program, where it is one.
    pub resolved_path: Option<String>,
    /// Why it is asked: a code of [`super::policy::Reason`].
    pub reason: String,
    /// What whoever decides should know first.
    pub warnings: Vec<String>,
    /// What can be decided.
    pub offered: Vec<Decision>,
    /// Where the message came from.
    pub delivery: crate::process::record::Delivery,
    /// How long it waits, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Only surfaces that are there now are asked: nobody waits for a chat or a command line (9.39).
    pub unattended: bool,
}

/// A question that waits.
#[derive(Debug)]
pub struct Ticket {
    /// Its id.
    pub id: String,
    /// When it ends, in Unix milliseconds.
    pub expires_at_ms: u64,
    /// Another call had asked the same already.
    pub joined: bool,
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// What came.
    pub answer: Answer,
    /// The word for it (9.18): `user`, `timeout`, `no-route`, `run-aborted`, `gateway-restart`, …
    pub reason: String,
    /// What the grant is limited to, where whoever decided said so.
    pub terms: Option<Terms>,
}

/// Limits of a grant (extension).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terms {
    /// It ends then, in Unix milliseconds.
    pub expires_at_ms: Option<u64>,
    /// How many runs it is good for.
    pub uses: Option<u32>,
    /// It holds below this directory, whatever the arguments.
    pub directory: Option<String>,
}

/// Where questions are put. Clones are the same desk.
#[derive(Debug, Clone)]
pub struct Desk {}

/// Why a question or an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    /// Placeholder of the skeleton.
    #[error("unknown or expired approval id")]
    Unknown,
}

impl Desk {
    /// Opens the desk of a state directory; questions of one that is gone are cancelled (9.20).
    pub fn open(state: &StateDir) -> Result<Self, DeskError> {
        let _ = state;
        todo!()
    }

    /// Registers a question, or joins the same one.
    pub fn ask(&self, question: &Question) -> Result<Ticket, DeskError> {
        let _ = question;
        todo!()
    }

    /// Waits for the end of a question.
    pub async fn settled(&self, id: &str) -> Settled {
        let _ = id;
        todo!()
    }

    /// Takes an approval of one run: once, and soon after the decision (9.40). Says whether it could be had.
    pub fn redeem(&self, id: &str, by: &str) -> Result<(), DeskError> {
        let _ = (id, by);
        todo!()
    }

    /// Ends a question that nobody needs an answer to any more (9.50).
    pub fn cancel(&self, id: &str, reason: &str) {
        let _ = (id, reason);
    }
}
