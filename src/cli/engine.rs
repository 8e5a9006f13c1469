//! `creel engine`: is there an engine, bring one up, take it down.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::print;
use crate::engine::daemon::{self, DaemonError, Down, Started, Step};
use crate::engine::proxy::{self, Allowed, Rules};
use crate::engine::{Capabilities, Discovery, Engine, EngineError, EngineFacts};
use crate::error::{EXIT_CREEL, Failure};
use crate::paths::DenyEnv;
use crate::state::StateDir;

/// Exit status of `status` when no engine can be used.
const EXIT_NONE: u8 = 1;

/// The container engine that creel uses.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// Engine address (`unix:///path`, `tcp://host:port`) instead of the one that the docker client would use.
    #[arg(long, global = true, value_name = "ADDRESS")]
    engine: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Say which engine is used and what it can enforce; exit status 1 when there is none.
    Status,
    /// Find a running engine, or install and start one.
    Up {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Stop the engine that `up` started, and no other.
    Down,
    /// Pass on the calls that sandboxes need, and no others: for a creel that runs in a container.
    ///
    /// Serves at a socket of its own until it is interrupted. Only sandboxes of the installation in the state directory
    /// are reached, and only hardened ones can be made.
    Proxy {
        /// The socket to serve at.
        #[arg(long, value_name = "SOCKET")]
        listen: PathBuf,
        /// A directory of the host below which sandboxes may mount; can be repeated. The proxy must see it under the
        /// same path.
        #[arg(long, value_name = "DIR", required = true)]
        root: Vec<PathBuf>,
        /// A network that sandboxes may have besides `none`; can be repeated.
        #[arg(long, value_name = "NAME")]
        network: Vec<String>,
        /// A profile of `AppArmor` that sandboxes may have besides the engine's own; can be repeated.
        #[arg(long, value_name = "PROFILE")]
        apparmor: Vec<String>,
        /// A directory for mounts of the proxy's own, which stand in for what a sandbox mounts until it has started, so
        /// that nobody can exchange it. Root on the engine's host only.
        #[arg(long, value_name = "DIR")]
        pins: Option<PathBuf>,
    },
}

/// Runs the subcommand; the exit status of the process.
pub async fn run(args: Args) -> ExitCode {
    let discovery = Discovery::from_process(args.engine.clone());
    let result = match args.action {
        Action::Status => return status(&discovery, args.json).await,
        Action::Up { yes } => up(&discovery, yes, args.json).await,
        Action::Down => down(args.json).await,
        Action::Proxy { listen, root: roots, network: networks, apparmor: profiles, pins } => {
            proxy(&discovery, &listen, Allowed { roots, networks, profiles, pins }).await
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            fail(&failure, args.json);
            ExitCode::from(EXIT_CREEL)
        }
    }
}

/// Prints what is known of the engine.
async fn status(discovery: &Discovery, json: bool) -> ExitCode {
    let state = StateDir::locate(|name| std::env::var(name).ok());
    let started = state.ok().and_then(|state| Started::running(&state).ok().flatten());
    let asked = async {
        let engine = Engine::discover(discovery).await?;
        let capabilities = engine.capabilities().await?.clone();
        Ok::<_, EngineError>((engine, capabilities))
    };
    match asked.await {
        Ok((engine, capabilities)) => {
            if json {
                print::compact(&json!({
                    "running": true,
                    "engine": engine.facts(),
                    "capabilities": capabilities,
                    "startedByCreel": started,
                }));
            } else {
                print::line(&table(engine.facts(), &capabilities, started));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            fail(&error.into(), json);
            ExitCode::from(EXIT_NONE)
        }
    }
}

/// Brings an engine up.
async fn up(discovery: &Discovery, yes: bool, json: bool) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let steps = daemon::prepare(discovery).await?;
    if !steps.is_empty() && !yes && !agreed(&steps) {
        return Err(DaemonError::Declined.into());
    }
    let up = daemon::up(discovery, &state, &mut |text| print::note(text)).await?;
    if json {
        let value = json!({
            "running": true,
            "already": up.already,
            "engine": up.engine.facts(),
            "startedByCreel": up.started,
        });
        print::compact(&value);
    } else {
        let facts = up.engine.facts();
        let verb = if up.already { "is running" } else { "is up" };
        print::line(&format!(
            "{} {} {verb} at {} ({})",
            facts.kind, facts.version, facts.endpoint, facts.origin
        ));
    }
    Ok(())
}

/// Stops what `up` started.
async fn down(json: bool) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let stopped = daemon::down(&state).await?;
    match (stopped, json) {
        (Down::Stopped(started), true) => print::compact(&json!({ "stopped": started.pid })),
        (Down::Nothing, true) => print::compact(&json!({ "stopped": null })),
        (Down::Stopped(started), false) => print::line(&format!("stopped dockerd (process {})", started.pid)),
        (Down::Nothing, false) => print::line("nothing to stop: creel started no engine that still runs"),
    }
    Ok(())
}

/// Serves until it is interrupted.
async fn proxy(discovery: &Discovery, listen: &Path, allowed: Allowed) -> Result<(), Failure> {
    let var = |name: &str| std::env::var(name).ok();
    let state = StateDir::locate(var)?;
    let deny = DenyEnv { state_dir: None, ..DenyEnv::from_vars(var, state.root()).with_os_home() };
    let rules = Rules::new(state, allowed, deny)?;
    let engine = Engine::discover(discovery).await?;
    let links: Vec<String> = rules.open_roots().map(|root| root.display().to_string()).collect();
    let ready = || {
        if !links.is_empty() {
            print::note(&format!(
                "{}: not mounted nosymfollow; whoever takes creel over and exchanges directories for links there can \
                 mount any directory of the host (docs/security.md, A source exchanged at the start)",
                links.join(", ")
            ));
        }
        let (listen, endpoint) = (listen.display(), &engine.facts().endpoint);
        print::note(&format!("{listen}: passing on calls of sandboxes to {endpoint}"));
    };
    Ok(proxy::serve(&engine, listen, rules, ready, super::interrupted()).await?)
}

/// Says what will be done and, on a terminal, asks. Without a terminal there is nobody to ask: it goes ahead.
fn agreed(steps: &[Step]) -> bool {
    print::note("no container engine answers; creel will run:");
    for step in steps {
        print::note(&format!("  {step}"));
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return true;
    }
    let mut errors = std::io::stderr();
    let _ = write!(errors, "Go ahead? [Y/n] ").and_then(|()| errors.flush());
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok_and(|count| count > 0) && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

/// The engine for people.
fn table(facts: &EngineFacts, capabilities: &Capabilities, started: Option<Started>) -> String {
    let limits = [
        ("memory", capabilities.memory_limit),
        ("swap", capabilities.swap_limit),
        ("pids", capabilities.pids_limit),
        ("cpu", capabilities.cpu_quota),
    ];
    let enforced =
        |on: bool| limits.iter().filter(|limit| limit.1 == on).map(|limit| limit.0).collect::<Vec<_>>();
    let join = |words: Vec<&str>| if words.is_empty() { "none".to_owned() } else { words.join(" ") };
    let runtimes: Vec<&str> = capabilities.runtimes.iter().map(String::as_str).collect();
    let mut rows = vec![
        ("engine", format!("{} {} (API {})", facts.kind, facts.version, facts.api_version)),
        ("address", format!("{} ({})", facts.endpoint, facts.origin)),
        ("host", format!("{} {}, kernel {}", facts.os, capabilities.arch, capabilities.kernel)),
        ("cgroup", format!("v{}, {}", capabilities.cgroup_version, capabilities.cgroup_driver)),
        ("enforces", join(enforced(true))),
        ("security", capabilities.security_options.join(" ")),
        ("runtimes", join(runtimes)),
    ];
    let missing = enforced(false);
    if !missing.is_empty() {
        rows.insert(5, ("cannot limit", missing.join(" ")));
    }
    if capabilities.rootless {
        rows.push(("mode", "rootless".to_owned()));
    }
    if let Some(started) = started {
        rows.push(("started by", format!("creel (process {})", started.pid)));
    }
    rows.extend(facts.tried.iter().map(|attempt| ("tried before", attempt.to_string())));
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<13} {value}")).collect();
    lines.join("\n")
}

/// Prints a failure: on standard output as JSON where JSON was asked for, else on standard error.
fn fail(failure: &Failure, json: bool) {
    if json {
        print::compact(&json!({ "running": false, "error": failure.0 }));
    } else {
        print::failure(failure, false);
    }
}
