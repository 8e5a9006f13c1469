//! `creel approvals allowlist`: entries that allow, and with `--deny` those that deny.

use std::process::ExitCode;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::{Shared, adopt, snapshot, test};
use crate::approvals::allowlist::Allowlist;
use crate::approvals::document::{Coverage, Document, EVERYBODY, Entry};
use crate::approvals::explain::change::quoted;
use crate::approvals::programs::HostPrograms;
use crate::approvals::store::{self, Local, lists};
use crate::cli::print;
use crate::error::{Failure, Report};
use crate::shown::one_line;

/// The lists.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    /// The agent; * stands for all of them. Without it `list` and `adopt` take every agent, the others *.
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show every entry, and what of a command it looks at.
    List,
    /// Add an entry. One that is there already stays as it is.
    Add {
        /// A path, a glob over paths, or a bare name that is found in PATH.
        pattern: String,
        #[command(flatten)]
        which: Which,
    },
    /// Remove every entry with a pattern.
    Remove {
        /// The pattern as it is written.
        pattern: String,
        #[command(flatten)]
        which: Which,
    },
    /// Say which entry covers each command of a text; nothing runs.
    ///
    /// The exit status is 0 where all of it is covered, 1 where it is not, 125 when creel failed.
    Test(test::Args),
    /// Make approvals of former versions, which wait to be given again, entries of your own.
    Adopt {
        /// Only entries with one of these patterns.
        pattern: Vec<String>,
    },
}

/// Which entries are meant.
#[derive(Debug, clap::Args)]
struct Which {
    /// What the arguments must match, joined by a space: an ECMAScript regular expression.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    arg_pattern: Option<String>,
    /// The list of what never runs, whatever the mode.
    #[arg(long)]
    deny: bool,
}

impl Which {
    fn list(&self) -> lists::List {
        if self.deny { lists::List::Deny } else { lists::List::Allow }
    }
}

pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Failure> {
    let state = Shared::state()?;
    let named = args.agent.as_deref().map(|name| shared.agent(&state, name)).transpose()?;
    let agent = named.as_deref().unwrap_or(EVERYBODY);
    let told = match &args.action {
        Action::List => return Ok(show(&store::read(&state), named.as_deref(), shared.json)),
        Action::Test(test) => return test::run(test, &state, named.as_deref(), shared),
        Action::Adopt { pattern } => return adopt::run(&state, named.as_deref(), pattern, shared),
        Action::Add { pattern, which } => {
            let entry = entry(pattern, which)?;
            let added = lists::list(&state, agent, which.list(), &entry)?;
            if added {
                format!("{} added.", one_line(&entry.pattern))
            } else {
                "Already allowlisted.".to_owned()
            }
        }
        Action::Remove { pattern, which } => {
            let arg_pattern = which.arg_pattern.as_deref();
            match lists::unlist(&state, agent, which.list(), pattern.trim(), arg_pattern)? {
                0 => return missing(&store::read(&state), pattern.trim(), which.deny, agent),
                1 => "1 entry removed.".to_owned(),
                more => format!("{more} entries removed."),
            }
        }
    };
    if shared.json {
        print::compact(&snapshot(&store::read(&state)));
    } else {
        print::line(&told);
    }
    Ok(ExitCode::SUCCESS)
}

/// An entry that can match something.
fn entry(pattern: &str, which: &Which) -> Result<Entry, Failure> {
    let refused = |message: String, fix: &str| {
        let rule = Some("creel approvals allowlist add".to_owned());
        Failure(Report { code: "CRL-CLI-022", message, rule, fix: fix.to_owned() })
    };
    let pattern = pattern.trim();
    if pattern.is_empty() {
        return Err(refused("the pattern is blank".to_owned(), "write a path, a glob or a name"));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let entry = Entry {
        arg_pattern: which.arg_pattern.clone(),
        last_used_at: (!which.deny).then(|| now.into()),
        ..Entry::of(pattern)
    };
    if matches!(entry.coverage(), Coverage::Inactive | Coverage::CommandText | Coverage::ArgvAndCwd) {
        return Err(refused(
            format!("{} is a form that only an approval writes", one_line(pattern)),
            "name the program, and its arguments by --arg-pattern",
        ));
    }
    let compiled = Allowlist::compile(&[&entry], &HostPrograms::new("", None));
    if let Some((_, problem)) = compiled.problems().first() {
        return Err(refused(
            problem.to_string(),
            "write an ECMAScript regular expression, for example \"^status$\"",
        ));
    }
    Ok(entry)
}

/// Where a pattern stands that is not in the list that was meant. One that stands in the other list is no success: whoever
/// took it out believes that it is gone.
fn missing(local: &Local, pattern: &str, deny: bool, agent: &str) -> Result<ExitCode, Failure> {
    let document = &local.held.document;
    let mut all = rows("", document);
    all.retain(|row| row.entry.pattern == pattern);
    let places: Vec<String> =
        all.iter().map(|row| format!("{} of {}", row.list, one_line(&row.agent))).collect();
    let has = |document: &Document| rows("", document).iter().any(|row| row.entry.pattern == pattern);
    let floors = local.floors().iter().filter(|floor| has(&floor.document));
    let floors: Vec<String> = floors.map(|floor| floor.locator.clone()).collect();
    let told = match (places.is_empty(), floors.is_empty()) {
        (true, true) => "Pattern not found.".to_owned(),
        (false, _) => format!("Pattern not found. It stands in: {}", places.join(", ")),
        (true, false) => {
            format!("Pattern not found. It stands in {}, which creel does not write", floors.join(", "))
        }
    };
    let other = if deny { "allowlist" } else { "denylist" };
    let Some(row) = all.iter().find(|row| row.list == other) else {
        print::line(&told);
        return Ok(ExitCode::SUCCESS);
    };
    let fix = match (row.agent.as_str(), deny) {
        ("defaults", _) => format!("take it out of defaults.denylist in {} by hand", local.locator()),
        (of, true) => format!("leave --deny out, with --agent {}", quoted(of)),
        (of, false) if of.eq_ignore_ascii_case(agent) => "write --deny too".to_owned(),
        (of, false) => format!("write --deny too, with --agent {}", quoted(of)),
    };
    let rule = Some("creel approvals allowlist remove".to_owned());
    Err(Failure(Report { code: "CRL-CLI-022", message: told.trim_end_matches('.').to_owned(), rule, fix }))
}

/// One entry and where it stands.
struct Row<'l> {
    document: &'l str,
    agent: String,
    list: &'static str,
    entry: &'l Entry,
}

fn rows<'l>(name: &'l str, document: &'l Document) -> Vec<Row<'l>> {
    let row = |agent: &str, list, entry| Row { document: name, agent: agent.to_owned(), list, entry };
    let mut all: Vec<Row<'l>> =
        document.defaults.denylist.iter().map(|entry| row("defaults", "denylist", entry)).collect();
    for agent in &document.agents {
        all.extend(agent.rules.denylist.iter().map(|entry| row(&agent.id, "denylist", entry)));
        all.extend(agent.allowlist.iter().map(|entry| row(&agent.id, "allowlist", entry)));
    }
    all
}

fn show(local: &Local, agent: Option<&str>, json: bool) -> ExitCode {
    let mut all = rows(local.locator(), &local.held.document);
    all.extend(local.floors().iter().flat_map(|floor| rows(&floor.locator, &floor.document)));
    all.retain(|row| agent.is_none_or(|agent| row.agent.eq_ignore_ascii_case(agent)));
    if json {
        let entries: Vec<Value> = all.iter().map(shown).collect();
        print::compact(&json!({ "path": local.path, "entries": entries }));
        return ExitCode::SUCCESS;
    }
    for row in &all {
        let entry = row.entry;
        let arguments = match entry.coverage() {
            Coverage::Argv => entry.arg_pattern.as_deref().map(|text| format!("  {}", one_line(text))),
            Coverage::AnyArgs => None,
            other => Some(format!("  ({})", other.label())),
        };
        let deny = if row.list == "denylist" { "deny " } else { "" };
        let place =
            if row.document == local.locator() { String::new() } else { format!("  in {}", row.document) };
        print::line(&format!(
            "{:12} {deny}{}{}{place}",
            one_line(&row.agent),
            one_line(&entry.pattern),
            arguments.unwrap_or_default()
        ));
    }
    if all.is_empty() {
        print::line("no entries");
    }
    ExitCode::SUCCESS
}

fn shown(row: &Row<'_>) -> Value {
    let mut shown = serde_json::to_value(row.entry).unwrap_or_default();
    if let Some(map) = shown.as_object_mut() {
        map.insert("document".to_owned(), row.document.into());
        map.insert("agent".to_owned(), row.agent.as_str().into());
        map.insert("list".to_owned(), row.list.into());
        map.insert("coverage".to_owned(), row.entry.coverage().label().into());
    }
    shown
}
