//! `creel sandbox recreate`, `stop` and `prune`: who goes, who stays, and why.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::cli::print;
use crate::client::{Runtime, SandboxOptions, inventory};
use crate::error::{Diagnose as _, Failure, Report};
use crate::sandbox::{ByLink, Fate, InUse, Listed, SandboxError, SandboxName, Sandboxes};
use crate::session::Selection;
use crate::shown::one_line;

/// Which sandboxes to make anew.
#[derive(Debug, clap::Args)]
pub(super) struct RecreateArgs {
    /// All sandboxes of this installation.
    #[arg(long)]
    all: bool,
    /// The sandbox with exactly this scope key, as `list` shows it.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// The sandboxes of this agent.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Of these only what differs from the configuration.
    #[arg(long)]
    mismatched: bool,
    /// Containers of browsers instead; creel makes none.
    #[arg(long)]
    browser: bool,
    /// Do not ask, and end commands that run in them.
    #[arg(long)]
    force: bool,
    /// Say what would be removed and what would stay, and why; remove nothing.
    #[arg(long)]
    dry_run: bool,
}

impl RecreateArgs {
    /// Refuses what is not one selection, and what nobody could be asked about.
    pub(super) fn check(&self, json: bool) -> Result<(), Failure> {
        let wrong = |message: &str, fix: &str| {
            let message = message.to_owned();
            Err(Failure(Report { code: "CRL-CLI-020", message, rule: None, fix: fix.to_owned() }))
        };
        let given = [self.all, self.session.is_some(), self.agent.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return wrong(
                "recreate needs exactly one of --all, --session and --agent",
                "name the sandboxes; `creel sandbox list` shows them",
            );
        }
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if !self.force && !self.dry_run && !self.browser && (json || !terminal) {
            return wrong(
                "recreate removes containers and there is nobody to ask",
                "look with --dry-run, then say --force: it ends commands that run in them",
            );
        }
        Ok(())
    }

    fn selection(&self) -> Selection {
        match (&self.session, &self.agent) {
            (Some(key), _) => Selection::Scope(key.clone()),
            (None, Some(id)) => Selection::Agent(id.clone()),
            (None, None) => Selection::All,
        }
    }

    fn in_use(&self) -> InUse {
        if self.force { InUse::Remove } else { InUse::Refuse }
    }
}

/// Removes what is selected. Exit code 1 where something that was selected is still there.
pub(super) async fn recreate(
    sandboxes: &Sandboxes,
    options: &SandboxOptions,
    args: &RecreateArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let selection = args.selection();
    if args.mismatched {
        // Without a configuration nothing could differ from it, and nothing would be done without a word.
        options.owners()?;
    }
    let all = if args.browser { Vec::new() } else { inventory(sandboxes, options).await? };
    let chosen: Vec<Runtime> = all
        .into_iter()
        .filter(|one| selection.holds(&one.listed.session_key) && (!args.mismatched || one.mismatched()))
        .collect();
    let mut rows: Vec<Row> = chosen
        .iter()
        .map(|one| Row::new(&one.listed, one.backend_id, one.listed.when_asked(args.in_use())))
        .collect();
    if !json {
        preview(&rows);
    }
    if rows.is_empty() || args.dry_run {
        finish(&rows, args.dry_run, json);
        return Ok(ExitCode::SUCCESS);
    }
    if !args.force && !confirmed() {
        print::line("Cancelled.");
        return Ok(ExitCode::SUCCESS);
    }
    for row in rows.iter_mut().filter(|row| row.fate.removes()) {
        row.carry_out(sandboxes, args.in_use(), json).await;
    }
    finish(&rows, false, json);
    let left = rows.iter().any(|row| row.removed != Some(true) && !row.foreign);
    Ok(if left { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One sandbox that was selected, and what becomes of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    container_name: String,
    #[serde(skip)]
    id: String,
    /// Not made by creel as it is: it stays, and that is no failure.
    #[serde(skip)]
    foreign: bool,
    backend_id: &'static str,
    session_key: String,
    running: bool,
    #[serde(flatten)]
    fate: Fate,
    /// Absent before it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Report>,
}

impl Row {
    fn new(listed: &Listed, backend_id: &'static str, fate: Fate) -> Self {
        Self {
            container_name: listed.name.clone(),
            id: listed.id.clone(),
            foreign: listed.not_made.is_some(),
            backend_id,
            session_key: listed.session_key.clone(),
            running: listed.running,
            fate,
            removed: None,
            error: None,
        }
    }

    async fn carry_out(&mut self, sandboxes: &Sandboxes, in_use: InUse, quiet: bool) {
        let result = match SandboxName::parse(&self.container_name) {
            Ok(name) => sandboxes.stop_only(&name, Some(&self.id), in_use).await,
            Err(error) => Err(error),
        };
        match result {
            // Gone meanwhile is gone.
            Ok(_) => self.removed = Some(true),
            Err(error) => {
                self.removed = Some(false);
                if matches!(error, SandboxError::Leased { .. } | SandboxError::Busy { .. }) {
                    self.fate = Fate::Keep("somebody came to use it meanwhile".to_owned());
                }
                self.error = Some(error.report());
            }
        }
        if !quiet {
            match &self.error {
                None => told(&format!("removed {}", self.container_name)),
                Some(report) => told(&format!("failed  {}: {}", self.container_name, report.message)),
            }
        }
    }
}

/// What was done, or would be.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    dry_run: bool,
    runtimes: &'a [Row],
    removed: usize,
    kept: usize,
    failed: usize,
}

impl<'a> Told<'a> {
    fn new(rows: &'a [Row], dry_run: bool) -> Self {
        let count = |wanted: fn(&&Row) -> bool| rows.iter().filter(wanted).count();
        Self {
            dry_run,
            runtimes: rows,
            removed: count(|row| row.removed == Some(true)),
            kept: count(|row| !row.fate.removes()),
            failed: count(|row| row.removed == Some(false) && row.fate.removes()),
        }
    }
}

/// One line about a sandbox: its name, its state and what happened to it are the engine's words.
fn told(text: &str) {
    print::line(&one_line(text));
}

fn preview(rows: &[Row]) {
    if rows.is_empty() {
        return print::line("nothing is selected; `creel sandbox list` shows what there is");
    }
    for row in rows {
        let state = if row.running { "running" } else { "stopped" };
        let word = if row.fate.removes() { "remove" } else { "keep" };
        told(&format!(
            "{word:<6}  {} [{}] ({state}): {}",
            row.container_name,
            row.backend_id,
            row.fate.reason()
        ));
    }
    print::line(&format!("{} selected; workspaces stay", rows.len()));
}

fn finish(rows: &[Row], dry_run: bool, json: bool) {
    let told = Told::new(rows, dry_run);
    if json {
        return print::json(&told);
    }
    if dry_run || rows.is_empty() {
        return;
    }
    print::line(&format!("Done: {} removed, {} kept, {} failed", told.removed, told.kept, told.failed));
    if told.kept > 0 {
        print::line("what is in use goes with --force, which ends its commands");
    }
    if told.failed > 0 {
        print::line("see what is left: creel sandbox list");
    }
}

/// Asks on the terminal; anything but a clear yes is no.
fn confirmed() -> bool {
    let _ = write!(std::io::stderr(), "Remove them? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Removes sandboxes by name, or all.
pub(super) async fn stop(
    sandboxes: &Sandboxes,
    names: &[String],
    in_use: InUse,
    dry_run: bool,
    json: bool,
) -> Result<(), Failure> {
    let names = names.iter().map(|name| SandboxName::parse(name)).collect::<Result<Vec<_>, _>>()?;
    if dry_run {
        let meant =
            |listed: &Listed| names.is_empty() || names.iter().any(|name| name.as_str() == listed.name);
        let all = sandboxes.survey(&ByLink).await?.into_iter().filter(meant);
        let rows = all.map(|listed| Row::new(&listed, sandboxes.backend_id(), listed.when_asked(in_use)));
        let rows: Vec<Row> = rows.collect();
        plan(&rows, json);
        let missing = names.iter().find(|name| !rows.iter().any(|row| row.container_name == name.as_str()));
        return missing.map_or(Ok(()), |name| Err(absent(name)));
    }
    let mut outcome = Vec::new();
    let all = names.is_empty();
    if all {
        outcome = sandboxes.stop_all(in_use).await?;
    }
    for name in names {
        let result = sandboxes.stop(&name, in_use).await;
        outcome.push((name, result));
    }
    let mut first = None;
    let mut rows = Vec::new();
    for (name, result) in outcome {
        let (word, error) = match result {
            Ok(true) => ("removed", None),
            // Of all those that were there, somebody else removed this one.
            Ok(false) if all => ("absent", None),
            Ok(false) => ("absent", Some(absent(&name))),
            // Of all that carry our label, somebody else made this one.
            Err(error @ SandboxError::Foreign { .. }) if all => {
                print::note(&error.to_string());
                ("kept", None)
            }
            Err(error) => ("kept", Some(Failure::from(error))),
        };
        rows.push(json!({ "containerName": name, "outcome": word }));
        if !json {
            told(&format!("{name}: {word}"));
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

/// Removes what is due by its owner's configuration.
pub(super) async fn prune(
    sandboxes: &Sandboxes,
    options: &SandboxOptions,
    dry_run: bool,
    json: bool,
) -> Result<(), Failure> {
    let owners = options.owners()?;
    let limits = |key: &str| owners.limits(key);
    if dry_run {
        let all = sandboxes.prune_plan(&ByLink, &limits).await?.into_iter();
        let rows = all.map(|(listed, fate)| Row::new(&listed, sandboxes.backend_id(), fate));
        plan(&rows.collect::<Vec<_>>(), json);
        return Ok(());
    }
    let removed = sandboxes.prune_by(&ByLink, &limits).await?;
    if json {
        print::json(&removed);
        return Ok(());
    }
    for one in &removed {
        let failed = one.error.as_ref().map(|error| format!(", but it stays: {error}")).unwrap_or_default();
        told(&format!("{}: {}{failed}", one.name, one.reason));
    }
    Ok(())
}

/// Shows what would be done.
fn plan(rows: &[Row], json: bool) {
    if json {
        print::json(&Told::new(rows, true));
    } else {
        preview(rows);
    }
}
