//! `creel sandbox recreate`, `stop` and `prune`: who goes, who stays, and why.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::cli::print;
use crate::client::{Runtime, SandboxOptions, inventory};
use crate::error::{Diagnose as _, EXIT_CREEL, Failure, Report};
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
            Err(Failure(Report {
                code: "CRL-CLI-020",
                message,
                rule: Some("command line".to_owned()),
                fix: fix.to_owned(),
            }))
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
    let hint = args.session.as_ref().and_then(|session| scope_keys(options, session, &all));
    let chosen: Vec<Runtime> = all
        .into_iter()
        .filter(|one| selection.holds(&one.listed.session_key) && (!args.mismatched || one.mismatched()))
        .collect();
    let mut rows: Vec<Row> = chosen
        .iter()
        .map(|one| Row::new(&one.listed, one.backend_id, one.listed.when_asked(args.in_use())))
        .collect();
    let hint = hint.filter(|_| rows.is_empty());
    if !json {
        let none = hint.as_deref().unwrap_or("`creel sandbox list` shows what there is");
        preview(&rows, &format!("nothing is selected; {none}"));
    }
    if rows.is_empty() || args.dry_run {
        return finish(&rows, args.dry_run, hint, json);
    }
    if !args.force && !confirmed() {
        print::line("Cancelled.");
        return Ok(ExitCode::SUCCESS);
    }
    for row in rows.iter_mut().filter(|row| row.fate.removes()) {
        row.carry_out(sandboxes, args.in_use(), json).await;
    }
    finish(&rows, false, None, json)?;
    let left = rows.iter().any(|row| row.removed != Some(true) && !row.foreign);
    Ok(if left { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The scope keys that the sandboxes of a session have, in words, where somebody gave the session's key instead: nothing
/// is completed (spec `sandbox.md` §22), but it can be told.
fn scope_keys(options: &SandboxOptions, session: &str, all: &[Runtime]) -> Option<String> {
    let scope = options.clone().session(session).preview().ok()?.request.scope_key;
    if scope == session {
        return None;
    }
    let more = format!("{scope}:");
    let own = all.iter().map(|one| one.listed.session_key.as_str());
    let own: Vec<&str> = own.filter(|key| *key == scope || key.starts_with(&more)).collect();
    Some(if own.is_empty() {
        format!("the session {session} has the scope key {scope}, and no sandbox has that")
    } else {
        format!("--session takes a scope key, and those of the session {session} are: {}", own.join(", "))
    })
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

/// What was done, or would be: the same shape for `recreate`, `stop` and `prune`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a, R> {
    dry_run: bool,
    runtimes: &'a [R],
    removed: usize,
    kept: usize,
    failed: usize,
    /// Where nothing is selected: what could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl<R: Serialize> Told<'_, R> {
    /// Prints it as JSON, with the first failure in the same object: a reader gets one document.
    fn end(&self, error: Option<Failure>, json: bool) -> Result<ExitCode, Failure> {
        if !json {
            return error.map_or(Ok(ExitCode::SUCCESS), Err);
        }
        let mut whole = json!(self);
        let failed = error.is_some();
        if let (Some(Failure(report)), Some(object)) = (error, whole.as_object_mut()) {
            object.insert("error".to_owned(), json!(report));
        }
        print::json(&whole);
        Ok(if failed { ExitCode::from(EXIT_CREEL) } else { ExitCode::SUCCESS })
    }
}

/// One line about a sandbox: its name, its state and what happened to it are the engine's words.
fn told(text: &str) {
    print::line(&one_line(text));
}

/// What is to become of each, or that there is none.
fn preview(rows: &[Row], none: &str) {
    if rows.is_empty() {
        return print::line(none);
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
    let removed = rows.iter().filter(|row| row.fate.removes()).count();
    print::line(&format!("{removed} to be removed, {} kept; workspaces stay", rows.len() - removed));
}

/// What `recreate` did, or would do.
fn finish(rows: &[Row], dry_run: bool, hint: Option<String>, json: bool) -> Result<ExitCode, Failure> {
    let count = |wanted: fn(&&Row) -> bool| rows.iter().filter(wanted).count();
    let removed = count(|row| row.removed == Some(true));
    let kept = count(|row| !row.fate.removes());
    let failed = count(|row| row.removed == Some(false) && row.fate.removes());
    if !json && !dry_run && !rows.is_empty() {
        print::line(&format!("Done: {removed} removed, {kept} kept, {failed} failed"));
        if kept > 0 {
            print::line("what is in use goes with --force, which ends its commands");
        }
        if failed > 0 {
            print::line("see what is left: creel sandbox list");
        }
    }
    Told { dry_run, runtimes: rows, removed, kept, failed, hint }.end(None, json)
}

/// Asks on the terminal; anything but a clear yes is no.
fn confirmed() -> bool {
    let _ = write!(std::io::stderr(), "Remove them? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Removes sandboxes by name, or all. What is in use without force, and a name that nothing has, is a failure.
pub(super) async fn stop(
    sandboxes: &Sandboxes,
    names: &[String],
    in_use: InUse,
    dry_run: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let names = names.iter().map(|name| SandboxName::parse(name)).collect::<Result<Vec<_>, _>>()?;
    if dry_run {
        let meant =
            |listed: &Listed| names.is_empty() || names.iter().any(|name| name.as_str() == listed.name);
        let all = sandboxes.survey(&ByLink).await?.into_iter().filter(meant);
        let rows = all.map(|listed| Row::new(&listed, sandboxes.backend_id(), listed.when_asked(in_use)));
        let rows: Vec<Row> = rows.collect();
        let missing = names.iter().find(|name| !rows.iter().any(|row| row.container_name == name.as_str()));
        if !json && (missing.is_none() || !rows.is_empty()) {
            preview(&rows, "nothing to stop: there are no sandboxes");
        }
        let kept = rows.iter().filter(|row| !row.fate.removes()).count();
        return Told { dry_run, removed: 0, kept, failed: 0, hint: None, runtimes: &rows }
            .end(missing.map(absent), json);
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
    let rows: Vec<Stopped> =
        outcome.into_iter().map(|(name, result)| Stopped::new(&name, result, all)).collect();
    if !json && rows.is_empty() {
        print::line("nothing to stop: there are no sandboxes");
    }
    for row in rows.iter().filter(|_| !json) {
        told(&format!("{}: {}", row.container_name, row.outcome));
    }
    let count = |word| rows.iter().filter(|row| row.outcome == word).count();
    let error = rows.iter().find_map(|row| row.error.clone()).map(Failure);
    let failed = rows.iter().filter(|row| row.outcome != "kept" && row.error.is_some()).count();
    Told { dry_run, removed: count("removed"), kept: count("kept"), failed, hint: None, runtimes: &rows }
        .end(error, json)
}

/// What became of one that was to be stopped.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stopped {
    container_name: String,
    /// `removed`, `absent`, `kept` or `failed`.
    outcome: &'static str,
    removed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Report>,
}

impl Stopped {
    /// Of all those that were there, one that somebody else removed meanwhile is no failure.
    fn new(name: &SandboxName, result: Result<bool, SandboxError>, all: bool) -> Self {
        let (outcome, error) = match result {
            Ok(true) => ("removed", None),
            Ok(false) if all => ("absent", None),
            Ok(false) => ("absent", Some(absent(name).0)),
            // Of all that carry our label, somebody else made this one.
            Err(error @ SandboxError::Foreign { .. }) if all => {
                print::note(&one_line(&error.to_string()));
                ("kept", None)
            }
            Err(error) => {
                let used = matches!(
                    error,
                    SandboxError::Leased { .. } | SandboxError::Busy { .. } | SandboxError::Paused { .. }
                );
                (if used { "kept" } else { "failed" }, Some(error.report()))
            }
        };
        Self { container_name: name.to_string(), outcome, removed: outcome == "removed", error }
    }
}

fn absent(name: &SandboxName) -> Failure {
    Failure(Report {
        code: "CRL-CLI-003",
        message: format!("there is no sandbox {name} of this installation"),
        rule: Some(
            "built-in: only this installation's own sandboxes are stopped, by their whole name".to_owned(),
        ),
        fix: "see `creel sandbox list`".to_owned(),
    })
}

/// Removes what is due by its owner's configuration.
pub(super) async fn prune(
    sandboxes: &Sandboxes,
    options: &SandboxOptions,
    dry_run: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let owners = options.owners()?;
    let limits = |key: &str| owners.limits(key);
    if dry_run {
        let all = sandboxes.prune_plan(&ByLink, &limits).await?.into_iter();
        let rows: Vec<Row> =
            all.map(|(listed, fate)| Row::new(&listed, sandboxes.backend_id(), fate)).collect();
        if !json {
            preview(&rows, "nothing to prune: there are no sandboxes");
        }
        let kept = rows.iter().filter(|row| !row.fate.removes()).count();
        return Told { dry_run, removed: 0, kept, failed: 0, hint: None, runtimes: &rows }.end(None, json);
    }
    let pruned = sandboxes.prune_by(&ByLink, &limits).await?;
    let failed = pruned.iter().filter(|one| one.error.is_some()).count();
    let kept = sandboxes.list().await?.len().saturating_sub(failed);
    if !json {
        for one in &pruned {
            let stays =
                one.error.as_ref().map(|error| format!(", but it stays: {error}")).unwrap_or_default();
            told(&format!("{}: {}{stays}", one.name, one.reason));
        }
        if pruned.is_empty() {
            let others = if kept > 0 {
                format!("{kept} kept, see --dry-run")
            } else {
                "there are no sandboxes".to_owned()
            };
            print::line(&format!("nothing to prune: {others}"));
        }
    }
    let rows: Vec<_> = pruned
        .iter()
        .map(|one| {
            json!({
                "containerName": one.name, "action": "remove", "reason": one.reason,
                "removed": one.error.is_none(), "error": one.error,
            })
        })
        .collect();
    Told { dry_run, removed: pruned.len() - failed, kept, failed, hint: None, runtimes: &rows }
        .end(None, json)
}
