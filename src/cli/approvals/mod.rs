//! `creel approvals`: the approvals document of this machine, and what waits for a person. One file per subcommand.

mod adopt;
mod allowlist;
mod decide;
pub(in crate::cli) mod desk;
mod get;
mod grants;
mod pending;
pub(in crate::cli) mod question;
mod set;
mod test;
pub(in crate::cli) mod typed;
mod watch;

pub(in crate::cli) use get::policy;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::approvals::store::Local;
use crate::config::{self, Config, Located, NamedBy};
use crate::error::{Failure, Report};
use crate::session::AgentId;
use crate::state::StateDir;

/// What may run on this machine, and what waits for a person.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    shared: Shared,
}

/// Flags of every subcommand.
#[derive(Debug, clap::Args)]
struct Shared {
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON, on one line.
    #[arg(long, global = true)]
    json: bool,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the approvals document, and the policy that comes of it and the configuration.
    Get,
    /// Put a document in the place of the one that is there.
    ///
    /// It is checked first. A file that cannot be used is kept beside it. The socket's secret stays where the new document
    /// names none.
    Set(set::Args),
    /// Show and change what may run without a question, and what never runs.
    Allowlist(allowlist::Args),
    /// List the commands that wait for a person, the newest first.
    Pending,
    /// Show one of them whole, or how it ended.
    Show {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Let one run: this once, from now on, or within limits.
    ///
    /// The exit status is 0 when that holds now, 1 when it was decided otherwise, has ended or cannot be had, 125 when creel
    /// failed.
    Approve(decide::Approve),
    /// Refuse one.
    Deny(decide::Deny),
    /// Decide one with the word of the protocol.
    Resolve(decide::Resolve),
    /// Stay, and show what waits as it comes; on a terminal, ask.
    ///
    /// Elsewhere, or with --json, every change is a JSON object on a line: {"requested"}, {"resolved"}; an answer is one on
    /// standard input: {"id", "decision"}, and may have "terms".
    Watch {
        /// Print secrets too where the output is no terminal.
        #[arg(long)]
        reveal: bool,
    },
    /// Approvals within limits: list them, take one back.
    Grants(grants::Args),
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let Args { action, shared } = args;
    let done: Result<ExitCode, Failure> = match action {
        Action::Get => get::run(&shared),
        Action::Set(args) => set::run(&args, &shared),
        Action::Allowlist(args) => allowlist::run(&args, &shared),
        asked => Box::pin(questions(asked, shared.json)).await,
    };
    done.unwrap_or_else(|failure| super::status(Err(failure), shared.json))
}

/// What goes to the keeper.
async fn questions(action: Action, json: bool) -> Result<ExitCode, Failure> {
    let desk = desk::Desk::open()?;
    match action {
        Action::Show { id } => pending::show(&desk, &id, json).await,
        Action::Approve(args) => decide::approve(&desk, args, json).await,
        Action::Deny(args) => decide::deny(&desk, args, json).await,
        Action::Resolve(args) => decide::resolve(&desk, args, json).await,
        Action::Watch { reveal } => watch::run(&desk, json, reveal).await,
        Action::Grants(args) => grants::run(&desk, args, json).await,
        Action::Pending | Action::Get | Action::Set(_) | Action::Allowlist(_) => {
            pending::run(&desk, json).await
        }
    }
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Shared {
    fn state() -> Result<StateDir, Failure> {
        Ok(StateDir::locate(var)?)
    }

    fn located(&self, state: &StateDir) -> Located {
        config::locate(self.config.as_deref(), &var, state)
    }

    fn configuration(&self, state: &StateDir) -> Result<Config, Failure> {
        Ok(Config::load(&self.located(state), &var)?)
    }

    /// The key of an agent in the document: one that is configured, or `*` for every agent. Rules for an agent that
    /// nobody has would hold for nobody.
    fn agent(&self, state: &StateDir, name: &str) -> Result<String, Failure> {
        let name = name.trim();
        if name == crate::approvals::document::EVERYBODY {
            return Ok(name.to_owned());
        }
        let id = AgentId::parse(name).map_err(|error| {
            Failure(Report {
                code: "CRL-CLI-020",
                message: format!("{:?} is no agent id: {error}", crate::shown::one_line(name)),
                rule: Some("--agent".to_owned()),
                fix: "name an agent of the configuration, or * for every agent".to_owned(),
            })
        })?;
        self.configuration(state)?.known_agent(&id, NamedBy::Id)?;
        Ok(id.to_string())
    }
}

/// The document as it is shown: never with the socket's secret (spec `approvals.md` 16.01).
fn snapshot(local: &Local) -> Value {
    let floor = |floor: &crate::approvals::store::Floor| json!({ "path": floor.locator, "file": floor.document.redacted() });
    let floors: Vec<Value> = local.floors().iter().map(floor).collect();
    let problems: Vec<String> = local.problems().map(ToString::to_string).collect();
    let mut shown = json!({
        "path": local.path,
        "exists": local.exists(),
        "hash": local.hash(),
        "file": local.held.document.redacted(),
    });
    if let Some(map) = shown.as_object_mut() {
        if !floors.is_empty() {
            map.insert("floors".to_owned(), floors.into());
        }
        if !problems.is_empty() {
            map.insert("problems".to_owned(), problems.into());
        }
    }
    shown
}
