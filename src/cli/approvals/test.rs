//! `creel approvals allowlist test`: which entry covers each command of a text. Nothing runs.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Shared, var};
use crate::approvals::allowlist::Allowlist;
use crate::approvals::assess::{Assessed, By, Gap, Part, Rules, assess};
use crate::approvals::display;
use crate::approvals::programs::HostPrograms;
use crate::approvals::safe_bins::SafeBins;
use crate::approvals::store::{self, Local};
use crate::cli::print;
use crate::error::{Failure, Report};
use crate::paths::resolve;
use crate::session::AgentId;
use crate::shown::one_line;
use crate::state::StateDir;

/// What is tested.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory that it would run in, instead of this one.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// One operand is a text for the shell, several are the words of a command.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The exit status where something is not covered.
const NOT_COVERED: u8 = 1;

pub(super) fn run(
    args: &Args,
    state: &StateDir,
    agent: Option<&str>,
    shared: &Shared,
) -> Result<ExitCode, Failure> {
    let config = shared.configuration(state)?;
    let id = match agent {
        Some(agent) => AgentId::parse(agent).ok(),
        None => Some(config.default_agent()),
    };
    let local = store::read(state);
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let lookup = HostPrograms::new(&var("PATH").unwrap_or_default(), home);
    let lists = [local.allowlist(id.as_ref()), local.denylist(id.as_ref())];
    let [allow, deny] = lists.map(|list| Allowlist::compile(&list, &lookup));
    let agent = id.clone().unwrap_or_else(|| config.default_agent());
    let safe = SafeBins::new(&config.exec(&agent).safe_bins, &lookup);
    let rules = Rules { allow: &allow, deny: &deny, safe: &safe, skills: &[], strict_inline: false };
    let text = text(&args.command);
    let found = assess(&text, &directory(args)?, &rules, &lookup);
    let covered = found.satisfied && found.denied.is_none();
    if shared.json {
        print::compact(&told(&found, covered, &allow, &deny));
    } else {
        show(&found, &allow, &local);
    }
    Ok(if covered { ExitCode::SUCCESS } else { ExitCode::from(NOT_COVERED) })
}

/// Where it would run: absolute, without links.
fn directory(args: &Args) -> Result<PathBuf, Failure> {
    let refused = |error: &dyn std::fmt::Display| {
        Failure(Report {
            code: "CRL-CLI-023",
            message: format!("the directory cannot be used: {error}"),
            rule: Some("--cwd".to_owned()),
            fix: "name a directory that exists".to_owned(),
        })
    };
    let path = match &args.cwd {
        Some(path) => std::path::absolute(path),
        None => std::env::current_dir(),
    };
    resolve::resolve(&path.map_err(|error| refused(&error))?).map_err(|error| refused(&error))
}

/// Several words are quoted, so that they stay what they are.
fn text(command: &[String]) -> String {
    match command {
        [text] => text.clone(),
        words => words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn words(part: &Part) -> String {
    let words = part.argv.iter().map(|word| word.text.as_str());
    one_line(&words.collect::<Vec<_>>().join(" "))
}

fn why(gap: &Gap) -> String {
    match gap {
        Gap::NotFound => "the program was not found".to_owned(),
        Gap::NoEntry => "no entry matches".to_owned(),
        Gap::Unclear(unclear) => display::unclear_kind(*unclear).1.to_owned(),
        Gap::Untrusted(name) => format!("{} is not one of the system's programs", one_line(name)),
    }
}

fn show(found: &Assessed, allow: &Allowlist, local: &Local) {
    if let Err(refused) = &found.analysis {
        print::line(&format!("not covered: {}", one_line(&display::obstacle(refused.obstacle).1)));
    }
    for part in &found.parts {
        let by = match &part.by {
            By::Entry(at) => match allow.entries().get(*at) {
                Some(entry) => format!("entry {} ({})", one_line(&entry.pattern), entry.coverage().label()),
                None => "an entry".to_owned(),
            },
            By::SafeBin => "a safe bin".to_owned(),
            By::Builtin => "starts nothing".to_owned(),
            By::Skill => "a skill's program".to_owned(),
            By::Nothing(gap) => format!("not covered: {}", why(gap)),
        };
        print::line(&format!("{}  {by}", words(part)));
    }
    if let Some(denied) = &found.denied {
        print::line(&format!("denied: {} by entry {}", one_line(&denied.command), one_line(&denied.pattern)));
    }
    for problem in local.problems() {
        print::line(&format!("problem: {problem}"));
    }
}

fn told(found: &Assessed, covered: bool, allow: &Allowlist, deny: &Allowlist) -> Value {
    let part = |part: &Part| {
        let (by, entry, reason) = match &part.by {
            By::Entry(at) => ("entry", allow.entries().get(*at), None),
            By::SafeBin => ("safe-bin", None, None),
            By::Builtin => ("builtin", None, None),
            By::Skill => ("skill", None, None),
            By::Nothing(gap) => ("nothing", None, Some(why(gap))),
        };
        let program = part.program.as_ref().map(|program| &program.real);
        json!({ "command": words(part), "program": program, "by": by, "entry": entry, "reason": reason })
    };
    let denied = found.denied.as_ref().map(|denied| {
        json!({ "command": denied.command, "pattern": denied.pattern, "entry": denied.entry.and_then(|entry| deny.entries().get(entry)) })
    });
    json!({
        "command": found.text,
        "covered": covered,
        "durable": found.durable,
        "unclear": found.analysis.as_ref().err().map(|refused| display::obstacle(refused.obstacle).0),
        "denied": denied,
        "parts": found.parts.iter().map(part).collect::<Vec<_>>(),
    })
}
