//! What a call gives back (spec `exec.md` §1.5): one text for the model, data beside it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Diagnose, Report};
use crate::process::record::SessionId;
use crate::process::sessions::Receipt;

/// One block of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
}

/// A result. Failures of the command, and what `process` refuses, are results too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// For the model.
    pub content: Vec<Content>,
    /// For programs; `status` is always there.
    pub details: Value,
    /// The session of a command in the foreground that is kept so that the call can be said again; whoever carries the
    /// result forgets it once the caller has it.
    #[serde(skip)]
    pub kept: Option<SessionId>,
    /// Output that a poll took: whoever carries the result says when the caller has it.
    #[serde(skip)]
    pub receipts: Vec<Receipt>,
}

impl ToolResult {
    /// A text and data.
    pub fn new(text: impl Into<String>, details: Value) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], details, kept: None, receipts: Vec::new() }
    }

    /// The same, in the hands of its caller.
    #[must_use]
    pub fn delivered(mut self) -> Self {
        for receipt in self.receipts.drain(..) {
            receipt.delivered();
        }
        self
    }

    /// The text of all blocks.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().map(|Content::Text { text }| text.as_str()).collect();
        texts.join("\n")
    }
}

/// What a tool throws: nothing ran, or the call was aborted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolError {
    /// The error as the model reads it; where the spec fixes a text, that text.
    pub text: String,
    /// The same in the one shape of every refusal.
    pub report: Report,
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ToolError {}

impl Diagnose for ToolError {
    fn report(&self) -> Report {
        self.report.clone()
    }
}

impl ToolError {
    /// A refusal as the model reads it: what, by which rule, what helps.
    pub fn of(report: Report) -> Self {
        let rule = report.rule.iter().map(|rule| format!("rule: {rule}"));
        let fix = Some(&report.fix).filter(|fix| !fix.is_empty()).map(|fix| format!("fix: {fix}"));
        let lines: Vec<String> = std::iter::once(report.message.clone()).chain(rule).chain(fix).collect();
        Self { text: lines.join("\n"), report }
    }

    /// No such tool.
    pub fn unknown(tool: &str) -> Self {
        let message = format!("there is no tool {:?}", crate::shown::one_line(tool));
        Self {
            text: message.clone(),
            report: Report {
                code: "CRL-TOOL-001",
                message,
                rule: Some("built-in: the tools that creel has".to_owned()),
                fix: "call exec or process".to_owned(),
            },
        }
    }
}
