//! `creel policy test`: a table of commands and what is expected of each, against the policy that holds now.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::approvals::explain::Explained;
use crate::approvals::explain::cases::{self, Case, CasesError, word};
use crate::cli::paint::Paint;
use crate::cli::print;
use crate::client::Sandbox;
use crate::error::{EXIT_CREEL, Failure};
use crate::paths::given;
use crate::policy::{Level, Verdict};
use crate::shown::one_line;
use crate::tools::context::{Context, SenderId};
use crate::tools::exec::explain::{Asked, Explainer};

/// Something is not as expected.
const EXIT_DIFFERS: u8 = 1;
/// The file cannot be used.
const EXIT_FILE: u8 = 2;

/// `creel policy test`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// JSON5: {defaults, cases: [{command, expect, …}]}; - reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// PATH in which programs are looked for, where a case says nothing else.
    #[arg(long, value_name = "DIRS")]
    path: Option<String>,
    /// Show every case, also those that are as expected.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Approvals document instead of the machine's.
    #[arg(long, value_name = "FILE")]
    approvals: Option<PathBuf>,
}

/// A case and what became of it.
struct Done {
    case: Case,
    /// `None` where nothing could be decided: such an agent, such a session is not there.
    got: Option<Explained>,
    differs: Vec<String>,
}

/// Runs the subcommand.
pub(super) async fn run(args: &Args) -> ExitCode {
    let cases = match read(&args.file) {
        Ok(cases) => cases,
        Err(error) => {
            print::failure(&Failure::from(error), args.json);
            return ExitCode::from(EXIT_FILE);
        }
    };
    match decide(args, cases).await {
        Ok(done) => {
            if args.json {
                print::json(&as_json(&done));
            } else {
                print::painted(text(&done, args.all, Paint::of_stdout()).trim_end());
            }
            let differs = done.iter().any(|done| !done.differs.is_empty());
            ExitCode::from(if differs { EXIT_DIFFERS } else { 0 })
        }
        Err(failure) => {
            print::failure(&failure, args.json);
            ExitCode::from(EXIT_CREEL)
        }
    }
}

fn read(file: &Path) -> Result<Vec<Case>, CasesError> {
    let most = u64::try_from(cases::MAX_BYTES).unwrap_or(u64::MAX);
    let text =
        if file == Path::new("-") { given::bounded(std::io::stdin(), most) } else { given::text(file, most) };
    let text = text.map_err(|reason| CasesError::Io { file: file.to_owned(), reason })?;
    cases::parse(&text, file)
}

async fn decide(args: &Args, cases: Vec<Case>) -> Result<Vec<Done>, Failure> {
    let mut base = Sandbox::options();
    if let Some(file) = &args.config {
        base = base.config(file);
    }
    let explainer = Explainer::read(&base, args.approvals.as_deref())?;
    let mut all = Vec::with_capacity(cases.len());
    for case in cases {
        let asked = asked(&case, args.path.as_deref());
        let done = match one(&explainer, &case, &asked).await {
            Ok((got, differs)) => Done { case, got: Some(got), differs },
            // One case that cannot be decided hides no other.
            Err(failure) => {
                let place = format!("{}:{}:{}", args.file.display(), case.line, case.column);
                Done { differs: undecided(&case, &place, &failure), case, got: None }
            }
        };
        all.push(done);
    }
    Ok(all)
}

async fn one(explainer: &Explainer, case: &Case, asked: &Asked) -> Result<(Explained, Vec<String>), Failure> {
    let got = explainer.verdict(asked).await?;
    let differs = case.expect.differs(&got);
    if differs.is_empty() { Ok((got, differs)) } else { Ok((explainer.explain(asked).await?, differs)) }
}

/// Why a case has no verdict, with its place.
fn undecided(case: &Case, place: &str, failure: &Failure) -> Vec<String> {
    let report = &failure.0;
    let mut all = vec![format!(
        "expected {}, and nothing could be decided at {place}: {} [{}]",
        word(&case.expect.verdict),
        report.message,
        report.code
    )];
    all.extend(report.rule.as_ref().map(|rule| format!("rule: {rule}")));
    all.push(format!("fix: {}", report.fix));
    all
}

fn asked(case: &Case, path: Option<&str>) -> Asked {
    let text = |key: &str| case.caller.text(key).map(str::to_owned);
    let elevated = text("elevated");
    Asked {
        context: Context {
            agent: text("agent"),
            session: text("session"),
            channel: text("channel"),
            sender: text("sender").map(|id| SenderId {
                id: Some(id),
                authorized: true,
                ..SenderId::default()
            }),
            elevated: elevated.clone(),
            ..Context::default()
        },
        command: case.command.clone(),
        host: text("host"),
        ask: text("ask"),
        elevated: elevated.map(|word| Level::parse(&word) != Some(Level::Off)),
        workdir: text("workdir"),
        env: case.caller.env().clone(),
        path: text("path").or_else(|| path.map(str::to_owned)),
    }
}

fn text(all: &[Done], every: bool, paint: Paint) -> String {
    let mut lines = Vec::new();
    for done in all {
        if done.differs.is_empty() {
            if every {
                lines.push(format!("{}    {} {}", paint.good("ok"), verdict(done), title(&done.case)));
            }
            continue;
        }
        lines.push(format!("{}  {}", paint.bad("FAIL"), title(&done.case)));
        lines.extend(done.differs.iter().map(|line| format!("      {}", one_line(line))));
        lines.extend(
            done.got.iter().flat_map(why).collect::<Vec<_>>().into_iter().map(|line| format!("      {line}")),
        );
    }
    let failed = all.iter().filter(|done| !done.differs.is_empty()).count();
    let count = |verdict: Verdict| {
        all.iter().filter(|done| done.got.as_ref().is_some_and(|got| got.verdict == verdict)).count()
    };
    lines.push(format!(
        "{} cases: {} as expected, {failed} not; {} allow, {} ask, {} deny",
        all.len(),
        all.len() - failed,
        count(Verdict::Allow),
        count(Verdict::Ask),
        count(Verdict::Deny)
    ));
    lines.join("\n")
}

fn verdict(done: &Done) -> String {
    done.got.as_ref().map(|got| word(&got.verdict)).unwrap_or_default()
}

fn title(case: &Case) -> String {
    let name = case.name.as_ref().map(|name| format!("{}: ", one_line(name))).unwrap_or_default();
    format!("line {}: {name}{}", case.line, one_line(&case.command))
}

/// The rule that decided, why, and what would change it.
fn why(got: &Explained) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(decider) = got.decider() {
        let rule = decider.rule.as_ref().map(|rule| format!(" by {}", rule.shown())).unwrap_or_default();
        lines.push(format!("{}{rule}", decider.code));
        lines.push(one_line(decider.why.lines().next().unwrap_or_default()));
    }
    if let Some(change) = got.changes.first() {
        lines.push(format!("-> {}: {}", word(&change.gives), one_line(&change.what)));
    }
    lines
}

fn as_json(all: &[Done]) -> Value {
    let rows: Vec<Value> = all
        .iter()
        .map(|done| {
            json!({
                "name": done.case.name,
                "command": done.case.command,
                "line": done.case.line,
                "column": done.case.column,
                "ok": done.differs.is_empty(),
                "expected": done.case.expect,
                "differs": done.differs,
                "got": done.got.as_ref().map(|got| json!({
                    "verdict": got.verdict,
                    "host": got.host,
                    "code": got.code,
                    "rule": got.decider().and_then(|layer| layer.rule.as_ref()),
                    "why": got.decider().map(|layer| &layer.why),
                    "changes": got.changes,
                })),
            })
        })
        .collect();
    let failed = all.iter().filter(|done| !done.differs.is_empty()).count();
    json!({ "cases": rows, "asExpected": all.len() - failed, "failed": failed })
}
