//! `creel keeper`: the process behind the command line, and what can be said to it.

use std::io::Write as _;
use std::time::Duration;

use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::print;
use crate::client::Sandbox;
use crate::error::{Failure, Report};
use crate::keeper::{Ended, IDLE, Keeper, KeeperError, connect_to_running, toolbox};
use crate::state::StateDir;

/// What to keep, and for how long.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Seconds after which a pool that nobody used is emptied.
    #[arg(long, value_name = "SECONDS", default_value_t = IDLE.as_secs())]
    idle: u64,
    /// Leave the terminal's session, as creel asks of a keeper that it starts itself.
    #[arg(long)]
    detached: bool,
    /// Engine address instead of the one that the docker client would use.
    #[arg(long, value_name = "ADDRESS")]
    engine: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What can be said to the keeper that runs.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say whether a keeper runs, and what it keeps.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask the keeper to end. Commands go on; the next keeper takes them over.
    Stop {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

impl Args {
    /// The caller reads JSON.
    pub(super) fn json(&self) -> bool {
        matches!(self.verb, Some(Verb::Status { json: true } | Verb::Stop { json: true }))
    }
}

/// Runs until nothing is left to keep, or a signal asks for the end; or says something to the one that runs.
pub async fn run(args: Args) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    match args.verb {
        None => keep(&state, args).await,
        Some(Verb::Status { json }) => say(&state, "keeper.status", json, status_text).await,
        Some(Verb::Stop { json }) => {
            let text = |told: &Value| format!("process {} ends; commands go on", number(told, "process"));
            say(&state, "keeper.stop", json, text).await
        }
    }
}

async fn keep(state: &StateDir, args: Args) -> Result<(), Failure> {
    if args.detached {
        // Fails for the leader of a process group, which a shell with job control makes of it; it then stays there.
        let _ = rustix::process::setsid();
    }
    let stop = CancellationToken::new();
    let mut signals = Vec::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signal = signal(kind).map_err(|error| listening(&error))?;
        let stop = stop.clone();
        signals.push(async move {
            signal.recv().await;
            stop.cancel();
        });
    }
    let mut base = Sandbox::options().state(state.root());
    if let Some(engine) = &args.engine {
        base = base.engine(engine);
    }
    let open = toolbox(state, &base, args.engine.clone());
    let mut keeper = Keeper::new(state, base, args.engine, Duration::from_secs(args.idle), open);
    let mut work = Box::pin(keeper.run(&stop));
    let ended = tokio::select! {
        ended = &mut work => ended?,
        _ = futures_util::future::select_all(signals.into_iter().map(Box::pin)) => work.await?,
    };
    let word = match ended {
        Ended::Kept(Some(process)) if process > 0 => {
            format!("process {process} keeps this state directory already")
        }
        Ended::Kept(_) => "another process keeps this state directory already".to_owned(),
        Ended::Idle => {
            "nothing is left to keep: no session, no caller, no pool is wanted; the next command that needs a keeper \
             starts one by itself"
                .to_owned()
        }
        Ended::Asked => "the pools are empty; commands go on".to_owned(),
    };
    let _ = writeln!(std::io::stderr(), "creel: {word}");
    Ok(())
}

async fn say(
    state: &StateDir,
    method: &str,
    json: bool,
    text: impl Fn(&Value) -> String,
) -> Result<(), Failure> {
    let Some(connection) = connect_to_running(state).await? else {
        if json {
            print::json(&serde_json::json!({ "running": false }));
        } else {
            print::line("no keeper runs");
        }
        return Ok(());
    };
    let told = match connection.request(method, Value::Null).await {
        Ok(told) => told.map_err(KeeperError::Told)?,
        // It ends: that is what was asked for, or it happened by itself.
        Err(_) => serde_json::json!({ "process": connection.hello().process }),
    };
    if method == "keeper.stop" {
        connection.closed().await;
    }
    if json {
        let mut told = told;
        if let Some(told) = told.as_object_mut() {
            told.insert("running".to_owned(), (method != "keeper.stop").into());
        }
        print::json(&told);
    } else {
        print::line(&text(&told));
    }
    Ok(())
}

fn status_text(told: &Value) -> String {
    let named = |name: &str| crate::shown::one_line(told.get(name).and_then(Value::as_str).unwrap_or("?"));
    format!(
        "process {}, for {} s: {} running, {} finished, {} callers, {} calls\nconfiguration {}\nengine {}",
        number(told, "process"),
        number(told, "uptimeMs") / 1000,
        number(told, "running"),
        number(told, "finished"),
        number(told, "clients"),
        number(told, "calls"),
        named("config"),
        named("engine"),
    )
}

fn number(told: &Value, name: &str) -> u64 {
    told.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn listening(error: &std::io::Error) -> Failure {
    Failure(Report {
        code: "CRL-CLI-001",
        message: format!("signals cannot be listened to: {error}"),
        rule: Some("built-in: a signal ends the pools before it ends the keeper".to_owned()),
        fix: "raise the limit of open files (ulimit -n)".to_owned(),
    })
}
