//! The command line. One file per subcommand; the only module that prints.

pub mod approvals;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod engine;
pub mod events;
pub mod exec;
pub mod exec_policy;
pub mod explain;
pub mod images;
pub mod keeper;
mod paint;
pub mod policy;
mod print;
pub mod process;
mod prove;
pub mod sandbox;
pub mod security;
pub mod session;
pub mod tool;
pub mod tools;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::config::Config;
use crate::engine::{Discovery, Engine};
use crate::error::{EXIT_CREEL, Failure};
use crate::state::StateDir;

/// Runs an agent's commands in hardened containers, and says truthfully what happened.
#[derive(Debug, Parser)]
#[command(name = "creel", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run a command in a sandbox.
    ///
    /// The exit status is the command's own; 124 when its time limit ended it, 125 when creel failed, 126 and 127
    /// when it could not be executed or found, 128 and the signal's number when a signal ended it.
    Exec(Box<exec::Args>),
    /// Call a tool as an agent does: JSON in, JSON out.
    ///
    /// The exit status is 0 where the tool gave a result, whatever it says; 1 where it threw, as {"error": ...}; 125 when
    /// creel failed.
    Tool(tool::Args),
    /// See and steer the commands in the background, those of every agent.
    ///
    /// The exit status is 0 when it was done, 1 when the session does not allow it or what `wait` waits for does not come
    /// in time, 125 when creel failed.
    Process(process::Args),
    /// Show what conversations should hear of: ends of commands, notices, denials.
    Events(events::Args),
    /// Show and change what a conversation has chosen for its commands.
    Session(session::Args),
    /// Show what creel does: a sandbox comes up, commands run in it, its hardening is read back.
    Demo(demo::Args),
    /// Show and change what may run on this machine, and answer what waits for a person.
    #[command(alias = "exec-approvals")]
    Approvals(approvals::Args),
    /// Show the policy of commands on this machine, and set it in the approvals document and the configuration at once.
    ExecPolicy(exec_policy::Args),
    /// Explain, list, recreate, stop and prune the sandboxes of this installation.
    Sandbox(sandbox::Args),
    /// Read, change and check the configuration file.
    Config(config::Args),
    /// Say what is wrong with this installation and what helps; with --prove, try what must not work.
    ///
    /// The exit status is 0 where all is well or only worth a note, 1 with a warning or an error (with --prove: with
    /// anything open or unknown), 125 when creel itself failed.
    Doctor(doctor::Args),
    /// Say what the configuration opens.
    Security(security::Args),
    /// Show which tools a session has, and which rule took the others away.
    Tools(tools::Args),
    /// Say what would become of one command, and why.
    Explain(explain::Args),
    /// Put the policy under test: a file of commands and what is expected of each.
    Policy(policy::Args),
    /// Build, list and pull sandbox images; building needs no registry.
    Images(ImagesArgs),
    /// Hold sessions of commands and keep pools of sandboxes filled; creel starts it by itself.
    Keeper(keeper::Args),
    /// The container engine: status, up, down, proxy.
    Engine(engine::Args),
}

/// `creel images` with the flags that it shares.
#[derive(Debug, clap::Args)]
struct ImagesArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    images: images::Args,
}

/// Flags of every subcommand that needs an engine.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Common {
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Engine address (`unix:///path`, `tcp://host:port`) instead of the one that the docker client would use.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub engine: Option<String>,
}

impl Common {
    /// Finds the engine and the state directory.
    async fn places(&self) -> Result<(Engine, StateDir), Failure> {
        let state = StateDir::locate(|name| std::env::var(name).ok())?;
        Ok((Engine::discover(&Discovery::from_process(self.engine.clone())).await?, state))
    }
}

/// Parses the process's arguments, runs, and returns the exit code.
pub fn main() -> ExitCode {
    crate::observe::install();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() && json_asked(std::env::args_os()) {
                print::failure(&Failure(usage(&error)), true);
                return print::verdict(ExitCode::from(EXIT_CREEL));
            }
            let printed = error.print();
            // 2 would be taken for a command's own status.
            if error.use_stderr() {
                return ExitCode::from(EXIT_CREEL);
            }
            // Help and version are no errors, when they arrive.
            if let Err(error) = printed {
                print::broken(error.kind(), &error);
            }
            return print::verdict(ExitCode::SUCCESS);
        }
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        let _ = writeln!(std::io::stderr(), "creel: the async runtime does not start; see ulimit -n");
        return ExitCode::from(EXIT_CREEL);
    };
    let code = runtime.block_on(async {
        match cli.command {
            Command::Exec(args) => ExitCode::from(Box::pin(exec::run(*args)).await),
            Command::Tool(args) => ExitCode::from(Box::pin(tool::run(args)).await),
            Command::Process(args) => Box::pin(process::run(args)).await,
            Command::Events(args) => {
                let json = args.json();
                status(Box::pin(events::run(args)).await, json)
            }
            Command::Session(args) => status(session::run(&args), args.json()),
            Command::Demo(args) => status(Box::pin(demo::run(args)).await, false),
            Command::Approvals(args) => Box::pin(approvals::run(args)).await,
            Command::ExecPolicy(args) => status(exec_policy::run(&args), args.json()),
            Command::Sandbox(args) => sandbox::run(args).await,
            Command::Config(args) => config::run(&args),
            Command::Doctor(args) => Box::pin(doctor::run(args)).await,
            Command::Security(args) => security::run(args).await,
            Command::Tools(args) => tools::run(args),
            Command::Explain(args) => Box::pin(explain::run(args)).await,
            Command::Policy(args) => Box::pin(policy::run(args)).await,
            Command::Images(args) => {
                let json = args.images.json();
                let done = match args.common.places().await {
                    Ok((engine, state)) => {
                        let config = args.common.config.as_deref();
                        Box::pin(images::run(args.images, config, &engine, &state)).await
                    }
                    Err(failure) => Err(failure),
                };
                status(done, json)
            }
            Command::Keeper(args) => {
                let json = args.json();
                status(Box::pin(keeper::run(args)).await, json)
            }
            Command::Engine(args) => engine::run(args).await,
        }
    });
    print::verdict(code)
}

/// The caller reads JSON: `--json` among the words before a command of its own.
fn json_asked(args: impl Iterator<Item = std::ffi::OsString>) -> bool {
    args.take_while(|word| word != "--").any(|word| word == "--json")
}

/// A usage error in the one shape of every refusal.
fn usage(error: &clap::Error) -> crate::error::Report {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let tip = rest.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    crate::error::Report {
        code: "CRL-CLI-010",
        message: message.trim().to_owned(),
        rule: Some("command line".to_owned()),
        fix: tip.unwrap_or("see creel --help, or --help of the subcommand").to_owned(),
    }
}

/// The exit code of a subcommand, with its failure told.
fn status(done: Result<(), Failure>, json: bool) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print::failure(&failure, json);
            ExitCode::from(EXIT_CREEL)
        }
    }
}

/// The configuration of the environment, for commands without a flag for it.
fn configuration(state: &StateDir) -> Result<Config, Failure> {
    let var = |name: &str| std::env::var(name).ok();
    Ok(Config::load(&crate::config::locate(None, &var, state), &var)?)
}

/// Waits for the signals that ask a program to end. Where they cannot be had, their default ends the program.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => (),
        _ = terminate.recv() => (),
    }
}
