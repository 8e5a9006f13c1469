//! A way to the keeper that survives it: where one dies, the next request finds or starts another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::connection::{Connection, Gone, News};
use crate::keeper::error::Told;
use crate::keeper::{Caller, KeeperError, OWN_IDS};
use crate::state::StateDir;
use crate::tools::Context;

/// How often a request is made anew when keepers keep dying under it.
const TRIES: usize = 20;

/// What may be done with a request whose connection ended before its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Asked twice it is done once, or does no harm.
    Safe,
    /// Asked twice it could be done twice.
    Never,
}

/// Keepers of one state directory, one after the other.
#[derive(Debug)]
pub struct Keepers {
    state: StateDir,
    program: PathBuf,
    caller: Caller,
    now: Mutex<Option<Arc<Connection>>>,
}

impl Keepers {
    /// Starts `program keeper` where none is. Calls mean the configuration and the engine of this process's environment.
    pub fn new(state: &StateDir, program: &Path) -> Self {
        let caller = Caller::this_process(state);
        Self { state: state.clone(), program: program.to_owned(), caller, now: Mutex::new(None) }
    }

    /// Calls mean this configuration file.
    #[must_use]
    pub fn reading(mut self, file: &Path) -> Self {
        self.caller.config = std::path::absolute(file).ok().or_else(|| Some(file.to_owned()));
        self
    }

    /// The connection to the keeper of this moment.
    ///
    /// # Errors
    ///
    /// When none can be had.
    pub async fn connection(&self) -> Result<Arc<Connection>, KeeperError> {
        let mut now = self.now.lock().await;
        if let Some(connection) = now.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(super::connect(&self.state, &self.program).await?);
        *now = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Asks, at the next keeper again where one dies first and that is safe.
    ///
    /// # Errors
    ///
    /// What the keeper refuses, and the failures of the way to it.
    pub async fn request(&self, method: &str, params: Value, repeat: Repeat) -> Result<Value, KeeperError> {
        self.follow(method, params, repeat, |_| {}).await
    }

    /// Calls a tool. A call without an id gets one, so that it is one call however many keepers it takes.
    ///
    /// # Errors
    ///
    /// As [`Self::request`]; what the tool throws is told with its text.
    pub async fn call(
        &self,
        tool: &str,
        args: Value,
        mut context: Context,
        partial: impl FnMut(Value) + Send,
    ) -> Result<Value, KeeperError> {
        if context.call_id.is_none() {
            let id = crate::state::random_hex::<16>().map_err(KeeperError::Start)?;
            context.call_id = Some(format!("{OWN_IDS}{id}"));
        }
        let repeat = repeatable(tool, &args);
        let Caller { config, engine } = &self.caller;
        let params =
            json!({ "tool": tool, "args": args, "context": context, "config": config, "engine": engine });
        self.follow("tool.call", params, repeat, partial).await
    }

    async fn follow(
        &self,
        method: &str,
        params: Value,
        repeat: Repeat,
        mut update: impl FnMut(Value) + Send,
    ) -> Result<Value, KeeperError> {
        for _ in 0..TRIES {
            let connection = self.connection().await?;
            // Nothing was sent: asking the next one is asking once.
            let Ok(mut pending) = connection.ask(method, params.clone()).await else { continue };
            loop {
                match pending.next().await {
                    Ok(News::Update(value)) => update(value),
                    Ok(News::Done(Err(told))) if told.code == ENDING => break,
                    Ok(News::Done(done)) => return done.map_err(KeeperError::Told),
                    Err(Gone) if repeat == Repeat::Safe => break,
                    Err(Gone) => return Err(KeeperError::Unknown(said(method, &params))),
                }
            }
            // One that answers so ends now.
            connection.closed().await;
        }
        Err(KeeperError::NoAnswer(format!("{TRIES} keepers ended before they answered")))
    }
}

/// Code of [`KeeperError::Ending`]: nothing was done.
const ENDING: &str = "CRL-KEEPER-015";

/// Whether an action of the `process` tool may be asked for twice.
pub fn repeatable_action(action: &str) -> Repeat {
    match action {
        "write" | "send-keys" | "submit" | "paste" => Repeat::Never,
        _ => Repeat::Safe,
    }
}

/// Commands are found again by the call's id, looks do no harm; what is typed into a program is typed once.
fn repeatable(tool: &str, args: &Value) -> Repeat {
    let action = args.get("action").and_then(Value::as_str).unwrap_or_default();
    if tool == "process" { repeatable_action(action) } else { Repeat::Safe }
}

fn said(method: &str, params: &Value) -> String {
    let action = params.pointer("/args/action").and_then(Value::as_str);
    action.unwrap_or(method).to_owned()
}

impl From<Told> for KeeperError {
    fn from(told: Told) -> Self {
        Self::Told(told)
    }
}
