//! `creel security`: what the configuration opens.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Common;
use super::doctor::EXIT_WRONG;
use super::paint::Paint;
use super::print;
use crate::approvals::store;
use crate::audit::{self, Finding, Input, Report, Severity};
use crate::config::{self, Config, Document, Places, document};
use crate::engine::Discovery;
use crate::error::Failure;
use crate::shown::one_line;
use crate::state::StateDir;

/// What the configuration opens.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    common: Common,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Name everything in the configuration that opens the sandbox, the host or an agent; changes nothing.
    ///
    /// The exit status is 1 with a critical finding, else 0; 125 when creel itself failed.
    Audit {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let Action::Audit { json } = args.action;
    match look(&args.common).await {
        Ok(report) => {
            if json {
                print::json(&report);
            } else {
                show(&report, Paint::of_stdout());
            }
            ExitCode::from(if report.summary.critical > 0 { EXIT_WRONG } else { 0 })
        }
        Err(failure) => super::status(Err(failure), json),
    }
}

async fn look(common: &Common) -> Result<Report, Failure> {
    let var = |name: &str| std::env::var(name).ok();
    let state = StateDir::locate(var)?;
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let places = Places { home, state: state.root().to_owned() };
    let located = config::locate(common.config.as_deref(), &var, &state);
    // A file that cannot be read or used is a finding; the rest is audited.
    let text = document::read(&located);
    let text =
        text.map(Option::unwrap_or_default).map(|text| if text.is_empty() { "{}".to_owned() } else { text });
    let config = text.as_deref().map_err(Clone::clone).and_then(|text| {
        let config = Config::parse(text, &located.path, &var)?;
        config.check_all(&places).map(|()| config)
    });
    let parsed = text.ok().and_then(|text| Document::parse(&text, &located.path).ok());
    let binds =
        parsed.as_ref().map(|document| audit::judge_binds(document, &places, &var)).unwrap_or_default();
    let writable =
        parsed.as_ref().map(|document| audit::writable_dirs(document, &places)).unwrap_or_default();
    let approvals = store::peek(&state);
    let browsers =
        audit::ask_browsers(&Discovery::from_process(common.engine.clone()), audit::BROWSER_TIME).await;
    Ok(audit::audit(&Input {
        document: parsed.as_ref(),
        config: config.as_ref(),
        places: &places,
        binds: &binds,
        writable: &writable,
        approvals: Some(&approvals),
        browsers: &browsers,
    }))
}

fn show(report: &Report, paint: Paint) {
    for finding in &report.findings {
        let word = match finding.severity {
            Severity::Critical => paint.bad("critical"),
            Severity::Warn => paint.doubtful("warn    "),
            Severity::Info => "info    ".to_owned(),
        };
        show_one(finding, &word, paint);
    }
    for suppressed in &report.suppressed_findings {
        show_one(&suppressed.finding, "accepted", paint);
        let (by, why) = (&suppressed.suppressed_by, &suppressed.suppression_reason);
        print::line(&format!("          accepted by {}: {}", one_line(by), one_line(why)));
    }
    let counts = &report.summary;
    let accepted = match report.suppressed_findings.len() {
        0 => String::new(),
        count => format!(", {count} accepted"),
    };
    print::line(&format!(
        "\n{} critical, {} warnings, {} notes{accepted}",
        counts.critical, counts.warn, counts.info
    ));
}

fn show_one(finding: &Finding, word: &str, paint: Paint) {
    print::painted(&format!(
        "{word}  {}  {}",
        one_line(&finding.title),
        paint.faint(&format!("[{}]", finding.check_id))
    ));
    print::line(&format!("          {}", one_line(&finding.detail)));
    if let Some(place) = place(finding) {
        print::line(&format!("          rule: {place}"));
    }
    print::line(&format!("          fix:  {}", one_line(&finding.remediation)));
}

fn place(finding: &Finding) -> Option<String> {
    let key = finding.key.as_ref()?;
    match (&finding.file, finding.line, finding.column) {
        (Some(file), Some(line), Some(column)) => Some(format!("{}:{line}:{column} {key}", file.display())),
        (Some(file), ..) => Some(format!("{} {key}", file.display())),
        _ => Some(key.clone()),
    }
}
