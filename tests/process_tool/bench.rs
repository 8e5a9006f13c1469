//! A sandbox, sessions in it, and an agent that calls the tool.

use std::time::{Duration, Instant};

use creel::Sandbox;
use creel::process::record::{Begin, SessionId};
use creel::process::said::IdleThreshold;
use creel::tools::process::{Polls, call};
use creel::tools::{Context, ToolResult};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::lab::{Home, LONG, Lab, begin, spawn};

pub(crate) struct Bench {
    pub(crate) lab: Lab,
    pub(crate) sandbox: Sandbox,
    pub(crate) polls: Polls,
    /// Dropped last: it removes the sandbox.
    _home: Home,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let home = Home::new();
        let lab = home.lab().await;
        let sandbox = lab.sandbox("tool").await;
        let polls = Polls::with_threshold(IdleThreshold(1000));
        Self { lab, sandbox, polls, _home: home }
    }

    /// A session in the background. It is there before its command starts: one that ends at once would not get there.
    pub(crate) async fn start(&self, text: &str, change: impl FnOnce(&mut Begin)) -> SessionId {
        let mut begin = begin(&self.sandbox, text);
        change(&mut begin);
        let (id, command) = self.lab.sessions.begin(begin.clone()).unwrap();
        assert!(self.lab.sessions.background(&id).unwrap());
        let running = spawn(&self.sandbox, &begin, command).await;
        self.lab.sessions.follow(&id, running).unwrap();
        id
    }

    /// One at a terminal.
    pub(crate) async fn terminal(&self, text: &str) -> SessionId {
        self.start(text, |begin| begin.tty = Some((30, 120))).await
    }

    /// One whose input is a pipe.
    pub(crate) async fn piped(&self, text: &str) -> SessionId {
        self.start(text, |begin| begin.stdin = true).await
    }

    pub(crate) async fn call_as(&self, context: Context, params: Value) -> ToolResult {
        let cancel = CancellationToken::new();
        call(&self.lab.sessions, &self.polls, params, &context, cancel).await.unwrap()
    }

    /// What the agent `main` gets.
    pub(crate) async fn call(&self, params: Value) -> ToolResult {
        self.call_as(Context::default(), params).await
    }

    /// An action about a session, with further parameters.
    pub(crate) async fn act(&self, id: &SessionId, action: &str, more: Value) -> ToolResult {
        self.call(about(id, action, &more)).await
    }

    pub(crate) async fn text(&self, id: &SessionId, action: &str, more: Value) -> String {
        self.act(id, action, more).await.text()
    }

    /// Polls to the end: all new output, and the last answer.
    pub(crate) async fn to_the_end(&self, id: &SessionId) -> (String, ToolResult) {
        let (begun, mut output) = (Instant::now(), String::new());
        while begun.elapsed() < LONG {
            let answer = self.act(id, "poll", json!({"timeout": 5000})).await;
            let text = answer.text();
            let (new, _) = text.rsplit_once("\n\nProcess ").unwrap_or_else(|| panic!("{text}"));
            if new != "(no new output)" {
                output = format!("{output}{new}\n");
            }
            if answer.details["status"] != "running" {
                return (output, answer);
            }
        }
        panic!("{id} does not end");
    }

    /// Waits until the terminal or the output shows a text.
    pub(crate) async fn shows(&self, id: &SessionId, text: &str) {
        let answer = self.act(id, "wait", json!({"text": text, "timeout": ms(LONG)})).await;
        assert_eq!(answer.details["met"], true, "{id} never showed {text:?}: {}", answer.text());
    }

    /// Waits until a session has been silent.
    pub(crate) async fn is_silent(&self, id: &SessionId, time: Duration) {
        let answer = self.act(id, "wait", json!({"quiet": ms(time)})).await;
        assert_eq!(answer.details["met"], true, "{}", answer.text());
    }
}

pub(crate) fn about(id: &SessionId, action: &str, more: &Value) -> Value {
    let mut params = json!({"action": action, "sessionId": id.0});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}
