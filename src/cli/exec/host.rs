//! `creel exec --host gateway`: one command beside the gateway, through the `exec` tool of the keeper. Where somebody has to
//! decide about it, this process is the surface of its own call.

use std::time::Instant;

use serde_json::{Value, json};

use super::Signals;
use super::args::Args;
use crate::approvals::desk::Record;
use crate::cli::approvals::question::{block, ended, keys, span, typed};
use crate::cli::approvals::typed::{Lines, Terminal};
use crate::cli::print;
use crate::error::{EXIT_CREEL, EXIT_TIMEOUT, Failure, Report};
use crate::keeper::{Gone, KeeperError, Keepers, News, OWN_IDS, Repeat, own_program};
use crate::process::store::now_ms;
use crate::state::{StateDir, random_hex};
use crate::tools::Context;

/// Runs it and returns the exit status: the command's own, 125 where it was denied.
pub(super) async fn run(args: &Args, host: Option<&str>) -> Result<u8, Failure> {
    let params = params(args, host)?;
    let mut signals = Signals::listen()?;
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let mut keepers = Keepers::new(&state, &own_program()?);
    if let Some(file) = &args.common.config {
        keepers = keepers.reading(file);
    }
    let id = format!("{OWN_IDS}{}", random_hex::<16>().map_err(KeeperError::Start)?);
    let context = Context {
        agent: args.agent.clone(),
        session: args.session.clone(),
        call_id: Some(id.clone()),
        approval_surface: true,
        // Nothing goes on behind a command line that has ended.
        without: vec!["process".to_owned()],
        ..Context::default()
    };
    let mut call = Box::pin(keepers.call("exec", params, context, |_| {}));
    let mut questions = Box::pin(questions(&keepers, &id));
    let mut asked_to_end = None;
    let done = loop {
        tokio::select! {
            biased;
            done = &mut call => break done,
            signal = signals.next() => {
                if asked_to_end.replace(signal).is_some() {
                    return Ok(128 + signal);
                }
                // What waits for an answer is taken back, what runs is ended.
                let _ = keepers.request("tool.cancel", json!({ "callId": id }), Repeat::Safe).await;
            }
            failed = &mut questions => return Err(failed.into()),
        }
    };
    match (done, asked_to_end) {
        (Ok(result), _) => Ok(conclude(&result, args.json)),
        (Err(_), Some(signal)) => Ok(128 + signal),
        (Err(error), None) => Err(error.into()),
    }
}

/// The call; what only a sandbox has is refused.
fn params(args: &Args, host: Option<&str>) -> Result<Value, Failure> {
    let only_inside = [
        (args.image.is_some(), "--image"),
        (args.workspace.is_some(), "--workspace"),
        (!args.binds.is_empty(), "--bind"),
        (args.stdin, "--stdin"),
        (args.tty, "--tty"),
        (args.transport != "auto", "--transport"),
    ];
    if let Some((_, flag)) = only_inside.into_iter().find(|(given, _)| *given) {
        return Err(super::args::bad(
            format!("{flag} is for commands in a sandbox, and --host may lead out of it"),
            flag,
            &format!("leave {flag} or --host out"),
        ));
    }
    let mut params = json!({ "command": text(&args.command), "background": false });
    let Some(map) = params.as_object_mut() else { return Ok(params) };
    let env = args.variables()?;
    if !env.is_empty() {
        map.insert(
            "env".to_owned(),
            env.into_iter().map(|(name, value)| (name, Value::from(value))).collect(),
        );
    }
    let workdir = match &args.workdir {
        Some(dir) => Some(dir.clone()),
        // As any other program that is started here.
        None if host == Some("gateway") => {
            std::env::current_dir().ok().and_then(|dir| dir.to_str().map(str::to_owned))
        }
        None => None,
    };
    let given = [
        ("host", host.map(Value::from)),
        ("workdir", workdir.map(Value::from)),
        ("timeout", args.timeout.map(Value::from)),
    ];
    map.extend(given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Ok(params)
}

/// One operand is shell text; several are words, and stay what they are.
fn text(command: &[String]) -> String {
    if let [text] = command { text.clone() } else { crate::shell::quote::line(command) }
}

/// Asks what the call's question asks, at whatever keeper it waits. Ends only where no keeper can be had.
async fn questions(keepers: &Keepers, call: &str) -> KeeperError {
    let mut asker = Asker::new();
    loop {
        let connection = match keepers.connection().await {
            Ok(connection) => connection,
            Err(error) => return error,
        };
        let params = json!({ "call": call, "own": true });
        let Ok(mut watch) = connection.ask("approvals.watch", params).await else { continue };
        loop {
            tokio::select! {
                news = watch.next() => match news {
                    Ok(News::Update(update)) => asker.update(&update),
                    Ok(News::Done(_)) | Err(Gone) => break,
                },
                line = asker.line() => asker.decide(keepers, &line).await,
            }
        }
        connection.closed().await;
        asker.open = None;
    }
}

/// The person at this terminal, where there is one.
struct Asker {
    terminal: Option<Terminal>,
    lines: Option<Lines>,
    open: Option<Record>,
    since: Instant,
}

impl Asker {
    fn new() -> Self {
        Self { terminal: None, lines: None, open: None, since: Instant::now() }
    }

    fn update(&mut self, update: &Value) {
        let record = |key: &str| {
            update.get(key).and_then(|record| serde_json::from_value::<Record>(record.clone()).ok())
        };
        if let Some(asked) = record("requested") {
            self.show(asked);
        } else if let Some(over) = record("resolved") {
            self.open = None;
            let by =
                over.resolver.as_ref().and_then(|by| by.id.clone()).unwrap_or_else(|| "creel".to_owned());
            self.say(&format!("creel: {} ({})\n", ended(&over), crate::shown::one_line(&by)));
        }
    }

    fn show(&mut self, record: Record) {
        // The terminal is taken only when there is something to ask.
        if self.terminal.is_none() {
            self.terminal = Terminal::open();
            self.lines = self.terminal.as_ref().and_then(|terminal| Lines::of_terminal(terminal).ok());
        }
        let now = now_ms();
        let how = if self.lines.is_some() {
            keys(&record)
        } else {
            let id = &record.id;
            let left = span(record.expires_at_ms.saturating_sub(now));
            format!(
                "creel: waits up to {left} for: creel approvals approve {id} | creel approvals deny {id}\n"
            )
        };
        self.say(&format!("{}\n{how}", block(&record, now)));
        self.since = Instant::now();
        self.open = Some(record);
    }

    fn say(&self, text: &str) {
        match &self.terminal {
            Some(terminal) => terminal.say(text),
            None => print::note(text.trim_end()),
        }
    }

    /// The next line that was typed with the question on the screen.
    async fn line(&mut self) -> String {
        let since = self.since;
        if let (Some(lines), Some(_)) = (&mut self.lines, &self.open) {
            if let Some(line) = lines.typed(since).await {
                return line;
            }
            self.lines = None;
        }
        std::future::pending().await
    }

    async fn decide(&mut self, keepers: &Keepers, line: &str) {
        let Some(record) = &self.open else { return };
        let Some(decision) = typed(line, record) else { return self.say(&keys(record)) };
        let params = json!({ "id": record.id, "decision": decision.word(), "by": "terminal" });
        if let Err(error) = keepers.request("approvals.resolve", params, Repeat::Safe).await {
            self.say(&format!("creel: {}\n", Failure::from(error)));
        }
    }
}

/// Prints what the command printed, or why it did not run; returns the exit status.
fn conclude(result: &Value, json: bool) -> u8 {
    let details = result.get("details").unwrap_or(&Value::Null);
    let word = |key: &str| details.get(key).and_then(Value::as_str).unwrap_or_default();
    let number =
        |key: &str| details.get(key).and_then(Value::as_u64).and_then(|number| u8::try_from(number).ok());
    let ran = details.get("exitReason").is_some() && details.get("error").is_none();
    if json {
        print::json(details);
    } else if ran {
        print::exactly(word("aggregated"));
    } else {
        let text =
            result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or("nothing was executed");
        print::failure(&Failure(denied(text)), false);
    }
    match (ran, details.get("timedOut").and_then(Value::as_bool)) {
        (false, _) => EXIT_CREEL,
        (true, Some(true)) => EXIT_TIMEOUT,
        (true, _) => number("exitCode")
            .or_else(|| number("exitSignal").map(|signal| signal.saturating_add(128)))
            .unwrap_or(EXIT_CREEL),
    }
}

fn denied(text: &str) -> Report {
    Report {
        code: "CRL-CLI-037",
        message: text.to_owned(),
        rule: Some("the approvals of this machine: creel approvals get".to_owned()),
        fix: "creel explain exec says which rule decided, and what would change it".to_owned(),
    }
}
