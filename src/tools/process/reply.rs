//! An answer: its text, and the data beside it. Absent things are absent, not null (spec `exec.md` §7.3).

use serde_json::{Map, Value};

use super::desk;
use crate::process::ending::Ending;
use crate::process::record::View;
use crate::process::said::{self, IdleThreshold};
use crate::process::sessions::Receipt;
use crate::tools::ToolResult;

/// An answer in the making.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    text: String,
    details: Map<String, Value>,
    receipts: Vec<Receipt>,
}

impl Reply {
    /// With `details.status`.
    pub(super) fn new(text: impl Into<String>, status: &str) -> Self {
        Self { text: text.into(), ..Self::default() }.with("status", status)
    }

    /// What `process` refuses is an answer too (spec `exec.md` §7.1).
    pub(super) fn failed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(text.clone(), "failed").with("error", text)
    }

    /// With output that was taken for it.
    pub(super) fn taking(mut self, receipts: Vec<Receipt>) -> Self {
        self.receipts = receipts;
        self
    }

    /// One more field.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// One more field, where there is a value.
    pub(super) fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Which session it is about.
    pub(super) fn about(self, view: &View) -> Self {
        self.with("sessionId", view.id.0.clone()).maybe("name", desk::label(view))
    }

    /// How a running session stands with its input.
    pub(super) fn input(self, view: &View, now_ms: u64, threshold: IdleThreshold) -> Self {
        self.with("stdinWritable", view.stdin_writable)
            .with("waitingForInput", said::waits_for_input(view, now_ms, threshold))
            .with("idleMs", said::idle_ms(view, now_ms))
            .with("lastOutputAt", view.last_output_ms.max(view.started_at_ms))
    }

    /// How a session ended. `cause` is finer than the reasons that agents know.
    pub(super) fn exit(self, ending: &Ending) -> Self {
        self.maybe("exitCode", ending.code)
            .maybe("exitSignal", ending.signal.clone())
            .with("exitReason", ending.reason)
            .with("timedOut", ending.timed_out())
            .with("noOutputTimedOut", ending.silent())
            .with("cause", json(&ending.death))
    }

    /// Why it counts as failed, and how long it took: for `poll` and `log`.
    pub(super) fn account(self, view: &View, ending: &Ending) -> Self {
        let failure = ending.failure.filter(|_| !ending.stopped);
        let ended = view.end.as_ref().map(|end| end.at_ms.saturating_sub(view.started_at_ms));
        self.exit(ending).maybe("failureKind", failure).maybe("durationMs", ended)
    }

    /// The fields alone.
    pub(super) fn into_fields(self) -> Value {
        Value::Object(self.details)
    }
}

impl From<Reply> for ToolResult {
    fn from(reply: Reply) -> Self {
        Self { receipts: reply.receipts, ..Self::new(reply.text, Value::Object(reply.details)) }
    }
}

/// Values of this crate without maps whose keys could fail.
pub(super) fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
