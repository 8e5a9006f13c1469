//! `creel doctor`: what is wrong, what helps, and what was repaired.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::Common;
use super::paint::Paint;
use super::print;
use crate::client::Sandbox;
use crate::config::{self, Places};
use crate::doctor::{self, Around, Done, Finding, Severity};
use crate::engine::Discovery;
use crate::error::Failure;
use crate::sandbox::InitSearch;
use crate::shown::one_line;
use crate::state::StateDir;

/// Exit status where something is wrong.
pub(super) const EXIT_WRONG: u8 = 1;

/// What is wrong, and what helps.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Repair what is safe to repair without a question, and say what was done. Without it nothing is changed.
    #[arg(long, conflicts_with = "prove")]
    fix: bool,
    /// Open a fresh sandbox of the current configuration, try inside what must not work, and remove it.
    #[arg(long)]
    prove: bool,
    /// With --prove: session key or name; by default the agent's main session.
    #[arg(long, value_name = "KEY", requires = "prove")]
    session: Option<String>,
    /// With --prove: agent; by default the session's own, else the configured default.
    #[arg(long, value_name = "ID", requires = "prove")]
    agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let json = args.json;
    let done = if args.prove {
        super::prove::run(&args.common, args.agent.as_deref(), args.session.as_deref(), json).await
    } else {
        Box::pin(examine(&args)).await
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_WRONG),
        Err(failure) => super::status(Err(failure), json),
    }
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn around(common: &Common) -> Result<Around, Failure> {
    let state = StateDir::locate(var)?;
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let mut options = Sandbox::options();
    if let Some(file) = &common.config {
        options = options.config(file);
    }
    Ok(Around {
        located: config::locate(common.config.as_deref(), &var, &state),
        places: Places { home, state: state.root().to_owned() },
        discovery: Discovery::from_process(common.engine.clone()),
        init: InitSearch::from_process(var),
        state,
        options,
    })
}

/// True where nothing is worse than a note.
async fn examine(args: &Args) -> Result<bool, Failure> {
    let around = around(&args.common)?;
    let mut facts = doctor::look(&around, &var).await;
    let mut findings = doctor::examine(&facts);
    let mut repairs = Vec::new();
    if args.fix {
        repairs = doctor::repair_all(&around, &mut facts, &mut findings, &var).await;
    }
    let failed = repairs.iter().any(|repair| !repair.done);
    let well = doctor::worst(&findings) <= Severity::Note && !failed;
    if args.json {
        print::json(&json!({
            "well": well,
            "summary": summary(&findings),
            "findings": findings,
            "repairs": repairs,
        }));
    } else {
        show(&findings, &repairs, args.fix, Paint::of_stdout());
    }
    Ok(well)
}

fn summary(findings: &[Finding]) -> serde_json::Value {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    json!({
        "error": count(Severity::Error),
        "warning": count(Severity::Warning),
        "note": count(Severity::Note),
        "ok": count(Severity::Ok),
    })
}

/// What is worst comes first, what is well last and on one line each.
fn show(findings: &[Finding], repairs: &[Done], fix: bool, paint: Paint) {
    for repair in repairs {
        let word = if repair.done { paint.good("repaired") } else { paint.bad("not repaired") };
        print::painted(&format!("{word}  {}", one_line(&repair.what)));
    }
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in &sorted {
        let word = format!("{:8}", word(finding.severity));
        let word = match finding.severity {
            Severity::Error => paint.bad(&word),
            Severity::Warning => paint.doubtful(&word),
            Severity::Note => word,
            Severity::Ok => paint.good(&word),
        };
        let what = one_line(&finding.what);
        print::painted(&format!("{word} {what}  {}", paint.faint(&format!("[{}]", finding.id))));
        if finding.severity == Severity::Ok {
            continue;
        }
        if let Some(rule) = &finding.rule {
            print::line(&format!("           rule: {}", one_line(rule)));
        }
        if !finding.fix.is_empty() {
            let own = if finding.repair.is_some() { " (or: creel doctor --fix)" } else { "" };
            print::line(&format!("           fix:  {}{own}", one_line(&finding.fix)));
        }
    }
    let count = |severity, what: &str| {
        let number = findings.iter().filter(|finding| finding.severity == severity).count();
        if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
    };
    print::line(&format!(
        "\n{}, {}, {}",
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Note, "note")
    ));
    if fix && repairs.is_empty() {
        print::line("nothing to repair");
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
