//! `creel process`: commands in the background, for people: those of every agent of the installation.

mod act;
mod attach;
mod detach;
mod list;
mod stdin;

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::print;
use crate::config::NamedBy;
use crate::error::{EXIT_CREEL, Failure, Report};
use crate::keeper::{Keepers, Repeat, Row, own_program};
use crate::session::AgentId;
use crate::state::StateDir;

/// Characters of a name that a notice shows (spec `exec.md` §12.1): the fewest that stand for the whole.
const SHORT: usize = 8;

/// What to do with which session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only sessions of this agent.
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

/// What can be done.
#[derive(Debug, Subcommand)]
enum Verb {
    /// List sessions, the newest first.
    List,
    /// Show what is new and whether it goes on. What is shown is not shown to the agent's next poll.
    Poll {
        /// Its name.
        session: String,
        /// Wait up to this many milliseconds for something new.
        #[arg(long, value_name = "MS")]
        timeout: Option<u64>,
    },
    /// Show the output that is kept.
    Log {
        /// Its name.
        session: String,
        /// First line, counted from 0.
        #[arg(long, value_name = "LINE")]
        offset: Option<u64>,
        /// How many lines.
        #[arg(long, value_name = "LINES")]
        limit: Option<u64>,
    },
    /// Send text to its input as it is.
    Write {
        /// Its name.
        session: String,
        /// The text; without it only --eof counts.
        text: Option<String>,
        /// End the input after it.
        #[arg(long)]
        eof: bool,
    },
    /// Press keys: Enter, C-c, Up, F5, or single characters.
    SendKeys {
        /// Its name.
        session: String,
        /// The keys, sent last.
        keys: Vec<String>,
        /// A byte in hex digits, sent after --literal; repeatable.
        #[arg(long, value_name = "BYTE")]
        hex: Vec<String>,
        /// Text that is sent first, as it is.
        #[arg(long, value_name = "TEXT")]
        literal: Option<String>,
    },
    /// Press Enter.
    Submit {
        /// Its name.
        session: String,
    },
    /// Paste text, marked as a paste.
    Paste {
        /// Its name.
        session: String,
        /// The text.
        text: String,
        /// Leave the marks out.
        #[arg(long)]
        plain: bool,
    },
    /// End it, with everything that it started.
    Kill {
        /// Its name.
        session: String,
    },
    /// Forget one that has ended.
    Clear {
        /// Its name.
        session: String,
    },
    /// Forget it; one that runs is ended.
    Remove {
        /// Its name.
        session: String,
    },
    /// Show what its terminal shows.
    Screen {
        /// Its name.
        session: String,
    },
    /// Wait until all that is named here is so.
    Wait {
        /// Its name.
        session: String,
        /// This text can be seen.
        #[arg(long)]
        text: Option<String>,
        /// A line matches this regular expression.
        #[arg(long)]
        regex: Option<String>,
        /// Nothing was printed for this many milliseconds.
        #[arg(long, value_name = "MS")]
        quiet: Option<u64>,
        /// It has ended.
        #[arg(long)]
        exit: bool,
        /// Give up after this many milliseconds.
        #[arg(long, value_name = "MS")]
        timeout: Option<u64>,
    },
    /// Take it over on this terminal; Ctrl-P Ctrl-Q leaves it running.
    ///
    /// Ends with the exit status of the command, 0 where it was left with the keys, 128 and the signal's number where a
    /// signal asked for the end of creel. Its output goes to the terminal as it is.
    Attach {
        /// Its name.
        session: String,
    },
}

impl Args {
    /// The caller reads JSON.
    fn wants_json(&self) -> bool {
        self.json
    }
}

/// Does it. The exit status is 0 when it was done, 1 when the session does not allow it, 125 when creel failed.
pub async fn run(args: Args) -> ExitCode {
    let json = args.wants_json();
    match Box::pin(done(args)).await {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            print::failure(&failure, json);
            ExitCode::from(EXIT_CREEL)
        }
    }
}

async fn done(args: Args) -> Result<u8, Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let agent = args.agent.map(|agent| known(&state, &agent)).transpose()?;
    let desk = Desk { keepers: Keepers::new(&state, &own_program()?), agent, json: args.json };
    match args.verb {
        Verb::List => list::run(&desk).await.map(|()| 0),
        Verb::Attach { session } => Box::pin(attach::run(&desk, &session)).await,
        other => act::run(&desk, other).await,
    }
}

/// The way to the sessions.
struct Desk {
    keepers: Keepers,
    agent: Option<String>,
    json: bool,
}

impl Desk {
    /// A session by its name, or by the beginning of it that a notice shows; one of another agent than was asked for is
    /// not known.
    async fn row(&self, session: &str) -> Result<Row, Failure> {
        let told = self.ask("process.list", json!({ "agent": self.agent })).await?;
        let rows: Vec<Row> = read(told.get("sessions").cloned().unwrap_or(Value::Null))?;
        meant(rows, session)
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        Ok(self.keepers.request(method, params, Repeat::Safe).await?)
    }
}

/// An agent that the configuration has.
fn known(state: &StateDir, agent: &str) -> Result<String, Failure> {
    let agent = AgentId::parse(agent)?;
    crate::cli::configuration(state)?.known_agent(&agent, NamedBy::Id)?;
    Ok(agent.to_string())
}

/// The session with that name, else the only one whose name begins so.
fn meant(mut rows: Vec<Row>, name: &str) -> Result<Row, Failure> {
    if let Some(at) = rows.iter().position(|row| row.session_id == name) {
        return Ok(rows.swap_remove(at));
    }
    rows.retain(|row| name.chars().count() >= SHORT && row.session_id.starts_with(name));
    match rows.len() {
        0 | 1 => rows.pop().ok_or_else(|| crate::keeper::KeeperError::NoSession(name.to_owned()).into()),
        _ => Err(Failure(several(&rows, name))),
    }
}

fn several(rows: &[Row], name: &str) -> Report {
    let names: Vec<String> = rows.iter().map(|row| crate::shown::one_line(&row.session_id)).collect();
    Report {
        code: "CRL-CLI-030",
        message: format!("{name:?} is the beginning of several sessions: {}", names.join(", ")),
        rule: Some("built-in: a shortened name must fit one session".to_owned()),
        fix: "write the whole name".to_owned(),
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    Ok(serde_json::from_value(value)
        .map_err(|error| crate::keeper::KeeperError::Strange(error.to_string()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> Row {
        let row = json!({
            "sessionId": id, "agent": "main", "host": "sandbox", "status": "running", "foreground": false,
            "startedAt": 0, "runtimeMs": 0, "lastOutputAt": 0, "cwd": "/", "command": "c", "stdinWritable": false,
            "written": 0
        });
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn the_short_name_of_a_notice_is_understood() {
        let rows = || vec![row("keen-otter"), row("keen-otter-2"), row("warm-fox"), row("brisk-badger")];
        let found =
            |name: &str| meant(rows(), name).map(|row| row.session_id).map_err(|failure| failure.0.code);
        assert_eq!(found("brisk-ba"), Ok("brisk-badger".to_owned()));
        assert_eq!(found("keen-otter"), Ok("keen-otter".to_owned()), "a whole name comes first");
        assert_eq!(found("keen-ott"), Err("CRL-CLI-030"));
        assert_eq!(found("warm-fo"), Err("CRL-KEEPER-014"), "less than a notice shows");
        assert_eq!(found(""), Err("CRL-KEEPER-014"));
    }
}
