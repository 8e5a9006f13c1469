//! `creel keeper`: the process that keeps pools filled.

use std::io::Write as _;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::client::Sandbox;
use crate::engine::{Discovery, Engine};
use crate::error::{Failure, Report};
use crate::keeper::{Ended, IDLE, Keeper};
use crate::sandbox::Sandboxes;
use crate::state::StateDir;

/// What to keep, and for how long.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Seconds after which a pool that nobody used is emptied; without any the keeper ends.
    #[arg(long, value_name = "SECONDS", default_value_t = IDLE.as_secs())]
    idle: u64,
    /// Leave the terminal's session, as creel asks of a keeper that it starts itself.
    #[arg(long)]
    detached: bool,
    /// Engine address instead of the one that the docker client would use.
    #[arg(long, value_name = "ADDRESS")]
    engine: Option<String>,
}

/// Runs until nobody wants a pool any more, or a signal asks for the end.
pub async fn run(args: Args) -> Result<(), Failure> {
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
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let base = Sandbox::options().state(state.root());
    let engine = Engine::discover(&Discovery::from_process(args.engine.clone())).await?;
    let sandboxes = Sandboxes::open(engine, &state)?;
    let mut keeper = Keeper::new(sandboxes, base, args.engine, Duration::from_secs(args.idle));
    let mut work = Box::pin(keeper.run(&stop));
    let ended = tokio::select! {
        ended = &mut work => ended?,
        _ = futures_util::future::select_all(signals.into_iter().map(Box::pin)) => work.await?,
    };
    let word = match ended {
        Ended::Kept(Some(process)) if process > 0 => format!("process {process} keeps the pools already"),
        Ended::Kept(_) => "another process keeps the pools already".to_owned(),
        Ended::Idle => {
            "no pool is wanted; the next `creel exec` with sandbox.pool.size starts a keeper by itself"
                .to_owned()
        }
        Ended::Asked => "the pools are empty".to_owned(),
    };
    let _ = writeln!(std::io::stderr(), "creel: {word}");
    Ok(())
}

fn listening(error: &std::io::Error) -> Failure {
    Failure(Report {
        code: "CRL-CLI-001",
        message: format!("signals cannot be listened to: {error}"),
        rule: Some("built-in: a signal ends the pools before it ends the keeper".to_owned()),
        fix: "raise the limit of open files (ulimit -n)".to_owned(),
    })
}
