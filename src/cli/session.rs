//! `creel session`: what a conversation has chosen for its commands.

use std::fmt::Write as _;

use clap::Subcommand;
use serde_json::{Value, json};

use super::print;
use crate::error::Failure;
use crate::session::{Change, Overrides, SessionKey, chosen};
use crate::shown;
use crate::state::StateDir;

/// Which session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Agent of a key that names none, instead of the configured default.
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what the session has chosen.
    Show {
        /// Its key, for example agent:main:main, or the name in the agent.
        key: String,
    },
    /// Change it. The configuration stays as it is, and a stricter approvals document still holds.
    Set {
        /// Its key, for example agent:main:main, or the name in the agent.
        key: String,
        /// host=auto|sandbox|gateway|node, security=deny|allowlist|full, ask=off|on-miss|always, node=ID,
        /// elevated=off|on|ask|full; the value unset takes a choice back.
        #[arg(required = true, value_name = "KEY=VALUE")]
        options: Vec<String>,
    },
}

impl Args {
    /// The caller reads JSON.
    pub(super) fn json(&self) -> bool {
        self.json
    }
}

/// Shows or changes.
pub fn run(args: &Args) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let config = super::configuration(&state)?;
    let key = |key: &str| -> Result<SessionKey, Failure> {
        Ok(config.subject(args.agent.as_deref(), Some(key))?.session)
    };
    let (session, overrides) = match &args.verb {
        Verb::Show { key: name } => {
            let session = key(name)?;
            let overrides = chosen::of(&state, &session)?;
            (session, overrides)
        }
        Verb::Set { key: name, options } => {
            let session = key(name)?;
            let change = Change::parse(options.iter().map(String::as_str))?;
            let overrides = chosen::change(&state, &session, &change)?;
            (session, overrides)
        }
    };
    if args.json {
        print::json(&json!({ "session": session.as_str(), "overrides": overrides }));
    } else {
        print::line(&text(&session, &overrides));
    }
    Ok(())
}

fn text(session: &SessionKey, overrides: &Overrides) -> String {
    let all = serde_json::to_value(overrides).unwrap_or_default();
    let mut text = shown::one_line(session.as_str());
    for name in ["host", "security", "ask", "node", "elevated"] {
        let value = all.get(name).and_then(Value::as_str).map_or("(unset)".to_owned(), shown::one_line);
        let _ = write!(text, "\n  {name:9} {value}");
    }
    text
}
