//! `creel sandbox`: explain, list, stop, prune.

use std::process::ExitCode;

use super::Common;
use super::print;
use crate::error::{Failure, Report};
use crate::sandbox::{ByLink, InUse, Listed, SandboxName, Sandboxes};

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
    Explain(super::explain::Args),
    /// Show each sandbox: state, image, age, who uses it.
    List,
    /// Remove sandboxes; workspaces stay. One in use is left alone without --force.
    Stop {
        /// Container names as `list` shows them.
        names: Vec<String>,
        /// All sandboxes of this installation.
        #[arg(long, conflicts_with = "names", required_unless_present = "names")]
        all: bool,
        /// End commands that run in them.
        #[arg(long)]
        force: bool,
    },
    /// Remove what is dead, half made, idle for too long or too old; never what is in use.
    Prune,
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let json = args.json;
    if let Action::Explain(explain) = args.action {
        return super::status(super::explain::run(explain, &args.common, json).await, json);
    }
    super::status(act(args).await, json)
}

async fn act(args: Args) -> Result<(), Failure> {
    let (engine, state) = args.common.places().await?;
    let sandboxes = Sandboxes::open(engine, &state)?;
    match args.action {
        // It must answer where no engine does.
        Action::Explain(_) => Ok(()),
        Action::List => {
            let all = sandboxes.list().await?;
            if args.json {
                print::json(&all);
            } else {
                table(&all);
            }
            Ok(())
        }
        Action::Stop { names, force, .. } => {
            stop(&sandboxes, &names, if force { InUse::Remove } else { InUse::Refuse }, args.json).await
        }
        Action::Prune => {
            let removed = sandboxes.prune(&ByLink).await?;
            if args.json {
                print::json(&removed);
            } else {
                for one in &removed {
                    let failed = one
                        .error
                        .as_ref()
                        .map(|error| format!(", but it stays: {error}"))
                        .unwrap_or_default();
                    print::line(&format!("{}: {}{failed}", one.name, one.reason));
                }
            }
            Ok(())
        }
    }
}

async fn stop(sandboxes: &Sandboxes, names: &[String], in_use: InUse, json: bool) -> Result<(), Failure> {
    let mut outcome = Vec::new();
    if names.is_empty() {
        outcome = sandboxes.stop_all(in_use).await?;
    }
    for name in names {
        let name = SandboxName::parse(name)?;
        let result = sandboxes.stop(&name, in_use).await;
        outcome.push((name, result));
    }
    let mut first = None;
    let mut rows = Vec::new();
    for (name, result) in outcome {
        let (word, error) = match result {
            Ok(true) => ("removed", None),
            Ok(false) => ("absent", Some(absent(&name))),
            Err(error) => ("kept", Some(Failure::from(error))),
        };
        rows.push(serde_json::json!({ "containerName": name, "outcome": word }));
        if !json {
            print::line(&format!("{name}: {word}"));
        }
        first = first.or(error);
    }
    if json {
        print::json(&rows);
    }
    first.map_or(Ok(()), Err)
}

fn absent(name: &SandboxName) -> Failure {
    Failure(Report {
        code: "CRL-CLI-003",
        message: format!("there is no sandbox {name} of this installation"),
        rule: None,
        fix: "see `creel sandbox list`".to_owned(),
    })
}

fn table(all: &[Listed]) {
    if all.is_empty() {
        return print::line("no sandboxes");
    }
    let width = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
    for one in all {
        let used = if one.leases > 0 { format!("in use by {}", one.leases) } else { "free".to_owned() };
        let proof = if one.proven { "proven" } else { "unproven" };
        let image =
            if one.image_match == Some(false) { format!("{} (older)", one.image) } else { one.image.clone() };
        print::line(&format!(
            "{:width$}  {:8}  {:8}  {:12}  {}  {}",
            one.name, one.status, proof, used, image, one.session_key
        ));
    }
}
