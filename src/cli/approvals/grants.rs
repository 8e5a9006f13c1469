//! `creel approvals grants`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::desk::{Desk, read};
use super::question::span;
use crate::approvals::desk::{Grant, LISTED};
use crate::cli::print;
use crate::error::Failure;
use crate::process::store::now_ms;
use crate::shown::one_line;

/// What to do with grants.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List them, the newest first, those that are over too.
    List {
        /// How many.
        #[arg(long, value_name = "N", default_value_t = LISTED)]
        limit: usize,
    },
    /// Take one back: no run starts by it any more.
    Revoke {
        /// Its id.
        id: String,
    },
}

pub(super) async fn run(desk: &Desk, args: Args, json: bool) -> Result<ExitCode, Failure> {
    match args.action {
        Action::List { limit } => list(desk, limit, json).await,
        Action::Revoke { id } => revoke(desk, &id, json).await,
    }
}

async fn list(desk: &Desk, limit: usize, json: bool) -> Result<ExitCode, Failure> {
    let told = desk.ask("approvals.grants.list", json!({ "limit": limit })).await?;
    if json {
        print::compact(&told);
        return Ok(ExitCode::SUCCESS);
    }
    let grants: Vec<Grant> = read(told.get("grants").cloned().unwrap_or(Value::Null))?;
    if grants.is_empty() {
        print::line("There are no grants.");
    }
    let now = now_ms();
    for grant in &grants {
        print::line(&format!("{}\n    {}", head(grant, now), one_line(&grant.command)));
    }
    Ok(ExitCode::SUCCESS)
}

fn head(grant: &Grant, now: u64) -> String {
    let mut parts = vec![format!("{}  agent {}", grant.grant_id, one_line(&grant.agent_id))];
    parts.push(grant.over(now).map_or_else(|| "holds".to_owned(), str::to_owned));
    let used = grant.use_count;
    parts.push(
        grant.terms.uses.map_or_else(|| format!("used {used}"), |uses| format!("used {used} of {uses}")),
    );
    if let Some(at) = grant.terms.expires_at_ms.filter(|at| *at > now) {
        parts.push(format!("ends in {}", span(at.saturating_sub(now))));
    }
    if let Some(directory) = &grant.terms.directory {
        parts.push(format!("below {}", one_line(directory)));
    }
    if grant.operation.is_some() {
        parts.push("scheduled runs of exactly this".to_owned());
    }
    parts.join(", ")
}

async fn revoke(desk: &Desk, id: &str, json: bool) -> Result<ExitCode, Failure> {
    match desk.ask("approvals.grants.revoke", json!({ "id": id, "by": "cli" })).await {
        Ok(told) if json => print::compact(&told),
        Ok(told) => {
            let outcome = told.get("outcome").and_then(Value::as_str).unwrap_or_default();
            print::line(&format!("{outcome}: {}", one_line(id)));
        }
        Err(failure) if failure.0.code.starts_with("CRL-DESK-") => {
            print::failure(&failure, json);
            return Ok(ExitCode::FAILURE);
        }
        Err(failure) => return Err(failure),
    }
    Ok(ExitCode::SUCCESS)
}
