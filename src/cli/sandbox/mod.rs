//! `creel sandbox`: explain, list, recreate, stop, prune.

mod explain;
mod list;
mod remove;

use std::process::ExitCode;

use super::{Common, print};
use crate::client::{Sandbox, SandboxOptions};
use crate::error::Failure;
use crate::sandbox::{InUse, Sandboxes};

/// The sandboxes of this installation.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    common: Common,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Say where a session's commands run, what they may do there, why, and which keys change it.
    Explain(explain::Args),
    /// Show each sandbox: state, image, age, who uses it, what the configuration asks for otherwise.
    List {
        /// Containers of browsers instead; creel makes none.
        #[arg(long)]
        browser: bool,
    },
    /// Remove sandboxes, so that their next use makes them anew; workspaces stay.
    Recreate(remove::RecreateArgs),
    /// Remove sandboxes; workspaces stay. One in use is left alone without --force.
    #[command(
        override_usage = "creel sandbox stop [OPTIONS] <NAME>...\n       creel sandbox stop [OPTIONS] --all"
    )]
    Stop {
        /// Container names as `list` shows them.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// All sandboxes of this installation.
        #[arg(long, conflicts_with = "names", required_unless_present = "names")]
        all: bool,
        /// End commands that run in them.
        #[arg(long)]
        force: bool,
        /// Say what would be removed and what would stay, and why; remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove what is dead, half made, idle for too long or too old; never what is in use.
    Prune {
        /// Say what would be removed and what would stay, and why; remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let json = args.json;
    if let Action::Explain(explain) = args.action {
        // It must answer where no engine does.
        return super::status(explain::run(explain, &args.common, json).await, json);
    }
    match act(args).await {
        Ok(code) => code,
        Err(failure) => super::status(Err(failure), json),
    }
}

async fn act(args: Args) -> Result<ExitCode, Failure> {
    if let Action::Recreate(recreate) = &args.action
        && let Err(told) = recreate.check(args.json)
    {
        print::failure(&told, args.json);
        return Ok(ExitCode::FAILURE);
    }
    let (engine, state) = args.common.places().await?;
    let sandboxes = Sandboxes::open(engine, &state)?;
    let options = options(&args.common);
    match args.action {
        Action::Explain(_) => Ok(ExitCode::SUCCESS),
        Action::List { browser } => list::run(&sandboxes, &options, browser, args.json).await,
        Action::Recreate(recreate) => remove::recreate(&sandboxes, &options, &recreate, args.json).await,
        Action::Stop { names, force, dry_run, .. } => {
            let in_use = if force { InUse::Remove } else { InUse::Refuse };
            remove::stop(&sandboxes, &names, in_use, dry_run, args.json).await
        }
        Action::Prune { dry_run } => remove::prune(&sandboxes, &options, dry_run, args.json).await,
    }
}

fn options(common: &Common) -> SandboxOptions {
    let options = Sandbox::options();
    common.config.iter().fold(options, SandboxOptions::config)
}
