//! What is asked, what is answered, and what surfaces are shown of it. Values.

use serde::{Deserialize, Serialize};

use super::grant::Operation;
use crate::approvals::display::{CommandAnalysis, CommandSpan, visible};
use crate::approvals::document::Entry;
use crate::approvals::policy::{Answer, Decision, Target};

/// A question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The caller's own id, else one is made (9.09).
    pub id: Option<String>,
    /// The command as it was asked for.
    pub command: String,
    /// Its words, where it is one literal command.
    pub argv: Option<Vec<String>>,
    /// The digest of everything that is bound: the same digest joins one question. An empty one joins none.
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
    /// Why it is asked: a code of [`crate::approvals::policy::Reason`].
    pub reason: String,
    /// What whoever decides should know first.
    pub warnings: Vec<String>,
    /// What of the command is worth a second look (9.13).
    pub analysis: Option<CommandAnalysis>,
    /// Surfaces are told where the programs of the command stand (§14).
    pub highlight: bool,
    /// What can be decided.
    pub offered: Vec<Decision>,
    /// Where the message came from.
    pub delivery: crate::process::record::Delivery,
    /// How long it waits, in milliseconds; 30 minutes where nothing is said (9.19).
    pub timeout_ms: Option<u64>,
    /// Only surfaces that are there now are asked: nobody waits for a chat or a command line (9.39).
    pub unattended: bool,
    /// What "always" would write. A grant with a budget is made of these.
    pub entries: Vec<Entry>,
    /// The operation of a scheduled run: "always" then is a grant for exactly that, and writes no entry (9.05, 9.42).
    pub operation: Option<Operation>,
    /// Days after which the grant of a scheduled run ends: `tools.exec.grantExpiryDays`.
    pub expiry_days: Option<u32>,
    /// A program asks, not a tool call: nothing runs here, whatever is decided.
    pub external: bool,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The grant that was made of "always". Where there is one, nothing is written into the document.
    pub grant: Option<String>,
}

/// Limits of a grant (extension).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Terms {
    /// It ends then, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// How many runs it is good for, the one that was asked about included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// It holds in and below this directory, whatever the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

impl Terms {
    /// Nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How a question stands (9.18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It waits.
    Pending,
    /// Somebody said yes.
    Allowed,
    /// Somebody said no, or what came was no decision, or nobody could be asked.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// Nobody needs an answer any more.
    Cancelled,
}

impl Status {
    /// Its word, as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolver {
    /// `device`, `channel`, `runtime` or `system` (9.18).
    pub kind: String,
    /// Which one, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Resolver {
    /// A person or a program at a surface of this machine.
    pub fn device(id: &str) -> Self {
        Self { kind: "device".to_owned(), id: Some(id.to_owned()) }
    }

    /// creel itself.
    pub fn system() -> Self {
        Self { kind: "system".to_owned(), id: None }
    }
}

/// A question as surfaces see it. Times in Unix milliseconds; texts are safe to be shown on one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Its id.
    pub id: String,
    /// The first eight characters of it.
    pub slug: String,
    /// Always `exec`: an answer to another kind of question is none to this (9.32).
    pub kind: String,
    /// How it stands.
    pub status: Status,
    /// The command, complete: invisible characters as `\u{HEX}`, secrets redacted.
    pub command_text: String,
    /// Its words, each shown in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// The directory.
    pub cwd: String,
    /// `gateway` or `node`.
    pub host: String,
    /// The agent.
    pub agent_id: String,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Names of the variables that the call sets; never their values (9.13).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_keys: Vec<String>,
    /// The program, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    /// Why it is asked.
    pub ask_reason: String,
    /// What whoever decides should know first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What of the command is worth a second look (9.13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_analysis: Option<CommandAnalysis>,
    /// Where the programs of the command stand in its text (§14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_spans: Option<Vec<CommandSpan>>,
    /// What can be decided (9.02).
    pub allowed_decisions: Vec<Decision>,
    /// What "always" would write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<String>,
    /// Only surfaces that are there are asked.
    #[serde(default)]
    pub unattended: bool,
    /// A program asks; nothing runs here, whatever is decided.
    #[serde(default)]
    pub external: bool,
    /// When it was asked.
    pub created_at_ms: u64,
    /// When it ends by itself.
    pub expires_at_ms: u64,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why it ended (9.18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at_ms: Option<u64>,
    /// Who ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Resolver>,
    /// The grant that was made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<String>,
    /// When its one run was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_at_ms: Option<u64>,
    /// What became of that run: `started`, or `not-started: ` and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

impl Record {
    /// A question as it is first shown, or why it cannot be (9.11).
    pub(super) fn of(
        question: &Question,
        id: &str,
        now: u64,
        expires: u64,
    ) -> Result<Self, super::DeskError> {
        let shown = |text: &String| visible(text);
        Ok(Self {
            id: id.to_owned(),
            slug: super::id::slug(id).to_owned(),
            kind: KIND.to_owned(),
            status: Status::Pending,
            command_text: super::show::command(&question.command, true)?,
            argv: question.argv.as_deref().map(|argv| super::show::words(argv, true)).transpose()?,
            cwd: shown(&question.cwd),
            host: match question.host {
                Some(Target::Node) => "node".to_owned(),
                _ => "gateway".to_owned(),
            },
            agent_id: shown(&question.agent),
            session_key: question.session.as_ref().map(shown),
            tool_call_id: question.call.as_ref().map(shown),
            env_keys: question.env_keys.iter().map(shown).collect(),
            resolved_path: question.resolved_path.as_ref().map(shown),
            ask_reason: shown(&question.reason),
            warnings: question.warnings.iter().map(shown).collect(),
            command_analysis: question.analysis.clone(),
            command_spans: super::show::spans(question, true),
            allowed_decisions: question.offered.clone(),
            always: super::show::always(question),
            unattended: question.unattended,
            external: question.external,
            created_at_ms: now,
            expires_at_ms: expires,
            decision: None,
            reason: None,
            resolved_at_ms: None,
            resolver: None,
            grant_id: None,
            consumed_at_ms: None,
            outcome: None,
        })
    }

    /// The same for the operator's own terminal, which hides nothing: who decides there sees what runs.
    pub(super) fn plain(&self, question: &Question) -> Self {
        let command = super::show::command(&question.command, false);
        let argv = question.argv.as_deref().map(|argv| super::show::words(argv, false));
        Self {
            command_text: command.unwrap_or_else(|_| self.command_text.clone()),
            argv: argv.and_then(Result::ok).or_else(|| self.argv.clone()),
            command_spans: super::show::spans(question, false),
            ..self.clone()
        }
    }

    /// It waits.
    pub fn is_pending(&self) -> bool {
        self.status == Status::Pending
    }
}

/// The kind of the questions here.
pub const KIND: &str = "exec";
