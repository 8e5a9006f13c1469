//! `creel tool`: tools as an agent calls them, with JSON in and JSON out.

mod lines;

use std::sync::Mutex;

use clap::Subcommand;
use serde_json::{Value, json};

use super::print;
use crate::error::{Diagnose as _, EXIT_CREEL, Failure, Report};
use crate::keeper::{KeeperError, Keepers, Told, own_program};
use crate::state::{StateDir, random_hex};
use crate::tools::Context;

/// Exit status when the tool threw: nothing ran, or the call was taken back.
const THREW: u8 = 1;

/// Which tool, or lines that say which.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Read calls from standard input, a JSON object {"tool", "args", "context"} on each line. They run at once; each is
    /// answered with one line, in the order of the calls.
    #[arg(long)]
    stdin: bool,
    #[command(subcommand)]
    tool: Option<Tool>,
}

/// The tools.
#[derive(Debug, Subcommand)]
enum Tool {
    /// Run a command, where the configuration says.
    Exec(Call),
    /// Look at, feed and end commands in the background.
    Process(Call),
    /// Print the JSON Schemas of the tools' parameters.
    Schemas {
        /// As they are for a run that does not have the process tool.
        #[arg(long)]
        without_process: bool,
    },
}

/// One call, or many on standard input.
#[derive(Debug, clap::Args)]
struct Call {
    /// The parameters as a JSON object; `-` reads one object per line from standard input and answers with a line each.
    #[arg(value_name = "JSON")]
    args: String,
    /// Who calls, from where, as a JSON object: agent, session, callId, channel, sender, and more (docs/exec.md).
    #[arg(long, value_name = "JSON")]
    context: Option<String>,
}

/// A call as it is made.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    tool: String,
    #[serde(default = "empty")]
    args: Value,
    #[serde(default)]
    context: Context,
}

fn empty() -> Value {
    json!({})
}

/// Makes the calls. Returns the exit status.
pub async fn run(args: Args) -> u8 {
    match Box::pin(calls(args)).await {
        Ok(status) => status,
        Err(failure) => {
            // One line, as every answer is.
            let answer = Answer::refused(&failure);
            print::compact(&answer.line);
            answer.status
        }
    }
}

async fn calls(args: Args) -> Result<u8, Failure> {
    let (tool, call) = match args.tool {
        Some(Tool::Exec(call)) => ("exec", call),
        Some(Tool::Process(call)) => ("process", call),
        Some(Tool::Schemas { without_process }) => {
            print::json(&json!({ "tools": crate::tools::schemas(!without_process) }));
            return Ok(0);
        }
        None => return Box::pin(lines::run(Caller::new()?, LINE, read)).await,
    };
    let context: Context = match &call.context {
        Some(text) => parse("--context", text)?,
        None => Context::default(),
    };
    let caller = Caller::new()?;
    if call.args == "-" {
        if context.call_id.is_some() {
            return Err(Failure(usage(
                "--context: callId",
                "one id cannot name several calls",
                "leave callId out of --context, or use `creel tool --stdin` with a context on each line",
            )));
        }
        let one = |line: &str| {
            let args = read(line)?;
            Ok(Asked { tool: tool.to_owned(), args, context: context.clone() })
        };
        return Box::pin(lines::run(caller, PARAMETERS, one)).await;
    }
    let asked = Asked { tool: tool.to_owned(), args: parse("JSON", &call.args)?, context };
    let mut made = Box::pin(caller.call(asked));
    let answer = tokio::select! {
        answer = &mut made => answer,
        () = super::interrupted() => {
            caller.take_back().await;
            tokio::select! {
                answer = &mut made => answer,
                () = super::interrupted() => return Ok(130),
            }
        }
    };
    print::compact(&answer.line);
    Ok(answer.status)
}

/// What became of a call.
struct Answer {
    line: Value,
    status: u8,
}

impl Answer {
    fn of(done: Result<Value, KeeperError>) -> Self {
        let told = match done {
            Ok(line) => return Self { line, status: 0 },
            Err(KeeperError::Told(told)) => told,
            Err(error) => Told::from(error.report()),
        };
        // A tool's own error has its text for the model.
        let status = if told.text.is_some() { THREW } else { EXIT_CREEL };
        Self { line: json!({ "error": told }), status }
    }

    fn refused(failure: &Failure) -> Self {
        Self { line: json!({ "error": failure.0 }), status: EXIT_CREEL }
    }
}

/// Makes calls, and knows those that are under way.
struct Caller {
    keepers: Keepers,
    open: Mutex<Vec<String>>,
}

impl Caller {
    fn new() -> Result<Self, Failure> {
        let state = StateDir::locate(|name| std::env::var(name).ok())?;
        let keepers = Keepers::new(&state, &own_program()?);
        Ok(Self { keepers, open: Mutex::default() })
    }

    async fn call(&self, asked: Asked) -> Answer {
        let Asked { tool, args, mut context } = asked;
        let id = match context.call_id.clone() {
            Some(id) => id,
            None => match random_hex::<16>() {
                Ok(id) => format!("{}{id}", crate::keeper::OWN_IDS),
                Err(error) => return Answer::of(Err(KeeperError::Start(error))),
            },
        };
        context.call_id = Some(id.clone());
        self.open().push(id.clone());
        let done = self.keepers.call(&tool, args, context, |_| {}).await;
        self.open().retain(|open| *open != id);
        Answer::of(done)
    }

    /// Takes back what is under way: commands in the foreground end.
    async fn take_back(&self) {
        let open: Vec<String> = self.open().clone();
        for id in open {
            let params = json!({ "callId": id });
            // A call that cannot be taken back ends with the keeper's grace.
            let _ = self.keepers.request("tool.cancel", params, crate::keeper::Repeat::Safe).await;
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What helps where an argument cannot be read.
const QUOTED: &str =
    "see `creel tool --help`; quote JSON for the shell: creel tool exec '{\"command\":\"id\"}'";
/// What helps where a line of `--stdin` cannot.
const LINE: &str = "write a whole call on each line: {\"tool\":\"exec\",\"args\":{\"command\":\"id\"}}";
/// The same for the lines of one tool.
const PARAMETERS: &str = "write the parameters of one call on each line: {\"command\":\"id\"}";

fn parse<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, Failure> {
    read(text).map_err(|why| Failure(usage(what, &why, QUOTED)))
}

/// The value, or what is wrong with the text.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn usage(what: &str, why: &str, fix: &str) -> Report {
    Report {
        code: "CRL-CLI-020",
        message: format!("{what} is not what is expected: {why}"),
        rule: Some("command line".to_owned()),
        fix: fix.to_owned(),
    }
}
